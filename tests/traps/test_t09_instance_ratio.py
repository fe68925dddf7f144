"""T9: no GPU_UTIL on MIG read as idle, or an instance's ratio as the device's."""

from pathlib import Path

import pytest

from tests.traps.scene import ENGINE, Pod, Scene, gpus, hours, usage
from tests.traps.shapes import mig_node, part

ROUNDED = (
    12 / 3_600_000
)  # a millisecond a window goes to the first of equal remainders (N23)

pytestmark = pytest.mark.django_db(transaction=True)


def test_t9_a_slice_is_busy_as_a_slice(tmp_path: Path) -> None:
    told = Scene()
    mig_node(told, {"1g.10gb": 7})
    told.pod(Pod("slice", resource="nvidia_com_mig_1g_10gb"))
    for n in range(7, 14):
        mine = {"namespace": "vision", "pod": "slice"} if n == 7 else {}
        told.gpu("GPU-1", 0.9 if n == 7 else 0, part("1g.10gb", n) | mine)
    naive = max(s.value for s in told.samples if s.name == ENGINE)
    assert naive == 0.9  # of the device

    told.read(tmp_path)

    row = usage("pod")["slice"]
    assert hours(row["allocated_ms"]) == pytest.approx(1 / 7, abs=ROUNDED)
    assert hours(row["busy_ms"]) == pytest.approx(0.9 / 7, abs=ROUNDED)
    assert row["efficiency"] == pytest.approx(0.9, abs=7 * ROUNDED)
    device = gpus()["GPU-1"]
    assert device["busy_ms"] / device["wall_ms"] == pytest.approx(0.9 / 7, abs=ROUNDED)
    assert hours(device["free_ms"]) == pytest.approx(6 / 7, abs=ROUNDED)
    assert device["stranded_ms"] == 0
