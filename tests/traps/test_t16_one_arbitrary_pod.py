"""T16: time-slicing without virtual mode: one arbitrary pod gets everything."""

from pathlib import Path

import pytest

from tests.traps.scene import ENGINE, START, Pod, Scene, gpus, hours, usage
from tests.traps.shapes import shared_node

pytestmark = pytest.mark.django_db(transaction=True)


def test_t16_five_holders_share_what_one_label_claims(tmp_path: Path) -> None:
    told = Scene()
    shared_node(told, 2, 4)
    told.pod(*(Pod(f"p{n}") for n in range(1, 6)))
    told.gpu("GPU-1", 0.8, {"namespace": "vision", "pod": "p5"})
    told.gpu("GPU-2", 0.2, {"namespace": "vision", "pod": "p5"})
    naive = {
        s.labels["pod"]: sum(
            t.value for t in told.samples if t.name == ENGINE and t.at == START
        )
        for s in told.samples
        if s.name == ENGINE
    }
    assert naive == {"p5": 1.0}

    told.read(tmp_path)

    rows = usage("pod")
    assert {pod: hours(row["busy_ms"]) for pod, row in rows.items()} == {
        f"p{n}": 0.2 for n in range(1, 6)
    }
    assert {hours(row["allocated_ms"]) for row in rows.values()} == {0.25}
    assert all(row["estimated"] for row in rows.values())
    assert [hours(row["busy_ms"]) for row in gpus().values()] == [0.8, 0.2]
