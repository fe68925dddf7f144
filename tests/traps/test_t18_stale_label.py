"""T18: a stale pod label and a name used again. An hour of which 10:30 is T18's 10:00."""

from pathlib import Path

import pytest

from tests.integration.metering.support import report
from tests.traps.scene import HOUR, MINUTE_MS, START, Pod, Scene, gpus, holds, states

pytestmark = pytest.mark.django_db(transaction=True)

DONE, AGAIN, FORGOTTEN = START + 1800, START + 2400, START + 3000


def test_t18_a_hold_ends_when_its_pod_does(tmp_path: Path) -> None:
    told = Scene()
    told.node("n1")
    told.node("n2")
    told.pod(
        Pod("train-0", "n1", uid="u1", finished=DONE, completion=DONE, gone=FORGOTTEN),
        Pod("train-0", "n2", uid="u2", created=AGAIN, bound=AGAIN),
    )
    name = {"namespace": "vision", "pod": "train-0"}
    early = [at for at in told.scrapes if at < FORGOTTEN]
    late = [at for at in told.scrapes if at >= FORGOTTEN]
    told.gpu("GPU-1", lambda at: 0.5 if at < DONE else 0, name, at=early)
    told.gpu("GPU-1", 0, at=late)
    told.gpu("GPU-2", 0, node="n2", at=[at for at in told.scrapes if at < AGAIN])
    told.gpu("GPU-2", 0.5, name, "n2", at=[at for at in told.scrapes if at >= AGAIN])
    labelled = sum(
        1
        for s in told.samples
        if s.labels.get("UUID") and s.labels.get("pod") == "train-0"
    )
    assert labelled * 30 == (FORGOTTEN - START) + (START + HOUR - AGAIN)  # 20 min more

    told.read(tmp_path)

    found = holds()
    assert found["u1"]["ended"] == "2026-10-01T10:30:00Z"
    assert found["u1"]["ended_by"] == "Succeeded"
    assert found["u2"]["bound"] == "2026-10-01T10:40:00Z"
    assert found["u2"]["ended"] is None
    half = 15 * MINUTE_MS
    rest = {"free": 30 * MINUTE_MS}
    assert states(gpus()["GPU-1"]) == {"busy": half, "idle": half} | rest
    assert gpus()["GPU-2"]["free_ms"] == 40 * MINUTE_MS
    rows = {row["uid"]: row["allocated_ms"] for row in report("usage", by="pod")}
    assert rows == {"u1": 30 * MINUTE_MS, "u2": 20 * MINUTE_MS}
