"""Days by GPU whose hours by GPU have expired: their time is kept, their prices may change.

Hours by GPU are kept for 92 days only (rules.md N32); hours without GPUs are kept for 13
months and may be recomputed until then. A day by GPU that can no longer be made equal to the
day without GPUs is deleted: reports by GPU then refuse that day instead of returning different
numbers.
"""

from datetime import date, timedelta
from typing import Any

from django.db import connection

from accounting.access.reads.billing_settings import midnight
from accounting.metering.sql.states_sql import STATE_COLUMNS
from accounting.prices import tasks as reprice
from accounting.prices.sql.charge_sql import GPU_COLUMNS

_MISSING_HOUR = """
    SELECT EXISTS (
        SELECT FROM (
            SELECT DISTINCT hour_start FROM usage_hour
            WHERE cluster_id = %(cluster)s AND billing_on = ANY(%(days)s)
              AND hour_start >= %(low)s AND hour_start < %(high)s
        ) h
        LEFT JOIN LATERAL (
            SELECT true FROM usage_gpu_hour g
            WHERE g.cluster_id = %(cluster)s AND g.hour_start = h.hour_start
              AND g.billing_on = ANY(%(days)s) LIMIT 1
        ) AS by_gpu(is_there) ON true
        WHERE by_gpu.is_there IS NULL)
"""
_SETTLED = """
    SELECT EXISTS (SELECT FROM usage_gpu_day
                   WHERE cluster_id = %(cluster)s AND billing_on = %(day)s)
       AND NOT EXISTS (SELECT FROM accounting_dirtyhour
                       WHERE cluster_id = %(cluster)s
                         AND hour_start > %(start)s::timestamptz - interval '1 hour'
                         AND hour_start < %(end)s)
"""
_SUMS = ", ".join(f"sum({name}) AS {name}" for name in STATE_COLUMNS)
_DIFFER = f"""
    SELECT EXISTS (
        SELECT FROM (
            SELECT price_id, gpu_price_id, {_SUMS}
            FROM usage_day WHERE cluster_id = %(cluster)s AND billing_on = %(day)s
            GROUP BY price_id, gpu_price_id
        ) a FULL JOIN (
            SELECT price_id, gpu_price_id, {_SUMS}
            FROM usage_gpu_day WHERE cluster_id = %(cluster)s AND billing_on = %(day)s
            GROUP BY price_id, gpu_price_id
        ) b USING (price_id, gpu_price_id, {", ".join(STATE_COLUMNS)})
        WHERE a IS NULL OR b IS NULL)
"""


def has_every_hour(values: dict[str, Any]) -> bool:
    """Whether every hour of a billing day is kept by GPU.

    Args:
        values: `cluster`; `days`, the one day; `low` and `high`, bounds around its hours.
    """
    with connection.cursor() as cursor:
        cursor.execute(_MISSING_HOUR, values)
        return not cursor.fetchone()[0]


def _is_settled(cluster_id: int, day: date) -> bool:
    """Whether a day is stored by GPU and none of its hours is pending."""
    with connection.cursor() as cursor:
        cursor.execute(
            _SETTLED,
            {
                "cluster": cluster_id,
                "day": day,
                "start": midnight(day),
                "end": midnight(day + timedelta(days=1)),
            },
        )
        return bool(cursor.fetchone()[0])


def price_again(cluster_id: int, day: date) -> None:
    """Apply current prices to a day by GPU; delete it if it then differs from the day without GPUs.

    It differs if a price begins or ends within the day: its rows cannot be divided any more. A day
    with pending hours is skipped; the last of them marks it again.
    """
    if not _is_settled(cluster_id, day):
        return
    values: dict[str, Any] = {"cluster": cluster_id, "day": day}
    reprice.rows(
        "usage_gpu_day",
        GPU_COLUMNS,
        "u.billing_on = %(day)s",
        values | {"cuts": [midnight(day)], "days": [day]},
    )
    with connection.cursor() as cursor:
        cursor.execute(_DIFFER, values)
        if not cursor.fetchone()[0]:
            return
        for table in ("usage_gpu_day", "intensity_gpu_day"):
            cursor.execute(
                f"""DELETE FROM {table}
                    WHERE cluster_id = %(cluster)s AND billing_on = %(day)s""",
                values,
            )
