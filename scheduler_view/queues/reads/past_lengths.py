"""How long waits of the last 28 days lasted, by what makes them alike (scheduling.md S18)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from django.db import connection

from scheduler_view.queues.rules.like_waits import WaitLength, size_class
from scheduler_view.queues.rules.pools import ResourcePool

Likeness = tuple[str, ResourcePool, int]  # cause, pool, size class
LOOK_BACK = timedelta(days=28)


def past_lengths(
    cluster_id: int, now: datetime
) -> Mapping[Likeness, Sequence[WaitLength]]:
    """Waits of a cluster; one that had several causes counts for each of them."""
    found: dict[Likeness, list[WaitLength]] = defaultdict(list)
    values: dict[str, datetime | int] = {
        "cluster": cluster_id,
        "now": now,
        "since": now - LOOK_BACK,
    }
    with connection.cursor() as cursor:
        cursor.execute(_LENGTHS, values)
        for cause, resource, model, units, lasted_ms, is_started in cursor:
            key = cause, ResourcePool(resource, model), size_class(units)
            found[key].append(WaitLength(lasted_ms, is_started))
    return found


_LENGTHS = """
    SELECT s.cause, s.resource, s.model, s.units,
           (1000 * extract(epoch FROM
               coalesce(w.bound_at, w.ended_at, %(now)s) - w.created_at))::bigint,
           w.bound_at IS NOT NULL
    FROM scheduler_view_waitrecord w JOIN (
        SELECT wait_id, cause, resource, model, max(units) AS units, min(since) AS since
        FROM scheduler_view_waitstretch WHERE until >= %(since)s
        GROUP BY wait_id, cause, resource, model
    ) s ON s.wait_id = w.id
    WHERE w.cluster_id = %(cluster)s AND w.created_at IS NOT NULL
      AND (w.bound_at IS NULL OR w.bound_at BETWEEN s.since AND %(now)s)
"""  # bound before it waited: a service that grows, whose first wait is known only
