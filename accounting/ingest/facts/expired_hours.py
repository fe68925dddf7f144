"""Hours whose five-minute facts have expired: their time is kept, their prices may change (N32).

What can no longer be computed is kept: teams, and the profiles of instances that no price
distinguished.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import connection

from accounting.domain.core.interval import Interval
from accounting.rating.charge_sql import KEY_COLUMNS
from accounting.rating.price_sql import LINE_PRICE, OWN_PRICE
from accounting.rating.states_sql import STATE_COLUMNS

_KEY = ", ".join(KEY_COLUMNS)
_KEPT = ", ".join(f"c.{name}" for name in KEY_COLUMNS[:-2])
_SUMMED = (*STATE_COLUMNS, "estimated_ms", "samples_expected", "samples_used")
_SUMS = ", ".join(f"sum(c.{name})::bigint AS {name}" for name in _SUMMED)
_PRICES = "rate, cost, gpu_rate, gpu_cost, currency"
_HAS_EXPIRED = """
    SELECT EXISTS (SELECT FROM usage_hour
                   WHERE cluster_id = %(cluster)s AND hour_start = %(start)s)
       AND NOT EXISTS (SELECT FROM usage_window WHERE cluster_id = %(cluster)s
                       AND window_start >= %(start)s AND window_start < %(end)s)
"""
_AGAIN = f"""
CREATE TEMPORARY TABLE again ON COMMIT DROP AS
WITH piece AS (
    SELECT billing_on, min(at) AS at
    FROM unnest(%(cuts)s::timestamptz[], %(days)s::date[]) AS t(at, billing_on)
    GROUP BY billing_on
), c AS (
    SELECT u.*, coalesce(t.at, u.hour_start) AS at, coalesce(p.profile, '') AS profile
    FROM usage_hour u
    LEFT JOIN piece t USING (billing_on)
    LEFT JOIN accounting_unitprice p ON p.id = u.price_id
    WHERE u.cluster_id = %(cluster)s AND u.hour_start = %(start)s
)
SELECT c.cluster_id, c.hour_start, {_KEPT},
       coalesce(line.id, 0) AS price_id, coalesce(own.id, 0) AS gpu_price_id, {_SUMS},
       max(line.rate) AS rate, max(own.cost) AS cost, max(own.rate) AS gpu_rate,
       max(own.cost) AS gpu_cost, coalesce(max(line.currency), '') AS currency
FROM c
LEFT JOIN LATERAL ({LINE_PRICE}) line ON true
LEFT JOIN LATERAL ({OWN_PRICE}) own ON true
GROUP BY c.cluster_id, c.hour_start, {_KEPT}, line.id, own.id
"""
_WRITE = f"""
INSERT INTO usage_hour (cluster_id, hour_start, {_KEY}, {", ".join(_SUMMED)}, {_PRICES})
SELECT cluster_id, hour_start, {_KEY}, {", ".join(_SUMMED)}, {_PRICES} FROM again
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
    """Apply the current prices to an hour's rows, in the current transaction.

    Args:
        values: `rating.charge_sql.parameters` of the hour.
    """
    with connection.cursor() as cursor:
        cursor.execute(_AGAIN, values)
        cursor.execute(
            """DELETE FROM usage_hour
               WHERE cluster_id = %(cluster)s AND hour_start = %(start)s""",
            values,
        )
        cursor.execute(_WRITE)
        cursor.execute("DROP TABLE again")
