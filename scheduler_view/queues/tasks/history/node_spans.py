"""What observations show of nodes, kept on change as rows from `since` to `until`."""

from collections.abc import Mapping
from datetime import datetime
from typing import TypeVar

from django.db.models import Manager

from accounting.metering.models.cluster import Cluster
from scheduler_view.queues.models.memory import FreeCpuSample, KeptNode
from scheduler_view.queues.tasks.history.pool_samples import LONGEST_GAP

Row = TypeVar("Row", KeptNode, FreeCpuSample)
_NAME_LENGTH = 253  # of a node, as the column


def store_node_spans(
    rows: Manager[Row],
    cluster: Cluster,
    found: Mapping[str, Mapping[str, object]],
    before: datetime | None,
    now: datetime,
) -> None:
    """Extend the newest row of each node that was found, or begin another one if it changed.

    Args:
        rows: of one kind; its other columns are the keys of `found`.
        found: the values of these columns, by node.
        before: the last observation; None for the first one.
    """
    newest = rows.filter(cluster=cluster, until__gte=now - LONGEST_GAP).order_by(
        "node", "-since"
    )
    last = {
        row.node: row
        for row in newest.distinct("node")
        if before is not None and row.until >= before
    }
    extended, begun = [], []
    for name, values in found.items():
        node = name[:_NAME_LENGTH]
        old = last.get(node)
        if old is not None:
            extended.append(old.pk)
        if old is None or any(getattr(old, key) != values[key] for key in values):
            begun.append(
                rows.model(cluster=cluster, node=node, since=now, until=now, **values)
            )
    rows.filter(pk__in=extended).update(until=now)
    rows.bulk_create(begun, ignore_conflicts=True)
