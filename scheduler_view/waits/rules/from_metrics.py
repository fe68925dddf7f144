"""Why work waits where only kube-state-metrics are known, not the objects (scheduling.md S14).

The same explainer reads what metrics show: requests, nodes, taints, cordons, tolerations, holds
and suspended Jobs. They do not show selectors, affinity, gates, volumes, claims, messages, nor
quotas that refused pods, and CPU and memory are not read. So a cause is one of `KNOWABLE`, else
`other`; and who would have to end, what would help, and preemption are not known.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from scheduler_view.clusters.rules.quota_key import NONE_ADDED, Added
from scheduler_view.waits.rules.cause import (
    Overlay,
    PreemptionOutcome,
    Stage,
    WaitCause,
)
from scheduler_view.waits.rules.explain import Explainer
from scheduler_view.waits.rules.explanation import Evidence, PodCounts, WaitExplanation
from scheduler_view.waits.rules.units import WorkUnit
from scheduler_view.waits.rules.world.controllers import ControllerObject
from scheduler_view.waits.rules.world.nodes import ClusterNode
from scheduler_view.waits.rules.world.pod_spec import PodSpec, Toleration
from scheduler_view.waits.rules.world.pods import ControllerRef, PodObject, Scheduled
from scheduler_view.waits.rules.world.world import World, with_shared_specs

KNOWABLE = frozenset(
    {WaitCause.NO_FREE_GPU, WaitCause.FRAGMENTED, WaitCause.TOO_BIG}
    | {WaitCause.GPU_UNHEALTHY, WaitCause.RESOURCE_UNKNOWN}
    | {WaitCause.CORDONED, WaitCause.TAINT, WaitCause.NODE_SETUP}
    | {WaitCause.SUSPENDED}
)
UNSCHEDULABLE = "kube_pod_status_unschedulable"
SUSPENDED = "kube_job_status_suspended"
_ANY_TAINT = (Toleration("", "Exists", "", ""),)


@dataclass(frozen=True, slots=True)
class MetricPod:
    """One pod that waits, or holds GPUs on a node.

    Attributes:
        requests: units of GPU resources, in Kubernetes' spelling.
        node: empty while it waits.
        bound_ms: when it got its node; None while it waits.
        tolerations: None if no metric shows them; then taints are left out of account.
        is_unschedulable: a sample showed that the scheduler found no node.
    """

    uid: str
    namespace: str
    name: str
    requests: Mapping[str, int]
    controller: ControllerRef | None = None
    created_ms: int | None = None
    node: str = ""
    bound_ms: int | None = None
    priority_class: str = ""
    tolerations: tuple[Toleration, ...] | None = None
    is_unschedulable: bool = False


@dataclass(frozen=True, slots=True)
class SuspendedJob:
    """A Job that was suspended in the newest scrape; its pods and their requests are not known."""

    namespace: str
    name: str
    created_ms: int


@dataclass(frozen=True, slots=True)
class ShownCluster:
    """What kube-state-metrics show of one cluster.

    Attributes:
        at_ms: the newest scrape.
        nodes: amounts in thousandths, as of the API.
        owners: kind and name of the controller, by kind, namespace and name of a controller.
    """

    at_ms: int
    pods: tuple[MetricPod, ...] = ()
    nodes: tuple[ClusterNode, ...] = ()
    jobs: tuple[SuspendedJob, ...] = ()
    owners: Mapping[tuple[str, str, str], tuple[str, str]] = field(default_factory=dict)


def world_of(shown: ShownCluster, added: Added = NONE_ADDED) -> World:
    """The objects as far as metrics show them; instants in milliseconds since 1970.

    A suspended Job counts with one pod: how many it will have is not known.
    """
    controllers = {
        key: ControllerObject(*key, controller=ControllerRef(*owner))
        for key, owner in shown.owners.items()
    }
    for job in shown.jobs:
        key = "Job", job.namespace, job.name
        controllers[key] = replace(
            controllers.get(key, ControllerObject(*key)),
            created_ms=job.created_ms,
            is_suspended=True,
            wanted=1,
        )
    return World(
        now_ms=shown.at_ms,
        pods=with_shared_specs(map(_pod, shown.pods)),
        nodes=shown.nodes,
        controllers=tuple(controllers.values()),
        added=added,
    )


def _pod(one: MetricPod) -> PodObject:
    spec = PodSpec(
        requests=tuple(sorted((n, 1000 * units) for n, units in one.requests.items())),
        tolerations=_ANY_TAINT if one.tolerations is None else one.tolerations,
        priority_class=one.priority_class,
    )
    is_bound = bool(one.node)
    return PodObject(
        one.uid,
        one.namespace,
        one.name,
        spec,
        controller=one.controller,
        created_ms=one.created_ms,
        phase="Running" if is_bound else "Pending",
        node=one.node,
        scheduled=Scheduled(is_bound, "", "", one.bound_ms),
    )


def explain_shown(explainer: Explainer, shown: ShownCluster) -> list[WaitExplanation]:
    """Why each unit waits, as far as metrics show it; in the order of subjects.

    Args:
        explainer: of the world of `shown`.
    """
    units = {one.subject: one for one in explainer.index.units}
    marked = {one.uid for one in shown.pods if one.is_unschedulable}
    found = {
        one.subject: _narrowed(one, units[one.subject], marked)
        for one in explainer.waiting()
    }
    for job in shown.jobs:
        subject = f"Job/{job.namespace}/{job.name}"
        found[subject] = _suspended(job, found.get(subject))
    return [one for _, one in sorted(found.items())]


def _narrowed(
    one: WaitExplanation, unit: WorkUnit, marked: Collection[str]
) -> WaitExplanation:
    """The explanation without what metrics cannot show.

    Args:
        marked: uids of pods that a sample showed as unschedulable.
    """
    said = (pod.path for pod in unit.waiting if pod.uid in marked)
    evidence = [
        Evidence(f"Pod/{path}", UNSCHEDULABLE, f"{UNSCHEDULABLE} is 1") for path in said
    ]
    return replace(
        one,
        cause=one.cause if one.cause in KNOWABLE else WaitCause.OTHER,
        contributing=tuple(c for c in one.contributing if c in KNOWABLE),
        overlays=tuple(o for o in one.overlays if o is Overlay.GANG_PARTIAL),
        preemption=PreemptionOutcome.UNKNOWN,
        blockers=(),
        blocker_sets=0,
        starts_if=(),
        evidence=tuple(evidence[:1]),
        facts={},
        inverted=None,
        is_from_metrics=True,
    )


def _suspended(job: SuspendedJob, known: WaitExplanation | None) -> WaitExplanation:
    path = f"{job.namespace}/{job.name}"
    said = Evidence(f"Job/{path}", SUSPENDED, f"{SUSPENDED} is 1")
    return WaitExplanation(
        subject=f"Job/{path}",
        kind="Job",
        namespace=job.namespace,
        name=job.name,
        stage=Stage.HELD_BACK,
        cause=WaitCause.SUSPENDED,
        contributing=(),
        overlays=(),
        pods=known.pods if known else PodCounts(1, 0, 1),
        resource=known.resource if known else "",
        units_per_pod=known.units_per_pod if known else None,
        preemption=PreemptionOutcome.NONE,
        evidence=(said,),
        since_ms=job.created_ms,
        priority_class=known.priority_class if known else "",
        is_from_metrics=True,
    )
