"""The time of billing days against that of their five-minute facts (I5).

A day is compared while all of its facts are kept. Not of days with an hour that is not rolled up.
"""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

from accounting.access.reads.billing_settings import (
    billing_day,
    billing_remembered,
    midnight,
)
from accounting.core.interval import Interval, to_ms
from accounting.kit.reads.selection import stored_period
from accounting.metering.sql.states_sql import wall

DAY = timedelta(days=1)


@billing_remembered()
def bounds(days: Sequence[date]) -> dict[str, Any]:
    """Parameters of `UNLIKE_FACTS`: billing days in order, and where each begins and ends."""
    edges = [to_ms(midnight(day)) for day in (*days, *(day + DAY for day in days[-1:]))]
    return {"days": list(days), "lows": edges[:-1], "highs": edges[1:]}


def stored_days(period: Interval) -> list[date]:
    """The billing days that a period overlaps and that have facts, in order."""
    kept = stored_period()
    found = kept.intersection(period) if kept else None
    if found is None or not found.length_ms:
        return []
    with billing_remembered():
        first = billing_day(found.start)
        last = billing_day(found.end - timedelta(milliseconds=1))
    return [first + DAY * number for number in range((last - first).days + 1)]


# Facts are summed by window first: few rows are then joined with days.
UNLIKE_FACTS = f"""
    WITH day AS (
        SELECT billing_on, to_timestamp(low / 1000.0) AS low,
               to_timestamp(high / 1000.0) AS high
        FROM unnest(%(days)s::date[], %(lows)s::bigint[], %(highs)s::bigint[])
            AS d(billing_on, low, high)
    ), fact AS (
        SELECT cluster_id, window_start, sum({wall()})::bigint AS ms
        FROM usage_window
        WHERE window_start >= to_timestamp((%(lows)s::bigint[])[1] / 1000.0)
          AND window_start < to_timestamp(
                (%(highs)s::bigint[])[cardinality(%(highs)s::bigint[])] / 1000.0)
        GROUP BY cluster_id, window_start
    ), measured AS (
        SELECT f.cluster_id, d.billing_on, d.low, d.high, sum(f.ms)::bigint AS ms
        FROM fact f JOIN day d ON f.window_start >= d.low AND f.window_start < d.high
        GROUP BY f.cluster_id, d.billing_on, d.low, d.high
    ), charged AS (
        SELECT cluster_id, billing_on, sum({wall()})::bigint AS ms FROM usage_day
        WHERE billing_on = ANY(%(days)s::date[])
        GROUP BY cluster_id, billing_on
    )
    SELECT c.name || ' ' || m.billing_on AS subject, coalesce(b.ms, 0) AS charged_ms,
           m.ms AS measured_ms
    FROM measured m
    JOIN accounting_cluster c ON c.id = m.cluster_id
    LEFT JOIN charged b USING (cluster_id, billing_on)
    WHERE coalesce(b.ms, 0) <> m.ms
      AND NOT EXISTS (SELECT FROM accounting_dirtyhour d
                      WHERE d.cluster_id = m.cluster_id
                        AND d.hour_start > m.low - interval '1 hour'
                        AND d.hour_start < m.high)
      AND NOT EXISTS (SELECT FROM accounting_ingestwindow w
                      WHERE w.cluster_id = m.cluster_id AND w.shard = 0 AND w.rows > 0
                        AND w.window_start >= m.low AND w.window_start < m.high
                        AND NOT EXISTS (SELECT FROM fact f
                                        WHERE f.cluster_id = w.cluster_id
                                          AND f.window_start = w.window_start))
"""
