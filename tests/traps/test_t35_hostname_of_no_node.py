"""T35: `Hostname` is the exporter's pod, and another label names the node."""

from pathlib import Path

import pytest

from tests.integration.metering.support import report
from tests.traps.scene import HOUR, HOUR_MS, Pod, Scene, by, gpus, issues, usage

pytestmark = pytest.mark.django_db(transaction=True)

TOLD = {("hostname_of_no_node", "n1")}
NAMES = {
    "the exporter's pod": ({"Hostname": "dcgm-exporter-6ldbb", "node": "n1"}, TOLD),
    "localhost": ({"Hostname": "localhost", "node": "n1"}, TOLD),
    "honor_labels=false": ({"hostname": "dcgm-x", "exported_node": "n1"}, TOLD),
    "the target's node is another": (
        {"Hostname": "dcgm-x", "exported_node": "n1", "node": "infra"},
        TOLD,
    ),
    "an address": (
        {"Hostname": "10.0.0.9", "hostname": "10.0.0.9", "node": "n1"},
        TOLD,
    ),
    "both are nodes": ({"Hostname": "n1", "node": "infra"}, set()),
    "both are right": ({"Hostname": "n1", "node": "n1"}, set()),
}


@pytest.mark.parametrize(("names", "told"), NAMES.values(), ids=NAMES)
def test_t35_the_label_that_names_a_node_wins(
    names: dict[str, str], told: set[tuple[str, str]], tmp_path: Path
) -> None:
    scene = Scene()
    scene.node()
    scene.node("infra", {})
    scene.pod(Pod("train-0"))
    pod = {"namespace": "vision", "pod": "train-0"}
    scene.gpu("GPU-a", 0.5, {"Hostname": "", **names, **pod})

    scene.read(tmp_path)

    assert set(gpus()) == {"GPU-a"}
    assert set(by("ledger", "node")) == {"n1"}
    row = usage("pod")["train-0"]
    assert (row["allocated_ms"], row["busy_ms"]) == (HOUR_MS, HOUR_MS // 2)
    assert issues() == told


def test_t35_the_message_names_both(tmp_path: Path) -> None:
    scene = Scene()
    scene.node()
    scene.gpu("GPU-a", 0.0, {"Hostname": "dcgm-x", "node": "n1"})

    scene.read(tmp_path)

    [found] = report("issues")
    assert "`Hostname` of its GPUs is dcgm-x" in found["message"]
    assert "`node` is n1" in found["message"]
    assert "NODE_NAME" in found["advice"]


def test_t35_a_gpu_on_no_node_is_told_with_all_its_names(tmp_path: Path) -> None:
    scene = Scene(2 * HOUR)
    scene.node()
    scene.gpu("GPU-a", 0.0, {"Hostname": "dcgm-x", "node": "n1.example.com"})

    scene.read(tmp_path)

    [found] = [row for row in report("issues") if row["code"] == "foreign_gpu"]
    assert "dcgm-x (`Hostname`) or n1.example.com (`node`)" in found["message"]
