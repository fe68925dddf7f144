"""Keeps which nodes without GPU work were kept by other pods, and by which (scheduling.md S32)."""

from datetime import datetime

from accounting.models import Cluster
from scheduler_view.domain.queues.kept_nodes import kept_rooms
from scheduler_view.domain.waits.placement.index import WorldIndex
from scheduler_view.models import KeptNode
from scheduler_view.observation.history.node_spans import store_node_spans


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
