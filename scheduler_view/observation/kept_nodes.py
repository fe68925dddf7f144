"""Keeps which nodes without GPU work were kept by other pods, and by which (scheduling.md S32)."""

from datetime import datetime

from accounting.models import Cluster
from scheduler_view.domain.queues.kept_nodes import kept_rooms
from scheduler_view.domain.waits.placement.index import WorldIndex
from scheduler_view.models import KeptNode
from scheduler_view.observation.pool_samples import LONGEST_GAP


def store_kept_nodes(
    cluster: Cluster, index: WorldIndex, before: datetime | None, now: datetime
) -> None:
    """Extend the newest row of each such node, or begin another one.

    Args:
        before: the last observation; None for the first one.
    """
    since = now - LONGEST_GAP
    newest = KeptNode.objects.filter(cluster=cluster, until__gte=since)
    last = {
        row.node: row
        for row in newest.order_by("node", "-since").distinct("node")
        if before is not None and row.until >= before
    }
    extended, begun = [], []
    for one in kept_rooms(index):
        pods = [[path[:317], reason.value] for path, reason in one.pods]
        old = last.get(one.node[:253])
        if old is not None:
            extended.append(old.pk)
        if old is None or old.pods != pods:
            begun.append(
                KeptNode(
                    cluster=cluster,
                    node=one.node[:253],
                    since=now,
                    until=now,
                    pods=pods,
                )
            )
    KeptNode.objects.filter(pk__in=extended).update(until=now)
    KeptNode.objects.bulk_create(begun, ignore_conflicts=True)


def forget_kept_nodes(before: datetime) -> None:
    """Remove rows that ended before."""
    KeptNode.objects.filter(until__lt=before).delete()
