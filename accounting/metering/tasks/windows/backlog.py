"""Which windows may be computed now, and how many of a cluster are not done."""

from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from accounting.core.interval import Interval, to_instant

SESSIONS = """  -- of this database server: a claim whose session ended is free
    SELECT pid, backend_start AS start FROM pg_stat_activity
"""
HAS_ENDED = """  -- a window of a live cluster is first read 30 s after its end (N1)
    (window_start + interval '330 seconds' <= clock_timestamp()
     OR NOT EXISTS (SELECT FROM accounting_source s
                    WHERE s.cluster_id = %(cluster)s AND s.is_active
                      AND s.kind <> 'openmetrics'))
"""
IS_LOST = """
    (state = 'claimed'
     AND (lease_until < clock_timestamp() OR NOT EXISTS (
         SELECT FROM session s
         WHERE s.pid = worker_pid
           AND (s.start IS NULL  -- hidden: another role's
                OR s.start = worker_since))))
"""
IS_DUE = f"""
    {HAS_ENDED}
    AND (state = 'pending'
         OR (state IN ('failed', 'partial')
             AND next_attempt_at <= coalesce(%(as_of)s::timestamptz, clock_timestamp()))
         OR {IS_LOST})
"""


@dataclass(frozen=True, slots=True)
class Backlog:
    """Windows that are not done.

    Attributes:
        due: can be computed now.
        claimed: another worker is computing them.
        failed: their source failed; they wait for their next attempt.
        partial: their source returned an incomplete response; they are read again.
        error: the newest message of a failed one.
    """

    due: int
    claimed: int
    failed: int
    partial: int = 0
    error: str = ""


_BACKLOG = f"""
    WITH session AS MATERIALIZED ({SESSIONS}), open AS (
        SELECT state, last_error, window_start, {IS_DUE} AS is_due
        FROM accounting_ingestwindow
        WHERE cluster_id = %(cluster)s AND shard = 0
          AND state IN ('pending', 'claimed', 'failed', 'partial')
          AND (%(low)s::timestamptz IS NULL
               OR (window_start >= %(low)s AND window_start < %(high)s)
                  <> %(is_outside)s)
    )
    SELECT count(*) FILTER (WHERE is_due),
           count(*) FILTER (WHERE NOT is_due AND state = 'claimed'),
           count(*) FILTER (WHERE NOT is_due AND state = 'failed'),
           count(*) FILTER (WHERE NOT is_due AND state = 'partial'),
           coalesce((array_agg(last_error ORDER BY window_start DESC)
                     FILTER (WHERE state = 'failed'))[1], '')
    FROM open
"""


def backlog(
    cluster_id: int,
    within: Interval | None = None,
    *,
    is_outside: bool = False,
    as_of: datetime | None = None,
) -> Backlog:
    """The unfinished windows of a cluster.

    Args:
        cluster_id: of the windows.
        within: only windows that start in this period.
        is_outside: only windows that do not.
        as_of: attempts that are due after this instant wait; None: after now.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            _BACKLOG,
            {
                "cluster": cluster_id,
                "low": to_instant(within.start_ms) if within else None,
                "high": to_instant(within.end_ms) if within else None,
                "is_outside": is_outside,
                "as_of": as_of,
            },
        )
        return Backlog(*cursor.fetchone())
