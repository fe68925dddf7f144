"""Hours whose five-minute facts have expired: their time is kept, their prices may change (N32).

What can no longer be computed is kept: teams, and the profiles of instances that no price
distinguished.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import connection

from accounting.core.interval import Interval
from accounting.prices import tasks as reprice
from accounting.prices.sql.charge_sql import GPU_COLUMNS

_HAS_EXPIRED = """
    SELECT EXISTS (SELECT FROM usage_hour
                   WHERE cluster_id = %(cluster)s AND hour_start = %(start)s)
       AND NOT EXISTS (SELECT FROM usage_window WHERE cluster_id = %(cluster)s
                       AND window_start >= %(start)s AND window_start < %(end)s)
"""
_TORN = """
    SELECT hour FROM (
        SELECT h.hour, EXISTS (
            SELECT FROM usage_window u
            WHERE u.cluster_id = w.cluster_id AND u.window_start = w.window_start
        ) AS is_there
        FROM unnest(%(hours)s::timestamptz[]) AS h(hour)
        JOIN accounting_ingestwindow w
          ON w.window_start >= h.hour AND w.window_start < h.hour + interval '1 hour'
        WHERE w.cluster_id = %(cluster)s AND w.shard = 0 AND w.rows > 0
    ) windows GROUP BY hour HAVING bool_or(is_there) AND NOT bool_and(is_there)
"""


def torn_hours(cluster_id: int, hours: Sequence[datetime]) -> list[datetime]:
    """Those of some hours with facts of only some of their windows; the others have expired."""
    with connection.cursor() as cursor:
        cursor.execute(_TORN, {"cluster": cluster_id, "hours": list(hours)})
        return [hour for (hour,) in cursor.fetchall()]


def widened(cluster_id: int, period: Interval) -> Interval:
    """A period, extended by all hours at its ends whose facts have expired."""
    start_ms, end_ms = period.start_ms, period.end_ms
    for hour in period.hours():
        is_cut = hour.start_ms < start_ms or end_ms < hour.end_ms
        values = {"cluster": cluster_id, "start": hour.start, "end": hour.end}
        if is_cut and has_expired(values):
            start_ms = min(start_ms, hour.start_ms)
            end_ms = max(end_ms, hour.end_ms)
    return Interval(start_ms, end_ms)


def has_expired(values: dict[str, Any]) -> bool:
    """True if an hour is rolled up and none of its facts are left."""
    with connection.cursor() as cursor:
        cursor.execute(_HAS_EXPIRED, values)
        return bool(cursor.fetchone()[0])


def price_again(values: dict[str, Any]) -> None:
    """Apply the current prices to an hour's rows, also to those by GPU, in the current transaction.

    Args:
        values: `prices.sql.charge_sql.parameters` of the hour.
    """
    where = "u.hour_start = %(start)s"
    reprice.rows("usage_hour", ("hour_start",), where, values)
    reprice.rows("usage_gpu_hour", ("hour_start", *GPU_COLUMNS), where, values)
