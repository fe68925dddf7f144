"""What the queues of a team's namespaces borrow, and what waits in them.

Where all namespaces that send their work to a queue are of one quota, the queue's figures
are that quota's. A queue that several teams share is shown as itself only.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from accounting.domain.inventory.scheduler_queues import QueueFacts
from scheduler_view.domain.schedulers import SCHEDULERS
from scheduler_view.models import Observation


@dataclass(frozen=True, slots=True)
class QueueBorrowing:
    """What queues say of one quota; None where no queue is its own.

    Attributes:
        borrowed: units used above the queues' own quota.
        queued: units asked for that the queues have not let in.
        queues: their names.
    """

    borrowed: int | None = None
    queued: int | None = None
    queues: tuple[str, ...] = ()


Queue = tuple[str, str]  # scheduler, name


def served(cluster_id: int) -> dict[Queue, set[str]]:
    """Namespaces by the queue that they send their work to."""
    found: dict[Queue, set[str]] = {}
    for scheduler in SCHEDULERS.values():
        objects = scheduler.objects
        if objects is None or objects.served is None:
            continue
        rows = Observation.objects.filter(cluster_id=cluster_id, kind=objects.kind)
        for namespace, manifest in rows.values_list("namespace", "manifest"):
            queue = scheduler.name, objects.served(manifest)
            found.setdefault(queue, set()).add(namespace)
    return found


def lent_to(
    namespaces: Collection[str],
    resource: str,
    served_by: Mapping[Queue, Collection[str]],
    queues: Sequence[QueueFacts],
) -> QueueBorrowing:
    """What queues that serve these namespaces only say of a resource."""
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
