"""T38: a node that is replaced under its name, faster than its exporter's patience."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.builders import times
from tests.traps.scene import HOUR_MS, START, UTIL, Scene, gpus, issues

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.integration]
MINUTE, HOUR = 60, 3600


def minutes(first: float, last: float) -> list[float]:
    """Samples of an exporter, one a minute; `last` is not one of them."""
    return times(START + first * MINUTE, START + last * MINUTE, MINUTE)


def scene(*gone: tuple[float, float], units: Sequence[int] = (2, 2)) -> Scene:
    """kube-state each 15 s; the object of n1 is away for some minutes, then has other units."""
    told = Scene(step=15)
    told.node("n0", units=0)
    starts = [0.0, *(end for _, end in gone)]
    ends = [*(start for start, _ in gone), 60.0]
    for start, end, count in zip(starts, ends, units, strict=True):
        at = [t for t in told.scrapes if start * MINUTE <= t - START < end * MINUTE]
        told.node(units=count, at=at)
    return told


def shown(told: Scene, folder: Path, **samples: Sequence[float]) -> dict[str, int]:
    """Wall minutes of GPUs with samples at some times."""
    for uuid, at in samples.items():
        told.gpu(uuid, 0, metric=UTIL, at=at)
    told.read(folder)
    rows = gpus()
    return {uuid: row["wall_ms"] * 60 // HOUR_MS for uuid, row in rows.items()}


def test_t38_a_gpu_goes_with_its_object_whatever_its_step(tmp_path: Path) -> None:
    """Away for a minute: less than 1.5 steps of the exporter."""
    told = scene((10, 11), units=(2, 1))
    found = shown(told, tmp_path, GPU1=minutes(0, 10), GPU3=minutes(12, 60))
    assert (found["GPU1"], found["GPU3"]) == (10, 48)


def test_t38_what_comes_back_in_time_never_left(tmp_path: Path) -> None:
    """A reboot."""
    told = scene((10, 10.6))
    found = shown(told, tmp_path, GPU1=minutes(0, 60), GPU2=minutes(0, 60))
    assert found == {"GPU1": 60, "GPU2": 60}


def test_t38_replaced_twice(tmp_path: Path) -> None:
    told = scene((10, 11), (20, 21), units=(1, 1, 1))
    found = shown(
        told,
        tmp_path,
        GPU1=minutes(0, 10),
        GPU2=minutes(11, 20),
        GPU3=minutes(22, 60),
    )
    assert (found["GPU1"], found["GPU2"], found["GPU3"]) == (10, 9, 38)


def test_t38_the_old_exporter_lingers_and_the_new_gpus_count(tmp_path: Path) -> None:
    """For six minutes both report: the machine that is gone has no GPUs."""
    told = scene((10, 11))
    found = shown(
        told,
        tmp_path,
        OLD1=minutes(0, 18),
        OLD2=minutes(0, 18),
        NEW1=minutes(12, 60),
        NEW2=minutes(12, 60),
    )
    assert found == {"OLD1": 12, "OLD2": 12, "NEW1": 48, "NEW2": 48}
    assert ("gpu_beyond_capacity", "OLD1") in issues()


def test_t38_a_card_that_stays_counts_beside_a_new_one(tmp_path: Path) -> None:
    told = scene((10, 11))
    found = shown(
        told, tmp_path, GPU1=minutes(0, 60), GPU2=minutes(0, 18), GPU3=minutes(12, 60)
    )
    assert found == {"GPU1": 60, "GPU2": 12, "GPU3": 48}


def test_t38_without_a_new_object_the_first_gpus_count(tmp_path: Path) -> None:
    """N40: nobody replaced the node, so the later UUIDs are nobody's."""
    told = scene(units=(2,))
    found = shown(
        told, tmp_path, GPU1=minutes(0, 60), GPU2=minutes(0, 60), GPU3=minutes(12, 60)
    )
    assert found == {"GPU1": 60, "GPU2": 60}
