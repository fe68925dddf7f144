"""What the queues of a team's namespaces borrow, and the work that waits in them.

If all namespaces of a queue belong to one quota, the queue's figures are shown with that quota. A
queue that several teams share is only shown separately.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from accounting.metering.rules.inventory.scheduler_queues import QueueFacts
from scheduler_view.clusters.reads.last_observation import limiting_objects
from scheduler_view.clusters.rules.schedulers import SCHEDULERS


@dataclass(frozen=True, slots=True)
class QueueBorrowing:
    """The figures of queues for one quota; None if it has no queue of its own.

    Attributes:
        borrowed: units used above the queues' own quota.
        queued: requested units that the queues have not admitted.
        queues: their names.
    """

    borrowed: int | None = None
    queued: int | None = None
    queues: tuple[str, ...] = ()


Queue = tuple[str, str]  # scheduler, name


def served(cluster_id: int) -> dict[Queue, set[str]]:
    """Namespaces by their queue."""
    found: dict[Queue, set[str]] = {}
    serving = [
        (scheduler.name, objects.kind, objects.served)
        for scheduler in SCHEDULERS.values()
        for objects in scheduler.objects
        if objects.served is not None
    ]
    for name, kind, queue_of in serving:
        for _, namespace, _, manifest in limiting_objects(cluster_id, [kind]):
            found.setdefault((name, queue_of(manifest)), set()).add(namespace)
    return found


def lent_to(
    namespaces: Collection[str],
    resource: str,
    served_by: Mapping[Queue, Collection[str]],
    queues: Sequence[QueueFacts],
) -> QueueBorrowing:
    """The figures of queues that serve only these namespaces, for a resource."""
    own = {
        queue for queue, places in served_by.items() if set(places) <= set(namespaces)
    }
    rows = [
        facts
        for facts in queues
        if (facts.scheduler, facts.queue) in own and facts.resource == resource
    ]
    borrowed = [row.borrowed for row in rows if row.borrowed is not None]
    queued = [row.pending for row in rows if row.pending is not None]
    return QueueBorrowing(
        round(sum(borrowed)) if borrowed else None,  # quotas count whole units
        round(sum(queued)) if queued else None,
        tuple(row.queue for row in rows),
    )
