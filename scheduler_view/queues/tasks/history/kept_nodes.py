"""Keeps which nodes without GPU work were kept by other pods, and by which (scheduling.md S32)."""

from datetime import datetime

from accounting.metering.models.cluster import Cluster
from scheduler_view.queues.models.memory import KeptNode
from scheduler_view.queues.rules.kept_nodes import kept_rooms
from scheduler_view.queues.tasks.history.node_spans import store_node_spans
from scheduler_view.waits.rules.placement.index import WorldIndex


def store_kept_nodes(
    cluster: Cluster, index: WorldIndex, before: datetime | None, now: datetime
) -> None:
    """Keep what keeps each such node; `before` as in `store_node_spans`."""
    found = {
        one.node: {"pods": [[path[:317], reason.value] for path, reason in one.pods]}
        for one in kept_rooms(index)
    }
    store_node_spans(KeptNode.objects, cluster, found, before, now)


def forget_kept_nodes(before: datetime) -> None:
    """Remove rows that ended before."""
    KeptNode.objects.filter(until__lt=before).delete()
