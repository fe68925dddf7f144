"""T5: sentinels and impossible values."""

from pathlib import Path

import pytest

from tests.traps.scene import (
    ENGINE,
    HOUR,
    START,
    UTIL,
    Pod,
    Scene,
    hours,
    issues,
    usage,
)

pytestmark = pytest.mark.django_db(transaction=True)

BLANK, BLANK_RATIO = "9223372036854775794", "140737488355328"


@pytest.mark.parametrize(
    ("metric", "good", "blank"), [(UTIL, 50, BLANK), (ENGINE, 0.5, BLANK_RATIO)]
)
def test_t5_a_sentinel_is_no_data(
    metric: str, good: float, blank: str, tmp_path: Path
) -> None:
    told = Scene()
    told.node()
    told.pod(Pod("train-0"))
    middle = START + HOUR // 2
    told.gpu("GPU-1", lambda at: good if at < middle else blank, metric=metric)
    values = [s.value for s in told.samples if s.name == metric]
    assert sum(values) / len(values) > 1e12

    told.read(tmp_path)

    row = usage("pod")["train-0"]
    assert row["efficiency"] == 0.5
    assert row["coverage"] == 0.5
    assert hours(row["unknown_ms"]) == 0.5


def test_t5_an_impossible_percentage_is_rejected_and_said(tmp_path: Path) -> None:
    told = Scene()
    told.node()
    told.pod(Pod("train-0"))
    told.gpu("GPU-1", 250, metric=UTIL)

    told.read(tmp_path)

    row = usage("pod")["train-0"]
    assert row["unknown_ms"] == row["allocated_ms"]
    assert any(code == "utilization_out_of_range" for code, _ in issues())


def test_t5_a_little_too_much_is_all(tmp_path: Path) -> None:
    told = Scene()
    told.node()
    told.pod(Pod("train-0"))
    told.gpu("GPU-1", 0.5)
    told.gpu("GPU-1", 1.03, metric="DCGM_FI_PROF_SM_ACTIVE")

    told.read(tmp_path)

    assert usage("pod")["train-0"]["sm_active"] == 1.0
    assert any("GPU-1" in subject or "SM_ACTIVE" in subject for _, subject in issues())
