"""T17: a GPU without a pod is not one category."""

from pathlib import Path

import pytest

from tests.traps.scene import (
    ENGINE,
    HOUR_MS,
    START,
    Pod,
    Scene,
    gpus,
    hours,
    states,
    usage,
)

pytestmark = pytest.mark.django_db(transaction=True)


def test_t17_free_stray_and_inferred(tmp_path: Path) -> None:
    told = Scene()
    told.node("n1", 2)
    told.node("n2", 1)
    told.gpu("GPU-b", 0.0)
    told.gpu("GPU-c", 0.97)
    told.gpu("GPU-d", 0.5, node="n2")
    told.pod(Pod("lone", "n2"))
    naive = {
        s.labels["UUID"]: "idle"
        for s in told.samples
        if s.name == ENGINE and s.at == START and not s.labels.get("pod")
    }
    assert naive == {"GPU-b": "idle", "GPU-c": "idle", "GPU-d": "idle"}

    told.read(tmp_path)

    found = gpus()
    assert states(found["GPU-b"]) == {"free": HOUR_MS}
    assert hours(found["GPU-c"]["stray_ms"]) == 0.97
    assert hours(found["GPU-c"]["free_ms"]) == pytest.approx(0.03)
    assert states(found["GPU-d"]) == {"busy": HOUR_MS // 2, "idle": HOUR_MS // 2}
    row = usage("pod")["lone"]
    assert hours(row["busy_ms"]) == 0.5
    # which GPU was concluded, not divided: inferred, not estimated (N19); the report's
    # flag tells either
    assert row["estimated"] is True
