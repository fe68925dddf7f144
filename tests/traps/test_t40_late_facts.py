"""T40: what is known of a node a window late: the first labels count back (N24)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.builders import SETUP
from tests.integration.metering.support import report, run
from tests.traps.scene import ENGINE, HOUR, HOUR_MS, START, Pod, Scene, usage

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.integration]
CARD = "AMD Instinct MI300X OAM"
PRICES = f"""
  - {{model: {CARD}, rate_per_gpu_hour: "3.00"}}
  - {{model: {CARD}, lifecycle: spot, rate_per_gpu_hour: "1.20"}}
  - {{model: NVIDIA-A100-SXM4-80GB, lifecycle: spot, rate_per_gpu_hour: "1.20"}}
"""
KUBE = {"job": "kube-state-metrics", "instance": "kube-state:8080", "node": "n1"}
SPOT = {"label_karpenter_sh_capacity_type": "spot"}
OWN = {"label_example_com_buying": "spot"}


def amd(told: Scene, kind: str, parts: int) -> None:
    """A card in some partitions, sampled all the time."""
    for number in range(parts):
        labels = {
            "job": "amd",
            "instance": "n1:5000",
            "gpu_id": number,
            "serial_number": "S1",
            "card_model": CARD,
            "hostname": "n1",
            "gpu_partition_id": number,
            "gpu_compute_partition_type": kind,
        }
        told.add("gpu_gfx_activity", 50, labels)


def node(
    told: Scene,
    resource: str,
    units: int,
    labels: dict[str, str],
    since: Sequence[float],
) -> None:
    """A node whose labels kube-state shows later than its capacity."""
    what = {"resource": resource, "unit": "integer"}
    told.add("kube_node_status_capacity", units, KUBE | what, since)
    late = [at for at in since if at >= START + 420]
    told.add("kube_node_labels", 1, KUBE | labels, late)


def ledger(
    told: Scene, folder: Path, setup: str = SETUP + PRICES
) -> list[dict[str, Any]]:
    told.read(folder, setup)
    return report("ledger", by="node,lifecycle")


@pytest.mark.parametrize(("kind", "parts"), [("dpx", 2), ("cpx", 8), ("spx", 1)])
@pytest.mark.parametrize("since", [0, 300])
def test_t40_partitions_sampled_before_the_labels(
    kind: str, parts: int, since: int, tmp_path: Path
) -> None:
    told = Scene()
    amd(told, kind, parts)
    at = [at for at in told.scrapes if at >= START + since]
    node(
        told, "amd_com_gpu", parts, SPOT | {"label_amd_com_gpu_product_name": CARD}, at
    )
    [row] = ledger(told, tmp_path)
    assert (row["lifecycle"], row["wall_charge"]) == ("spot", "1.200000")


def test_t40_capacity_before_the_labels(tmp_path: Path) -> None:
    told = Scene()
    told.gpu("GPU-1", 0.5, metric=ENGINE)
    node(told, "nvidia_com_gpu", 1, SPOT, told.scrapes)
    [row] = ledger(told, tmp_path)
    assert (row["lifecycle"], row["wall_charge"]) == ("spot", "1.200000")


def test_t40_another_spelling_of_the_label_counts_back_too(tmp_path: Path) -> None:
    """`labels` of the setup file is changed after the time was read."""
    told = Scene()
    amd(told, "dpx", 2)
    node(told, "amd_com_gpu", 2, OWN, told.scrapes)
    [row] = ledger(told, tmp_path)
    assert (row["lifecycle"], row["wall_charge"]) == ("unknown", "3.000000")

    path = tmp_path / "more.yaml"
    path.write_text("labels: {lifecycle: example.com/buying}")
    run("configure", path)
    [row] = report("ledger", by="node,lifecycle")
    assert (row["lifecycle"], row["wall_charge"]) == ("spot", "1.200000")


def test_t40_labels_in_a_second_file_count_back(tmp_path: Path) -> None:
    """The first file ends before kube-state shows labels."""
    told = Scene(600)
    amd(told, "dpx", 2)
    what = {"resource": "amd_com_gpu", "unit": "integer"}
    told.add("kube_node_status_capacity", 2, KUBE | what)
    told.read(tmp_path, SETUP + PRICES)
    assert report("ledger")[0]["wall_charge"] == "0.500000"

    later = Scene(HOUR)
    later.scrapes = [at for at in later.scrapes if at >= START + 600]
    amd(later, "dpx", 2)
    later.add("kube_node_status_capacity", 2, KUBE | what)
    later.add("kube_node_labels", 1, KUBE | SPOT)
    path = tmp_path / "b.om"
    path.write_text(later.openmetrics())
    run("import_metrics", "--cluster=north", path)
    assert report("ledger")[0]["wall_charge"] == "1.200000"
    assert "FAIL" not in run("verify")


def test_t40_labels_that_change_apply_from_then_on(tmp_path: Path) -> None:
    """Only the first ones count back."""
    told = Scene()
    told.pod(Pod("train"))
    told.gpu("GPU-1", 0.5, metric=ENGINE)
    half = START + HOUR // 2
    told.node(at=[at for at in told.scrapes if at < half], lifecycle="spot")
    told.node(at=[at for at in told.scrapes if at >= half])
    found = ledger(told, tmp_path)
    assert {row["lifecycle"]: row["wall_ms"] for row in found} == {
        "spot": HOUR_MS // 2,
        "on-demand": HOUR_MS // 2,
    }
    assert usage("pod")["train"]["charge"] == "1.650000"  # half of 1.20 and of 2.10
