"""What the queues of a team's namespaces borrow, and what waits in them.

A queue of Kueue serves namespaces by LocalQueues; where all of them are of one quota, the
queue's figures are that quota's. A queue that several teams share is shown as itself only.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from accounting.domain.inventory.scheduler_queues import QueueFacts
from scheduler_view.domain.objects.stored_manifest import LOCAL_QUEUE
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


def served(cluster_id: int) -> dict[str, set[str]]:
    """Namespaces by the ClusterQueue that they send their work to."""
    found: dict[str, set[str]] = {}
    rows = Observation.objects.filter(cluster_id=cluster_id, kind=LOCAL_QUEUE)
    for namespace, queue in rows.values_list(
        "namespace", "manifest__spec__clusterQueue"
    ):
        found.setdefault(str(queue), set()).add(namespace)
    return found


def lent_to(
    namespaces: Collection[str],
    resource: str,
    served_by: Mapping[str, Collection[str]],
    queues: Sequence[QueueFacts],
) -> QueueBorrowing:
    """What queues that serve these namespaces only say of a resource."""
    own = {
        queue for queue, places in served_by.items() if set(places) <= set(namespaces)
    }
    rows = [
        facts
        for facts in queues
        if facts.scheduler == "kueue"
        and facts.queue in own
        and facts.resource == resource
    ]
    borrowed = [row.borrowed for row in rows if row.borrowed is not None]
    queued = [row.pending for row in rows if row.pending is not None]
    return QueueBorrowing(
        round(sum(borrowed)) if borrowed else None,  # whole: they are of Kueue
        round(sum(queued)) if queued else None,
        tuple(row.queue for row in rows),
    )
