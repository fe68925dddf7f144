"""Which five-minute facts are stored, and whether a range needs expired ones (N32)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection

from accounting.core.interval import WINDOW_MS, Interval
from accounting.core.read_once import read_once

# An hour without facts in its period had some: they have expired, cluster by cluster.
_KEPT = """
    SELECT min(oldest), max(newest), bool_or(has_expired),
           max(oldest) FILTER (WHERE has_expired)
    FROM (
        SELECT oldest, newest, EXISTS (
            SELECT 1 FROM usage_hour h
            WHERE h.cluster_id = c.id
              AND h.hour_start >= date_trunc('hour', %(start)s::timestamptz, 'UTC')
              AND h.hour_start < least(
                  %(end)s, date_trunc('hour', coalesce(oldest, 'infinity'), 'UTC'))
        ) AS has_expired
        FROM accounting_cluster c
        LEFT JOIN LATERAL (
            SELECT w.window_start FROM usage_window w
            WHERE w.cluster_id = c.id ORDER BY w.window_start LIMIT 1
        ) AS first(oldest) ON true
        LEFT JOIN LATERAL (
            SELECT w.window_start FROM usage_window w
            WHERE w.cluster_id = c.id ORDER BY w.window_start DESC LIMIT 1
        ) AS last(newest) ON true
        WHERE %(clusters)s::text[] IS NULL OR c.name = ANY(%(clusters)s)
    ) kept
"""


@dataclass(frozen=True, slots=True)
class StoredFacts:
    """The stored facts, and the missing part of a range.

    Attributes:
        period: from the first to the last stored fact; None without any.
        has_expired: facts at the start of the range have expired.
        complete_from: the earliest possible start; None if no facts are left.
    """

    period: Interval | None
    has_expired: bool
    complete_from: datetime | None


@read_once
def kept_facts(asked: Interval | None, clusters: Sequence[str] | None) -> StoredFacts:
    """The stored facts of some clusters (None: of all); one query.

    Args:
        asked: the range; None, or a range with an open start, means all stored facts.
    """
    is_open = asked is None or asked.start_ms == 0
    values = {
        "start": "infinity" if is_open or asked is None else asked.start,
        "end": "infinity" if asked is None else asked.end,
        "clusters": None if clusters is None else list(clusters),
    }
    with connection.cursor() as cursor:
        cursor.execute(_KEPT, values)
        first, last, has_expired, complete_from = cursor.fetchone()
    period = None
    if first is not None:
        period = Interval.of(first, last + timedelta(milliseconds=WINDOW_MS))
    return StoredFacts(period, bool(has_expired), complete_from)
