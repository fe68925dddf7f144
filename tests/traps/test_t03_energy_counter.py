"""T3: the energy counter: millijoules, and a reset."""

from pathlib import Path

import pytest

from tests.traps.scene import HOUR, KUBE, START, Pod, Scene, issues, usage

pytestmark = pytest.mark.django_db(transaction=True)

ENERGY = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"
KWH = 3_600_000  # joules
LAST = START + HOUR - 30
RESET = START + HOUR // 2


def rising(at: float) -> float:
    """540 kJ in millijoules, from the first sample to the last."""
    return 1e9 + 5.4e8 * (at - START) / (LAST - START)


def reset(at: float) -> float:
    """540 kJ until the driver is loaded again, 20 kJ after it."""
    if at < RESET:
        return 1e9 + 5.4e8 * (at - START) / (RESET - 30 - START)
    return 2e7 * (at - RESET) / (LAST - RESET)


def test_t3_millijoules(tmp_path: Path) -> None:
    told = Scene()
    told.node()
    told.pod(Pod("train-0"))
    told.gpu("GPU-1", 0.5)
    told.gpu("GPU-1", rising, metric=ENERGY)
    values = [s.value for s in told.samples if s.name == ENERGY]
    assert (max(values) - min(values)) / KWH == pytest.approx(150)

    told.read(tmp_path)

    found = usage("pod")["train-0"]["energy_joules"]
    assert found / KWH == pytest.approx(0.150, rel=1e-6)


def test_t3_a_reset_is_a_lower_bound_and_said(tmp_path: Path) -> None:
    told = Scene()
    told.node()
    told.pod(Pod("train-0"))
    told.gpu("GPU-1", 0.5)
    told.gpu("GPU-1", reset, metric=ENERGY)
    values = [s.value for s in told.samples if s.name == ENERGY]
    assert values[-1] < values[0]

    told.read(tmp_path)

    found = usage("pod")["train-0"]["energy_joules"]
    assert found == pytest.approx(560_000, rel=1e-6)
    assert any("reset" in code for code, _ in issues())


def test_t3_amd_counts_in_microjoules(tmp_path: Path) -> None:
    told = Scene()
    node = KUBE | {"node": "n1"}
    units = {"resource": "amd_com_gpu", "unit": "integer"}
    told.add("kube_node_status_capacity", 1, node | units)
    told.pod(Pod("train-0", resource="amd_com_gpu"))
    card = {
        "job": "amd",
        "instance": "n1:5000",
        "hostname": "n1",
        "gpu_id": "0",
        "serial_number": "692251001124",
        "card_model": "MI300X",
    }
    told.add("gpu_gfx_activity", 50, card)
    told.add("gpu_energy_consumed", lambda at: rising(at) * 1000, card)

    told.read(tmp_path)

    found = usage("pod")["train-0"]["energy_joules"]
    assert found / KWH == pytest.approx(0.150, rel=1e-6)
