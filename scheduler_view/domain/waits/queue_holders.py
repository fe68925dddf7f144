"""Who holds the quota of the queue that keeps work back (scheduling.md S12)."""

from scheduler_view.domain.waits.explanation import Blocker
from scheduler_view.domain.waits.placement.gpu_requests import gpu_request
from scheduler_view.domain.waits.placement.index import WorldIndex
from scheduler_view.domain.waits.units import WorkUnit
from scheduler_view.domain.waits.world.pods import PodObject

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
            name
            for name, entries in index.let_in.items()
            for one in entries
            if (one.namespace, one.queue) == (unit.namespace, queue)
        ),
        "",
    )


def queue_holders(index: WorldIndex, cluster_queue: str) -> tuple[Blocker, ...]:
    """Units that a ClusterQueue let in and that hold GPUs, most GPUs first; the first eight."""
    units = {(one.namespace, one.kind, one.name): one for one in index.units}
    found = []
    for entry in index.let_in.get(cluster_queue, ()):
        owner = entry.controller
        unit = owner and units.get((entry.namespace, owner.kind, owner.name))
        if unit and unit.bound:
            found.append(_holder(index, unit))
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
