"""Verdicts of autoscalers about pods that found no node, by hand (S7)."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from scheduler_view.waits.rules.change_wording import change_text
from scheduler_view.waits.rules.details import details_of
from scheduler_view.waits.rules.explanation import WaitExplanation
from tests.unit.waits.worlds import NOW_MS, changes, explained, node, pod

MAX_SIZE = "pod didn't trigger scale-up: 1 max node group size reached"
SCALE_UP = "pod triggered scale-up: [{gpu 3->4 (max: 8)}]"
NOMINATED = "Pod should schedule on: nodeclaim/gpu-x7k2p"
LIMITS = 'all available instance types exceed limits for nodepool: "gpu"'
NO_TYPE = 'incompatible with nodepool "gpu", no instance type satisfied resources'


def event(
    reason: str,
    message: str,
    minutes: int = 1,
    by: str = "cluster-autoscaler",
    about: tuple[str, str, str] = ("Pod", "lab", "w"),
) -> dict[str, Any]:
    kind, namespace, name = about
    at = datetime.fromtimestamp(NOW_MS / 1000, UTC) - timedelta(minutes=minutes)
    return {
        "reason": reason,
        "message": message,
        "lastTimestamp": at.isoformat(),
        "source": {"component": by},
        "involvedObject": {"kind": kind, "namespace": namespace, "name": name},
    }


def waits(*events: Any, **more: Any) -> WaitExplanation:
    world: dict[str, Any] = {
        "Node": [node("n")],
        "Pod": [pod("r", 8, "n"), pod("w", 8)],
    }
    return explained(**world, Event=list(events), **more)


def details(found: WaitExplanation) -> list[str]:
    """Without the numbers of GPUs (`test_tried_remedies.py`)."""
    said = details_of(found.cause.value, found.facts, lambda at_ms: f"<{at_ms}>")
    return [one for one in said if " requested; " not in one]


def texts(found: WaitExplanation) -> list[str]:
    return [change_text(one) for one in changes(found)]


def test_the_cluster_autoscaler_adds_no_node() -> None:
    found = waits(event("NotTriggerScaleUp", MAX_SIZE))
    assert found.cause == "no_free_gpu"
    assert details(found) == ["The cluster autoscaler adds no node."]
    assert [one.text for one in found.evidence][1:] == [MAX_SIZE]
    assert texts(found)[0] == "the pod lab/r ends", "no remedy is made up of its words"


def test_the_cluster_autoscaler_is_adding_a_node() -> None:
    """The newest verdict counts."""
    found = waits(
        event("NotTriggerScaleUp", MAX_SIZE, 9), event("TriggeredScaleUp", SCALE_UP, 2)
    )
    at = NOW_MS - 120_000
    assert details(found) == [
        f"The cluster autoscaler has been adding a node since <{at}>."
    ]
    assert texts(found)[0] == "the node that the cluster autoscaler is adding is ready"


@pytest.mark.parametrize(
    "old",
    [
        event("TriggeredScaleUp", SCALE_UP, 31),
        event("NotTriggerScaleUp", MAX_SIZE, by="somebody"),
        event("FailedScheduling", LIMITS, by="default-scheduler"),
        event("NotTriggerScaleUp", MAX_SIZE, about=("Pod", "lab", "other")),
    ],
)
def test_what_is_old_or_of_others_says_nothing(old: Any) -> None:
    found = waits(old)
    assert "autoscaler" not in found.facts
    assert len(found.evidence) == 1


def pool(limit: str, used: str) -> dict[str, Any]:
    return {
        "metadata": {"name": "gpu"},
        "spec": {
            "limits": {"nvidia.com/gpu": limit},
            "template": {"spec": {"startupTaints": [{"key": "example.com/driver"}]}},
        },
        "status": {"resources": {"nvidia.com/gpu": used}},
    }


@pytest.mark.parametrize(
    ("pools", "reached"), [([], ""), ([pool("16", "16")], " (nvidia.com/gpu 16 of 16)")]
)
def test_the_limits_of_a_node_pool_are_reached(pools: Any, reached: str) -> None:
    found = waits(event("FailedScheduling", LIMITS, by="karpenter"), NodePool=pools)
    assert details(found) == [
        f"Karpenter adds no node: the NodePool gpu has reached its limits{reached}."
    ]
    assert texts(found)[0] == "the limits of the NodePool gpu are raised"


def test_karpenter_has_no_type_of_node_for_it() -> None:
    found = waits(event("FailedScheduling", NO_TYPE, by="karpenter"))
    assert details(found) == ["Karpenter adds no node."]
    assert [one.text for one in found.evidence][1:] == [NO_TYPE]


def claim(**conditions: tuple[str, str]) -> dict[str, Any]:
    return {
        "metadata": {"name": "gpu-x7k2p"},
        "status": {
            "conditions": [
                {"type": name, "status": status, "message": message}
                for name, (status, message) in conditions.items()
            ]
        },
    }


@pytest.mark.parametrize(
    ("claims", "said", "evidence"),
    [
        ([], "", []),
        ([claim(Launched=("True", ""), Registered=("Unknown", "Node not registered"))],
         ", which is not registered yet", ["Node not registered"]),
        ([claim(Launched=("Unknown", ""))], ", which is not launched yet", []),
    ],
)  # fmt: skip
def test_karpenter_is_making_a_node(claims: Any, said: str, evidence: Any) -> None:
    found = waits(event("Nominated", NOMINATED, by="karpenter"), NodeClaim=claims)
    at = NOW_MS - 60_000
    assert details(found) == [
        f"Karpenter has been adding a node gpu-x7k2p{said} since <{at}>."
    ]
    assert [one.text for one in found.evidence][2:] == evidence
    assert texts(found)[0] == "the node that Karpenter is adding is ready"


def test_a_node_claim_that_got_no_capacity() -> None:
    words = "creating instance, insufficient capacity"
    about = ("NodeClaim", "", "gpu-x7k2p")
    found = waits(
        event("Nominated", NOMINATED, by="karpenter"),
        event("InsufficientCapacityError", words, by="karpenter", about=about),
    )
    assert details(found) == ["Karpenter adds no node: gpu-x7k2p got no capacity."]
    assert found.evidence[-1].text == words
    assert texts(found)[0] == "the pod lab/r ends"


def test_startup_taints_of_a_node_pool_are_not_to_be_tolerated() -> None:
    taints = [{"key": "example.com/driver", "effect": "NoSchedule"}]
    nodes = [node("n", taints=taints)]
    found = explained(Node=nodes, Pod=[pod("w")], NodePool=[pool("16", "8")])
    assert found.cause == "node_setup"
    assert explained(Node=nodes, Pod=[pod("w")]).cause == "taint"


def test_volumes_that_cannot_be_mounted_while_a_pod_starts() -> None:
    words = 'MountVolume.SetUp failed for volume "data" : secret "s" not found'
    starting = pod("w", on="n", status={"phase": "Pending"})
    found = explained(
        Node=[node("n")],
        Pod=[starting],
        Event=[event("FailedMount", words, by="kubelet")],
    )
    assert (found.cause, [one.text for one in found.evidence]) == ("starting", [words])
    older = event("FailedMount", words, 11, by="kubelet")
    assert explained(Node=[node("n")], Pod=[starting], Event=[older]).evidence == ()
