"""Labels with capital letters, from exposition text to the report: prices and teams match.

kube-state-metrics writes `eks.amazonaws.com/capacityType` as
`label_eks_amazonaws_com_capacity_type`. All pods here hold one GPU for one hour.
"""

from pathlib import Path

import pytest

from accounting.metering.models.ledger import DirtyHour
from tests.integration.metering.support import report, run
from tests.traps.scene import Pod, Scene, usage

pytestmark = pytest.mark.django_db(transaction=True)

SETUP = """
billing: {currency: EUR, timezone: Europe/Berlin}
teams: [{slug: vision}, {slug: speech}]
bindings:
  - {namespace_label: example.com/costCenter, glob: "100", team: vision}
  - {pod_label: example.com/costCenter, glob: "200", team: speech}
prices:
  - {model: NVIDIA A100-SXM4-80GB, rate_per_gpu_hour: "2.10"}
  - {model: NVIDIA A100-SXM4-80GB, rate_per_gpu_hour: "0.80", lifecycle: spot}
  - {model: NVIDIA A100-SXM4-80GB, rate_per_gpu_hour: "2.00", lifecycle: on-demand}
  - {model: NVIDIA A100-SXM4-80GB, rate_per_gpu_hour: "1.50", lifecycle: reserved}
"""
NODES = [  # label and value as kube-state shows them, lifecycle, EUR of an hour
    ("eks_amazonaws_com_capacity_type", "SPOT", "spot", "0.800000"),
    ("eks_amazonaws_com_capacity_type", "ON_DEMAND", "on-demand", "2.000000"),
    ("eks_amazonaws_com_capacity_type", "CAPACITY_BLOCK", "reserved", "1.500000"),
    ("karpenter_sh_capacity_type", "spot", "spot", "0.800000"),
    ("karpenter_sh_capacity_type", "on-demand", "on-demand", "2.000000"),
    ("karpenter_sh_capacity_type", "reserved", "reserved", "1.500000"),
    ("cloud_google_com_gke_spot", "true", "spot", "0.800000"),
    ("cloud_google_com_gke_provisioning", "preemptible", "spot", "0.800000"),
    ("cloud_google_com_gke_provisioning", "standard", "on-demand", "2.000000"),
    ("kubernetes_azure_com_scalesetpriority", "spot", "spot", "0.800000"),
    ("kubernetes_azure_com_scalesetpriority", "regular", "on-demand", "2.000000"),
    # two labels of one name that disagree, and no label: nobody knows
    ("eks_amazonaws_com_capacity_type_conflict1", "SPOT", "unknown", "2.100000"),
    ("example_com_other", "spot", "unknown", "2.100000"),
]


def held_everywhere(nodes: list[tuple[str, str]]) -> Scene:
    """One pod on each node, for an hour."""
    told = Scene()
    for n, (label, value) in enumerate(nodes):
        labels: dict[str, object] = {f"label_{label}": value}
        if label.endswith("_conflict1"):
            labels[f"label_{label[:-1]}2"] = "ON_DEMAND"
        told.node(f"n{n}", 1, labels, lifecycle="")
        told.gpu(f"GPU-{n}", 0.5, node=f"n{n}")
        told.pod(Pod(f"pod-{n}", f"n{n}"))
    return told


def test_prices_by_lifecycle_match_on_every_cloud(tmp_path: Path) -> None:
    held_everywhere([(label, value) for label, value, *_ in NODES]).read(
        tmp_path, SETUP
    )

    found = {
        row["node"]: (row["lifecycle"], row["charge"])
        for row in report("usage", by="node,lifecycle")
    }
    assert found == {
        f"n{n}": (kind, charge) for n, (*_, kind, charge) in enumerate(NODES)
    }


def test_a_label_of_the_set_up_spells_the_lifecycle(tmp_path: Path) -> None:
    """Named after the samples were read, too: the hours are rolled up again."""
    words = [("spot", "0.80"), ("Reserved", "1.50"), ("ON_DEMAND", "2.00"), ("x", "2.")]
    told = held_everywhere([("example_com_buying_mode", word) for word, _ in words])
    told.read(tmp_path, SETUP)
    assert {row["charge"] for row in usage("node").values()} == {"2.100000"}

    named = tmp_path / "named.yaml"
    named.write_text(SETUP + "labels: {lifecycle: example.com/buyingMode}\n")
    run("configure", named)
    run("ingest")

    charges = [row["charge"] for row in usage("node").values()]
    assert charges == ["0.800000", "1.500000", "2.000000", "2.100000"]
    assert not DirtyHour.objects.exists()


def test_rules_find_labels_with_capital_letters(tmp_path: Path) -> None:
    told = Scene()
    kube = {"job": "kube-state-metrics", "instance": "kube-state:8080"}
    for n in range(2):
        told.node(f"n{n}")
        told.gpu(f"GPU-{n}", 0.5, node=f"n{n}")
    told.pod(Pod("a", "n0"), Pod("b", "n1", namespace="other"))
    cost = "label_example_com_cost_center"
    told.add("kube_namespace_labels", 1, kube | {"namespace": "vision", cost: "100"})
    told.add(
        "kube_pod_labels",
        1,
        kube | Pod("b", "n1", namespace="other").key | {cost: "200"},
    )
    told.read(tmp_path, SETUP)

    charges = {team: row["charge"] for team, row in usage("team").items()}
    assert charges == {"vision": "2.000000", "speech": "2.000000"}  # on demand


def test_one_label_written_in_two_ways_is_refused(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(
        "labels:\n  workload_type: [example.com/workType, example.com/work-type]\n"
    )
    with pytest.raises(SystemExit):
        run("configure", "--check", wrong)
