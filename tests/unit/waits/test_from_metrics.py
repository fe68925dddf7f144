"""Why work waits, from kube-state-metrics alone (scheduling.md S14), for each cause by hand.

Not here: reading the metrics (`tests/integration/queues/test_queues_from_metrics.py`).
"""

from typing import Any

import pytest

from scheduler_view.waits.rules.cause import (
    Overlay,
    PreemptionOutcome,
    Stage,
    WaitCause,
)
from scheduler_view.waits.rules.explain import Explainer
from scheduler_view.waits.rules.explanation import PodCounts, WaitExplanation
from scheduler_view.waits.rules.from_metrics import (
    KNOWABLE,
    MetricPod,
    ShownCluster,
    SuspendedJob,
    explain_shown,
    world_of,
)
from scheduler_view.waits.rules.world.nodes import ClusterNode, Taint, taint_of
from scheduler_view.waits.rules.world.pod_spec import Toleration
from scheduler_view.waits.rules.world.pods import ControllerRef

GPU = "nvidia.com/gpu"
NOW = 1_000_000
ML = Taint("team", "ml", "NoSchedule")
SETUP = taint_of("node.cilium.io/agent-not-ready", "", "NoSchedule")


def node(
    name: str, gpus: int, *, capacity: int | None = None, **more: Any
) -> ClusterNode:
    whole = gpus if capacity is None else capacity
    return ClusterNode(
        name, allocatable={GPU: 1000 * gpus}, capacity={GPU: 1000 * whole}, **more
    )


def waits(name: str, gpus: int, *, resource: str = GPU, **more: Any) -> MetricPod:
    return MetricPod(
        f"uid-{name}", "lab", name, {resource: gpus}, created_ms=1000, **more
    )


def holds(name: str, gpus: int, on: str, **more: Any) -> MetricPod:
    return waits(name, gpus, node=on, bound_ms=2000, **more)


def explained(*pods: MetricPod, **more: Any) -> dict[str, WaitExplanation]:
    shown = ShownCluster(NOW, pods, **more)
    found = explain_shown(Explainer(world_of(shown)), shown)
    assert all(one.is_from_metrics for one in found)
    assert {one.cause for one in found} <= KNOWABLE | {WaitCause.OTHER}
    return {one.name: one for one in found}


@pytest.mark.parametrize(
    ("nodes", "gpus", "cause"),
    [
        ([node("a", 8)], 4, WaitCause.NO_FREE_GPU),
        ([node("a", 8)], 9, WaitCause.TOO_BIG),
        ([node("a", 8, capacity=9)], 9, WaitCause.GPU_UNHEALTHY),
        ([node("a", 8, is_cordoned=True)], 1, WaitCause.CORDONED),
        ([node("a", 8, taints=(ML,))], 1, WaitCause.TAINT),
        ([node("a", 8, taints=(SETUP,))], 1, WaitCause.NODE_SETUP),
        ([node("a", 8)], 1, WaitCause.OTHER),  # 2 are free: affinity, CPU, a gate, ...
    ],
)
def test_a_cause_follows_from_requests_holds_and_nodes(
    nodes: list[ClusterNode], gpus: int, cause: WaitCause
) -> None:
    """6 of the 8 GPUs of node a are held; the pod tolerates nothing."""
    pods = holds("h", 6, "a"), waits("w", gpus, tolerations=())
    found = explained(*pods, nodes=tuple(nodes))
    assert found.keys() == {"w"}
    one = found["w"]
    assert (one.cause, one.stage) == (cause, Stage.UNSCHEDULABLE)
    assert (one.resource, one.units_per_pod) == (GPU, gpus)
    assert (one.since_ms, one.pods) == (1000, PodCounts(1, 0, 1))


def test_free_gpus_on_several_nodes_are_fragmented() -> None:
    """2 of 8 and 2 of 4 are free: enough together for 4, on no node."""
    pods = holds("h", 6, "a"), holds("k", 2, "b"), waits("w", 4)
    found = explained(*pods, nodes=(node("a", 8), node("b", 4)))
    assert found["w"].cause is WaitCause.FRAGMENTED


