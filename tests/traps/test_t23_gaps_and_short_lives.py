"""T23: gaps and short lives."""

from pathlib import Path

import pytest

from tests.builders import times
from tests.traps.scene import (
    ENGINE,
    HOUR,
    HOUR_MS,
    MINUTE_MS,
    START,
    Pod,
    Scene,
    gpus,
    hours,
    usage,
)

pytestmark = pytest.mark.django_db(transaction=True)


def test_t23a_a_silent_exporter_is_unknown_not_idle(tmp_path: Path) -> None:
    told = Scene()
    told.node()
    told.pod(Pod("train-0"))
    told.gpu("GPU-1", 0.9, at=[at for at in told.scrapes if at < START + 2400])
    values = [s.value for s in told.samples if s.name == ENGINE]
    assert sum(values) / len(values) == pytest.approx(0.9)  # x 1 h: 0.90 GPU-h

    told.read(tmp_path)

    row = usage("pod")["train-0"]
    assert hours(row["busy_ms"]) == 0.6
    assert row["coverage"] == pytest.approx(2 / 3)
    assert row["efficiency"] == 0.9
    assert row["busy_ms"] / row["allocated_ms"] == 0.6  # a lower bound
    assert row["unknown_ms"] == 20 * MINUTE_MS


def test_t23b_a_short_life_is_short(tmp_path: Path) -> None:
    told = Scene()
    told.node()
    bound, gone = START + 1200, START + 1800
    told.pod(Pod("brief", created=bound, bound=bound, finished=gone, completion=gone))
    labels = {"namespace": "vision", "pod": "brief"}
    told.gpu("GPU-1", 0.9, labels, at=times(bound, gone))
    told.gpu("GPU-1", 0, at=[at for at in told.scrapes if not bound <= at < gone])
    values = [
        s.value
        for s in told.samples
        if s.labels.get("pod") == "brief" and s.name == ENGINE
    ]
    assert sum(values) / len(values) == pytest.approx(0.9)  # avg_over_time[1h] x 1 h

    told.read(tmp_path)

    row = usage("pod")["brief"]
    assert row["allocated_ms"] == 10 * MINUTE_MS
    assert hours(row["busy_ms"]) == 0.15
    assert gpus()["GPU-1"]["free_ms"] == 50 * MINUTE_MS


@pytest.mark.parametrize(("fast", "slow"), [(0.5, 0.5), (0.8, 0.2)])
def test_t23c_time_weighs_and_not_the_number_of_samples(
    fast: float, slow: float, tmp_path: Path
) -> None:
    told = Scene()
    for n, (value, step) in enumerate([(fast, 15), (slow, 30)], start=1):
        told.node(f"n{n}")
        told.pod(Pod(f"pod-{n}", f"n{n}"))
        told.gpu(f"GPU-{n}", value, node=f"n{n}", at=times(START, START + HOUR, step))
    values = [s.value for s in told.samples if s.name == ENGINE]
    naive = sum(values) / len(values)
    assert naive == pytest.approx((2 * fast + slow) / 3)

    told.read(tmp_path)

    row = usage("cluster")["north"]
    assert row["efficiency"] == 0.5
    assert row["busy_ms"] == HOUR_MS
