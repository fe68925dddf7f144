"""Who holds the quota of the queue that keeps work back (scheduling.md S12)."""

from scheduler_view.clusters.rules.optional_kinds import COHORT
from scheduler_view.clusters.rules.schedulers.kueue import CLUSTER_QUEUE
from scheduler_view.waits.rules.cause import WaitCause
from scheduler_view.waits.rules.explanation import Blocker
from scheduler_view.waits.rules.finding import PodFinding
from scheduler_view.waits.rules.placement.gpu_requests import gpu_request
from scheduler_view.waits.rules.placement.index import WorldIndex
from scheduler_view.waits.rules.queue_capacity import in_cohort
from scheduler_view.waits.rules.units import WorkUnit
from scheduler_view.waits.rules.world.pods import PodObject

MOST = 8  # units that are named


def cluster_queue_of(index: WorldIndex, unit: WorkUnit, queue: str) -> str:
    """The ClusterQueue behind the queue of a unit, as admitted work of that queue shows it.

    Args:
        queue: the LocalQueue in the namespace of the unit.

    Returns:
        Empty if no work of the queue is admitted now.
    """
    return next(
        (
            one.cluster_queue
            for entries in index.let_in.values()
            for one in entries
            if (one.namespace, one.queue) == (unit.namespace, queue)
            and one.cluster_queue
        ),
        "",
    )


def queue_behind(finding: PodFinding) -> str:
    """The subject of the queue of which others in it keep work; empty if it is not known."""
    limit = finding.facts.get("limit")
    if finding.cause is not WaitCause.QUEUE:
        return ""
    if "ends_in" in finding.facts:
        return str(finding.facts["ends_in"])
    if isinstance(limit, dict):
        return str(limit["queue"])
    if "cluster_queue" in finding.facts:
        return f"{CLUSTER_QUEUE}/{finding.facts['cluster_queue']}"
    return f"Queue/{finding.name}" if "scheduler" in finding.facts else ""


def queue_holders(index: WorldIndex, subject: str) -> tuple[Blocker, ...]:
    """Units that a queue let in and that hold GPUs, most GPUs first; the first eight.

    Args:
        subject: of the queue, such as `ClusterQueue/large`, or of a cohort with all its queues.
    """
    units = {}
    queues = [subject]
    if subject.startswith(f"{COHORT}/"):
        queues = [one.subject for one in in_cohort(index, subject)]
    for one in (entry for name in queues for entry in index.let_in.get(name, ())):
        unit = index.unit_of_entry.get((one.kind, one.namespace, one.name))
        if unit is not None and unit.bound:
            units[unit.subject] = unit
    found = [_holder(index, unit) for unit in units.values()]
    return tuple(sorted(found, key=lambda one: (-one.units, one.pod))[:MOST])


def _holder(index: WorldIndex, unit: WorkUnit) -> Blocker:
    first = unit.bound[0]
    requests = [_request(index, pod) for pod in unit.bound]
    since = [
        pod.scheduled.since_ms
        for pod in unit.bound
        if pod.scheduled is not None and pod.scheduled.since_ms is not None
    ]
    return Blocker(
        f"{unit.namespace}/{unit.name}",
        first.uid,
        unit.subject,
        next((name for name, _ in requests if name), ""),
        sum(units for _, units in requests),
        index.world.priority_of(first.spec),
        first.spec.priority_class,
        since_ms=min(since, default=None),
    )


def _request(index: WorldIndex, pod: PodObject) -> tuple[str, int]:
    found = gpu_request(index.world, pod.namespace, pod.spec, pod.claims)
    return ("", 0) if found is None else (found.resource, found.units or 0)
