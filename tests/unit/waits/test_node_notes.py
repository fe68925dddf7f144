"""Nodes with problems: plugin, setup, drains; and pods that do not end (S6, S7, S12)."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from scheduler_view.waits.rules.change_wording import change_text
from scheduler_view.waits.rules.details import details_of, note_text
from scheduler_view.waits.rules.explain import Explainer
from scheduler_view.waits.rules.explanation import WaitExplanation
from scheduler_view.waits.rules.node_notes import notes_of_cluster
from scheduler_view.waits.rules.placement.index import WorldIndex
from tests.unit.waits.worlds import (
    GPU,
    NOW_MS,
    changes,
    explained,
    kinds,
    node,
    owned,
    pod,
    world_of,
)

PRODUCT = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
COUNTED = PRODUCT | {"nvidia.com/gpu.count": "8"}


def texts(found: WaitExplanation) -> list[str]:
    return [change_text(one) for one in changes(found)]


def details(found: WaitExplanation) -> list[str]:
    """Without the numbers of GPUs (`test_tried_remedies.py`)."""
    said = details_of(found.cause.value, found.facts, str)
    return [one for one in said if " requested; " not in one]


def test_a_node_whose_device_plugin_reports_nothing_is_named() -> None:
    nodes = [node("g0"), node("g1", None, labels=COUNTED), node("cpu", None)]
    found = explained(Node=nodes, Pod=[pod("r1", 8, "g0"), pod("w", 8)])
    assert (found.cause, found.contributing) == ("no_free_gpu", ("no_device_plugin",))
    assert details(found) == [
        "The labels of g1 show 8 GPUs, but its device plugin reports none."
    ]
    assert "the device plugin of g1 reports its GPUs" in texts(found)


@pytest.mark.parametrize("gpus", [None, 0])
def test_no_node_at_all_has_a_plugin(gpus: int | None) -> None:
    nodes = [node(name, gpus, labels=PRODUCT) for name in ("g0", "g1")]
    found = explained(Node=nodes, Pod=[pod("w", 8)])
    assert found.cause == "no_device_plugin"
    assert texts(found) == [
        "the device plugin of g0 reports its GPUs",
        "the device plugin of g1 reports its GPUs",
    ]


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("too few", {"labels": PRODUCT | {"nvidia.com/gpu.count": "4"}}),
        ("unknown number", {"labels": PRODUCT}),
    ],
)
def test_a_plugin_that_would_not_be_enough_is_not_a_remedy(
    name: str, more: Any
) -> None:
    nodes = [node("g0"), node("g1", None, **more)]
    found = explained(Node=nodes, Pod=[pod("r1", 8, "g0"), pod("w", 8)])
    assert found.contributing == ("no_device_plugin",), name
    assert "repair_plugin" not in kinds(found)


@pytest.mark.parametrize(
    ("more", "spec"),
    [
        ({"labels": COUNTED}, {"nodeSelector": {"zone": "b"}}),
        ({"labels": COUNTED, "cordoned": True}, {}),
        ({"labels": COUNTED,
          "taints": [{"key": "a", "value": "", "effect": "NoSchedule"}]}, {}),
        ({"labels": COUNTED, "offers": {"nvidia.com/mig-1g.10gb": "7"}}, {}),
        ({"labels": {"amd.com/gpu.product-name": "MI300X"}}, {}),
        ({"labels": {"nvidia.com/gpu.present": "false"}}, {}),
        ({"labels": {"nvidia.com/gpu.product": ""}}, {}),
    ],
)  # fmt: skip
def test_a_node_that_would_not_suit_the_pod_is_not_named(more: Any, spec: Any) -> None:
    nodes = [node("g0", labels={"zone": "b"}), node("g1", None, **more)]
    found = explained(Node=nodes, Pod=[pod("r1", 8, "g0"), pod("w", 8, spec=spec)])
    assert (found.cause, found.contributing) == ("no_free_gpu", ())


def test_a_node_that_publishes_devices_needs_no_plugin() -> None:
    slices = [{"spec": {"driver": "gpu.nvidia.com", "nodeName": "g1",
                        "devices": [{"name": "gpu-0"}]}}]  # fmt: skip
    nodes = [node("g0"), node("g1", None, labels=COUNTED)]
    found = explained(
        Node=nodes, Pod=[pod("r1", 8, "g0"), pod("w", 8)], ResourceSlice=slices
    )
    assert found.contributing == ()


@pytest.mark.parametrize(
    ("key", "cause", "text"),
    [
        *(
            (key, "node_setup", f"the node g0 is set up and loses the taint {key}")
            for key in (
                "node.cilium.io/agent-not-ready", "karpenter.sh/unregistered",
                "ebs.csi.aws.com/agent-not-ready", "node.kubernetes.io/disk-pressure",
                "node.cloudprovider.kubernetes.io/uninitialized",
                "node.kubernetes.io/network-unavailable", "example.com/startup",
                "startup-taint.cluster-autoscaler.kubernetes.io/gpu-driver",
            )
        ),
        ("ToBeDeletedByClusterAutoscaler", "node_setup", None),
        ("karpenter.sh/disrupted", "node_setup", None),
        ("nvidia.com/gpu", "taint", "it tolerates the taint nvidia.com/gpu:NoSchedule"),
        ("node.kubernetes.io/not-ready", "node_not_ready", "the node g0 is ready again"),
    ],
)  # fmt: skip
def test_a_taint_of_setup_is_not_to_be_tolerated(
    key: str, cause: str, text: str | None
) -> None:
    taints = [{"key": key, "effect": "NoSchedule"}]
    found = explained(Node=[node("g0", taints=taints)], Pod=[pod("w")])
    assert found.cause == cause
    assert "tolerate" in kinds(found) or cause != "taint"
    if text is None:
        assert kinds(found) == {"add_node"}
        assert details(found) == [f"g0 is being removed: it has the taint {key}."]
    else:
        assert text in texts(found)
        assert cause == "taint" or "tolerate" not in kinds(found)
    if cause == "node_setup" and text:
        assert details(found) == [f"g0 is not set up yet: it has the taint {key}."]


def test_a_drain_that_a_disruption_budget_blocks() -> None:
    budget = {
        "metadata": {"name": "web", "namespace": "lab", "generation": 1},
        "spec": {"selector": {"matchLabels": {"app": "web"}}},
        "status": {"disruptionsAllowed": 0, "observedGeneration": 1},
    }
    held = [
        pod("stays", 4, "g0", meta=owned("ReplicaSet", "r", app="web") | {
            "name": "stays", "namespace": "lab", "uid": "s"}),
        pod("free", 4, "g0"),
    ]  # fmt: skip
    world: dict[str, Any] = {
        "Node": [node("g0", cordoned=True)],
        "Pod": [*held, pod("w", 8)],
    }
    found = explained(**world, PodDisruptionBudget=[budget])
    assert found.cause == "cordoned"
    assert found.facts["drains"] == [{"node": "g0", "budget": "lab/web", "pods": 1}]
    (said,) = details(found)
    assert said == (
        "g0 is cordoned, and the disruption budget lab/web allows no eviction of 1 pod "
        "there."
    )
    budget["status"]["disruptionsAllowed"] = 1  # type: ignore[index]
    assert "drains" not in explained(**world, PodDisruptionBudget=[budget]).facts


def ending(minutes: int, **meta: Any) -> dict[str, Any]:
    """A pod with a grace period of 30 s, deleted some minutes ago."""
    over = datetime.fromtimestamp(NOW_MS / 1000, UTC) - timedelta(minutes=minutes)
    over += timedelta(seconds=30)
    return {"deletionTimestamp": over.isoformat(), "deletionGracePeriodSeconds": 30} | {
        "name": "stuck", "namespace": "old", "uid": "stuck", **meta,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("finalizers", "text"),
    [
        (["example.com/x"],
         "the pod old/stuck, which is terminating, loses its finalizer example.com/x"),
        (["a/x", "b/y"],
         "the pod old/stuck, which is terminating, loses its finalizers a/x and b/y"),
        ([], "the pod old/stuck, which is terminating, is force-deleted"),
    ],
)  # fmt: skip
def test_a_pod_that_was_deleted_and_does_not_go(finalizers: Any, text: str) -> None:
    stuck = pod("stuck", 8, "n", meta=ending(60, finalizers=finalizers))
    found = explained(Node=[node("n")], Pod=[stuck, pod("w", 8)])
    assert found.cause == "no_free_gpu"
    assert texts(found)[0] == text
    (held,) = found.blockers[0].blockers
    assert held.ending_ms == NOW_MS - 3_600_000
    assert list(held.finalizers) == finalizers


def test_a_pod_that_ends_in_its_time_just_ends() -> None:
    found = explained(
        Node=[node("n")], Pod=[pod("stuck", 8, "n", meta=ending(5)), pod("w", 8)]
    )
    assert texts(found)[0] == "the pod old/stuck ends"
    assert found.blockers[0].blockers[0].ending_ms is None


def test_some_pods_end_and_one_does_not_go() -> None:
    stuck = pod("stuck", 4, "n", meta=ending(60, finalizers=["example.com/x"]))
    found = explained(
        Node=[node("n")], Pod=[stuck, pod("a", 2, "n"), pod("b", 2, "n"), pod("w", 8)]
    )
    assert texts(found)[0] == (
        "the pods lab/a and lab/b end, and the pod old/stuck, which is terminating, "
        "loses its finalizer example.com/x"
    )
    assert GPU in found.resource


def test_a_pod_that_does_not_go_is_not_preempted() -> None:
    """It was told to end an hour ago: a higher class tells it so again, and nothing else."""
    top = {"metadata": {"name": "top"}, "value": 9}
    stuck = pod("stuck", 8, "n", meta=ending(60, finalizers=["example.com/x"]))
    found = explained(Node=[node("n")], Pod=[stuck, pod("w", 8)], PriorityClass=[top])
    assert not [one for one in texts(found) if "priority class" in one]
    live = explained(
        Node=[node("n")], Pod=[pod("a", 8, "n"), pod("w", 8)], PriorityClass=[top]
    )
    assert "it has the higher priority class top" in texts(live)


def test_a_victim_of_preemption_that_does_not_go() -> None:
    """Waiting for its end is in vain: what keeps it is named."""
    stuck = pod("stuck", 8, "n", meta=ending(60, finalizers=["example.com/x"]))
    high = pod("w", 8, spec={"priority": 9}, status={"nominatedNodeName": "n"})
    high["status"]["conditions"] = [{"type": "PodScheduled", "status": "False"}]
    found = explained(Node=[node("n")], Pod=[stuck, high])
    assert found.cause == "preempting"
    assert texts(found) == [
        "the pod old/stuck, which is terminating, loses its finalizer example.com/x"
    ]


def notes(**objects: Any) -> list[dict[str, Any]]:
    return notes_of_cluster(WorldIndex(world_of(**objects)))


def zero(name: str, **spec: Any) -> dict[str, Any]:
    """A pod that requests 0 GPUs and selects the nodes of zone a."""
    spec = {"nodeSelector": {"zone": "a"}} | spec
    return pod(name, 0, spec=spec, meta={"name": name, "namespace": "lab", "uid": name})


TAINTED = [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]


def test_pods_that_request_no_gpus_of_a_node_are_said_once() -> None:
    """They are not units of GPUs, and wait for nodes with GPUs all the same."""
    world: dict[str, Any] = {
        "Node": [node("g0", taints=TAINTED), node("cpu", None)],
        "Pod": [zero("a"), zero("b"), zero("c", nodeSelector={"zone": "z"}),
                pod("d", None, spec={"nodeSelector": {"zone": "a"}})],
    }  # fmt: skip
    (one,) = notes(**world)
    assert one == {
        "kind": "zero_pods", "node": "g0", "namespace": "lab", "pods": 2,
        "taint": "nvidia.com/gpu",
    }  # fmt: skip
    assert note_text(one) == (
        "2 pods of lab that request 0 GPUs wait for g0, whose taint nvidia.com/gpu they "
        "do not tolerate."
    )
    assert list(Explainer(world_of(**world)).waiting()) == []


def test_nodes_are_noted_although_nothing_waits_for_them() -> None:
    startup = [{"key": "node.cilium.io/agent-not-ready", "effect": "NoSchedule"}]
    leaving = [{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]
    found = notes(
        Node=[
            node("g0", None, labels=COUNTED),
            node("g1", taints=startup),
            node("g2", taints=leaving),
            node("g3", taints=TAINTED),
            node("cpu", None, taints=startup),
        ]
    )
    assert [(one["kind"], one["node"]) for one in found] == [
        ("silent_nodes", "g0"),
        ("setup_nodes", "g1"),
        ("setup_nodes", "g2"),
    ]
    assert [note_text(one) for one in found] == [
        "The labels of g0 show 8 GPUs, but its device plugin reports none.",
        "g1 is not set up yet: it has the taint node.cilium.io/agent-not-ready.",
        "g2 is being removed: it has the taint karpenter.sh/disrupted.",
    ]
