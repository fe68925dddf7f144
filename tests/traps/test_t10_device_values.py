"""T10: device values repeated for each slice, or present on one slice only."""

from pathlib import Path

import pytest

from tests.builders import SETUP
from tests.traps.scene import HOUR_MS, KUBE, START, Pod, Scene, gpus, hours, usage
from tests.traps.shapes import mig_node, part

pytestmark = pytest.mark.django_db(transaction=True)

ENERGY = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"
KWH = 3_600_000  # joules


def energy(at: float) -> float:
    """Millijoules: one kilowatt-hour from the first sample to the last."""
    return 5e9 + KWH * 1000 * (at - START) / 3570


def test_t10a_energy_of_a_card_is_taken_once(tmp_path: Path) -> None:
    told = Scene()
    mig_node(told, {"1g.10gb": 7})
    for n in range(7, 14):
        told.pod(Pod(f"slice-{n}", resource="nvidia_com_mig_1g_10gb"))
        labels = part("1g.10gb", n) | {"namespace": "vision", "pod": f"slice-{n}"}
        told.gpu("GPU-1", 0.5, labels)
        told.gpu("GPU-1", 300, labels, metric="DCGM_FI_DEV_POWER_USAGE")
        told.gpu("GPU-1", energy, labels, metric=ENERGY)
    first, last = (
        sum(s.value for s in told.samples if s.name == ENERGY and s.at == at)
        for at in (START, START + 3570)
    )
    assert (last - first) / 1000 == pytest.approx(7 * KWH)

    told.read(tmp_path)

    [row] = usage("team").values()
    assert row["energy_joules"] == pytest.approx(KWH, rel=1e-6)
    pods = [each["energy_joules"] for each in usage("pod").values()]
    assert pods == pytest.approx([KWH / 7] * 7, rel=1e-6)


def test_t10b_a_partition_without_values_is_unknown(tmp_path: Path) -> None:
    told = Scene()
    node = KUBE | {"node": "n1"}
    units = {"resource": "amd_com_gpu", "unit": "integer"}
    told.add("kube_node_status_capacity", 8, node | units)
    labels = {
        "label_amd_com_gpu_product_name": "AMD_Instinct_MI300X_OAM",
        "label_amd_com_compute_memory_partition": "cpx_nps1",
    }
    told.add("kube_node_labels", 1, node | labels)
    told.pod(Pod("train-0", resource="amd_com_gpu"))
    for n in range(8):
        card: dict[str, object] = {
            "job": "amd",
            "instance": "n1:5000",
            "hostname": "n1",
            "gpu_id": n,
            "serial_number": "692251001124",
            "card_model": "MI300X",
            "gpu_partition_id": n,
            "gpu_compute_partition_type": "cpx",
        }
        if n == 3:
            card |= {"namespace": "vision", "pod": "train-0"}
        told.add("gpu_gfx_activity", 70 if n == 0 else 0, card)
        told.add("gpu_package_power", 600 if n == 0 else 0, card)
    naive = [s.value for s in told.samples if s.name == "gpu_gfx_activity"]
    assert sum(naive) / len(naive) == 8.75

    told.read(tmp_path, SETUP.replace("NVIDIA-A100-SXM4-80GB", "MI300X"))

    row = usage("pod")["train-0"]
    assert hours(row["allocated_ms"]) == 1 / 8
    assert row["unknown_ms"] == row["allocated_ms"]
    assert row["efficiency"] is None
    [card_row] = gpus().values()
    assert card_row["wall_ms"] == HOUR_MS
