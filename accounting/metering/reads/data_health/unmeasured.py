"""Held time without any metric, by node."""

from django.db import connection

from accounting.core.interval import Interval
from accounting.metering.models.usage import UtilizationMetric


def unmeasured_ms(cluster_id: int, period: Interval) -> dict[str, int]:
    """Unknown milliseconds of holds without any metric, by node; only values above 0."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT n.name, sum(w.unknown_ms)::bigint
            FROM usage_window w JOIN accounting_node n ON n.id = w.node_id
            WHERE w.cluster_id = %s AND w.window_start >= %s AND w.window_start < %s
              AND w.pod_id <> 0 AND w.metric = %s AND w.unknown_ms > 0
            GROUP BY n.name
            """,
            [cluster_id, period.start, period.end, UtilizationMetric.NONE],
        )
        return dict(cursor.fetchall())