def test_a_resource_that_no_node_shows_is_unknown() -> None:
    pod = waits("w", 1, resource="nvidia.com/mig-1g.10gb")
    found = explained(pod, nodes=(node("a", 8),))
    assert found["w"].cause is WaitCause.RESOURCE_UNKNOWN


def test_without_nodes_nothing_is_said() -> None:
    """No metric of a node is no proof that there is none."""
    assert explained(waits("w", 1))["w"].cause is WaitCause.OTHER


def test_a_tolerated_taint_does_not_count() -> None:
    pod = waits("w", 1, tolerations=(Toleration("team", "Equal", "ml", ""),))
    found = explained(pod, nodes=(node("a", 8, taints=(ML,)),))
    assert found["w"].cause is WaitCause.OTHER


def test_without_tolerations_in_metrics_taints_are_left_out_of_account() -> None:
    tainted = node("a", 8, taints=(ML,))
    assert explained(waits("w", 1), nodes=(tainted,))["w"].cause is WaitCause.OTHER
    pods = holds("h", 8, "a"), waits("w", 1)
    assert explained(*pods, nodes=(tainted,))["w"].cause is WaitCause.NO_FREE_GPU


def test_a_node_that_is_not_ready_is_no_knowable_cause() -> None:
    taint = Taint("node.kubernetes.io/not-ready", "", "NoSchedule")
    found = explained(
        waits("w", 1, tolerations=()), nodes=(node("a", 8, taints=(taint,)),)
    )
    assert found["w"].cause is WaitCause.OTHER


def test_other_causes_on_other_nodes_contribute() -> None:
    pods = holds("h", 8, "a"), waits("w", 1, tolerations=())
    nodes = node("a", 8), node("b", 8, taints=(ML,)), node("c", 8, is_cordoned=True)
    one = explained(*pods, nodes=nodes)["w"]
    assert one.cause is WaitCause.NO_FREE_GPU
    assert one.contributing == (WaitCause.CORDONED, WaitCause.TAINT)


def test_what_metrics_cannot_show_is_not_said() -> None:
    """Whether it would start if "h" ended depends on what only objects show."""
    pods = holds("h", 8, "a"), waits("w", 1, is_unschedulable=True)
    one = explained(*pods, nodes=(node("a", 8),))["w"]
    assert (one.blockers, one.blocker_sets, one.starts_if) == ((), 0, ())
    assert (one.preemption, one.inverted) == (PreemptionOutcome.UNKNOWN, None)
    [said] = one.evidence
    assert said.object == "Pod/lab/w"
    assert said.text == "kube_pod_status_unschedulable is 1"


def test_a_suspended_job_waits_and_its_request_is_not_known() -> None:
    job = SuspendedJob("lab", "j", 5000)
    one = explained(nodes=(node("a", 8),), jobs=(job,))["j"]
    assert (one.subject, one.cause) == ("Job/lab/j", WaitCause.SUSPENDED)
    assert (one.stage, one.since_ms) == (Stage.HELD_BACK, 5000)
    assert (one.resource, one.units_per_pod) == ("", None)
    assert one.evidence[0].text == "kube_job_status_suspended is 1"


def test_pods_of_one_owner_are_one_unit() -> None:
    """Through its ReplicaSet, and a gang of which a part is bound."""
    of_set = ControllerRef("ReplicaSet", "api-7f")
    of_jobs = [ControllerRef("Job", f"train-{n}") for n in range(2)]
    owners = {
        ("ReplicaSet", "lab", "api-7f"): ("Deployment", "api"),
        ("Job", "lab", "train-0"): ("JobSet", "train"),
        ("Job", "lab", "train-1"): ("JobSet", "train"),
    }
    found = explained(
        holds("api-0", 1, "a", controller=of_set),
        waits("api-1", 8, controller=of_set),
        holds("train-0", 1, "a", controller=of_jobs[0]),
        waits("train-1", 8, controller=of_jobs[1]),
        nodes=(node("a", 8),),
        owners=owners,
    )
    assert found.keys() == {"api", "train"}
    assert (found["api"].kind, found["api"].pods) == ("Deployment", PodCounts(2, 1, 1))
    assert found["train"].overlays == (Overlay.GANG_PARTIAL,)
