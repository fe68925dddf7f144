"""Makes windows due: new ones, those that late samples change, and those to read again (N1)."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from django.conf import settings
from django.db import connection

from accounting.core.interval import (
    FAR_MS,
    WINDOW_MS,
    Interval,
    to_instant,
    union,
    window_of,
)

ASKED_AGAIN_DAYS = 7  # Prometheus may have deleted older samples (N1)
ASKED = "asked"  # the reason of windows that a person requested


def mark(
    cluster_id: int, periods: Iterable[Interval], reason: str, *, create: bool
) -> int:
    """Make the windows that periods overlap pending; returns how many changed.

    They are recomputed in any case; only windows of `read_again` may be found unchanged.

    Args:
        cluster_id: of the windows.
        periods: half-open; merged here.
        reason: shown in data health, such as `new`, `late`, `again`.
        create: also windows without a row.
    """
    starts = sorted({w.start_ms for period in periods for w in period.windows()})
    return sum(
        _mark(cluster_id, starts[i : i + 5000], reason, create=create)
        for i in range(0, len(starts), 5000)
    )


def ask(cluster_id: int, period: Interval, *, create: bool) -> int:
    """Make the windows of a period pending because a person requested it.

    Windows that an earlier, stopped request computed are kept: so the same request continues, and
    two parallel requests share the work.

    Args:
        cluster_id: of the windows.
        period: half-open, on window boundaries.
        create: also windows without a row.

    Returns:
        How many windows of the period were computed by an earlier request.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT count(*) FILTER (WHERE NOT {_IS_OPEN})
                FROM accounting_ingestwindow w
                WHERE cluster_id = %s AND shard = 0
                  AND window_start >= %s AND window_start < %s
                  AND ({_IS_OPEN} OR {_IS_ANSWERED}) HAVING bool_or({_IS_OPEN})""",
            [cluster_id, period.start, period.end],
        )
        found = cursor.fetchone()
    starts = range(period.start_ms, period.end_ms, WINDOW_MS)
    but = f"({_IS_OPEN} OR {_IS_ANSWERED})" if found else "false"
    for i in range(0, len(starts), 5000):
        _mark(cluster_id, starts[i : i + 5000], ASKED, create=create, but=but)
    return int(found[0]) if found else 0


_IS_OPEN = f"(w.reason = '{ASKED}' AND w.state IN ('pending', 'claimed'))"
_IS_ANSWERED = f"""
    (w.reason = '{ASKED}' AND w.state IN ('done', 'partial')
     AND w.read_at >= statement_timestamp() - interval '1 day')
"""


def _mark(
    cluster_id: int,
    starts: Sequence[int],
    reason: str,
    *,
    create: bool,
    but: str = "false",
) -> int:
    """Mark windows by their starts; `but` is a constant condition for windows to skip."""
    instants = [to_instant(ms) for ms in starts]
    with connection.cursor() as cursor:
        if create:
            cursor.execute(
                f"""
                INSERT INTO accounting_ingestwindow AS w
                    (cluster_id, shard, window_start, state, fence, worker_host, attempts,
                     last_error, reason, rows, samples_expected, samples_seen, read_ms)
                SELECT %s, 0, at, 'pending', 0, '', 0, '', %s, 0, 0, 0, 0
                FROM unnest(%s::timestamptz[]) AS at
                ON CONFLICT (cluster_id, shard, window_start) DO UPDATE
                    SET state = 'pending', fence = w.fence + 1,
                        reason = excluded.reason, next_attempt_at = NULL,
                        reading_hash = NULL
                    WHERE NOT {but}
                """,
                [cluster_id, reason, instants],
            )
        else:
            cursor.execute(
                f"""
                UPDATE accounting_ingestwindow w
                SET state = 'pending', fence = fence + 1, reason = %s,
                    next_attempt_at = NULL, reading_hash = NULL
                WHERE cluster_id = %s AND shard = 0
                  AND window_start = ANY(%s::timestamptz[]) AND NOT {but}
                """,
                [reason, cluster_id, instants],
            )
        return int(cursor.rowcount)


def read_again(cluster_id: int, period: Interval) -> None:
    """Read a period's samples again (N1): computed windows become pending.

    Their `reading_hash` is kept: if the samples are the same, nothing is recomputed.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE accounting_ingestwindow
            SET state = 'pending', fence = fence + 1, reason = 'again',
                next_attempt_at = NULL
            WHERE cluster_id = %s AND shard = 0 AND state <> 'pending'
              AND window_start >= %s AND window_start < %s
            """,
            [cluster_id, to_instant(period.start_ms), to_instant(period.end_ms)],
        )


# Samples of scrapes and files are kept as long as facts (decision 0006): samples older than
# the oldest stored hour and the one before it may be gone.
_KEPT_FROM = """
    least(
        (SELECT max(n.at) - make_interval(days => %(kept_days)s)
         FROM accounting_cluster c CROSS JOIN LATERAL (
             SELECT max(window_start) AS at FROM accounting_ingestwindow
             WHERE cluster_id = c.id AND shard = 0
         ) n),
        (SELECT min(hour_start) + interval '1 hour' FROM accounting_bufferblock
         WHERE source_id IN (SELECT id FROM accounting_source
                             WHERE cluster_id = %(cluster)s AND is_active))
    )
"""
_IS_KEPT = """
    EXISTS (SELECT FROM accounting_source WHERE cluster_id = %(cluster)s
            AND kind <> 'prometheus' AND is_active)
"""

# Windows whose samples are available. A Prometheus has its own retention, so it is queried
# again for the last week (N1), and for older time that it still had within the last day, as a
# backfill needs.
_AT_HAND = f"""
    (NOT {_IS_KEPT} OR window_start >= {_KEPT_FROM})
    AND (NOT EXISTS (SELECT FROM accounting_source WHERE cluster_id = %(cluster)s
                     AND kind = 'prometheus' AND is_active)
         OR read_at >= statement_timestamp() - interval '1 day'
         OR window_start >= (
             SELECT max(window_start) - make_interval(days => %(again_days)s)
             FROM accounting_ingestwindow
             WHERE cluster_id = %(cluster)s AND shard = 0
         ))
"""


def lost_before(cluster_id: int, period: Interval) -> datetime | None:
    """Until when a period cannot be recomputed, because its samples are no longer stored.

    Such windows would lose their time. None if there are none.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT kept FROM (SELECT {_KEPT_FROM} AS kept WHERE {_IS_KEPT}) k
            WHERE EXISTS (SELECT FROM accounting_ingestwindow
                          WHERE cluster_id = %(cluster)s AND shard = 0 AND rows > 0
                            AND window_start >= %(low)s
                            AND window_start < least(kept, %(high)s))
            """,
            {
                "cluster": cluster_id,
                "kept_days": settings.FACT_DAYS,
                "low": period.start,
                "high": period.end,
            },
        )
        found = cursor.fetchone()
    return found[0] if found else None


def mark_existing(cluster_id: int, periods: Sequence[Interval], reason: str) -> int:
    """Make computed windows pending again, as far back as samples are available.

    A window without samples would lose its time, so older ones do not change.

    Args:
        cluster_id: of the windows.
        periods: half-open; windows that overlap them, and the window around an empty one. Merged
            here: one statement for each stretch of windows, since a new cluster changes a hold of
            each of its pods.
        reason: shown in data health.

    Returns:
        The number of changed windows.
    """
    count = 0
    whole = union(
        Interval(window_of(period.start_ms).start_ms, _ceiling(period.end_ms))
        for period in periods
    )
    with connection.cursor() as cursor:
        for stretch in whole:
            cursor.execute(
                f"""
                UPDATE accounting_ingestwindow
                SET state = 'pending', fence = fence + 1, reason = %(reason)s,
                    next_attempt_at = NULL, reading_hash = NULL
                WHERE cluster_id = %(cluster)s AND shard = 0
                  AND (state <> 'pending' OR reading_hash IS NOT NULL)
                  AND window_start >= %(low)s AND window_start < %(high)s
                  AND {_AT_HAND}
                """,  # a constant
                {
                    "reason": reason,
                    "cluster": cluster_id,
                    "low": stretch.start,
                    "high": to_instant(min(stretch.end_ms, FAR_MS)),
                    "kept_days": settings.FACT_DAYS,
                    "again_days": ASKED_AGAIN_DAYS,
                },
            )
            count += cursor.rowcount
    return count


def _ceiling(instant_ms: int) -> int:
    """The end of the last window that begins before an instant."""
    return -(-instant_ms // WINDOW_MS) * WINDOW_MS


def is_at_hand(cluster_id: int, window: Interval) -> bool:
    """True if the samples of a window can still be read, or it was never computed."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT count(*) = count(*) FILTER (WHERE {_AT_HAND})
            FROM accounting_ingestwindow
            WHERE cluster_id = %(cluster)s AND shard = 0 AND window_start = %(start)s
              AND content_hash IS NOT NULL
            """,  # a constant
            {
                "cluster": cluster_id,
                "start": window.start,
                "kept_days": settings.FACT_DAYS,
                "again_days": ASKED_AGAIN_DAYS,
            },
        )
        return bool(cursor.fetchone()[0])


def compute_lost(cluster_id: int, hours: Sequence[datetime]) -> None:
    """Make windows pending whose facts have expired; the facts are written again."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE accounting_ingestwindow w
            SET state = 'pending', fence = fence + 1, reason = 'expired',
                next_attempt_at = NULL, reading_hash = NULL, content_hash = NULL
            FROM unnest(%s::timestamptz[]) AS h(hour)
            WHERE cluster_id = %s AND shard = 0 AND state IN ('done', 'partial')
              AND window_start >= hour AND window_start < hour + interval '1 hour'
              AND rows > 0 AND NOT EXISTS (
                  SELECT FROM usage_window u WHERE u.cluster_id = w.cluster_id
                  AND u.window_start = w.window_start)
            """,
            [list(hours), cluster_id],
        )


def at_hand_from(cluster_id: int) -> int:
    """From when on the samples of a cluster's windows can still be read, in ms since 1970."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT coalesce((extract(epoch FROM min(window_start)) * 1000)::bigint, 0)
            FROM accounting_ingestwindow
            WHERE cluster_id = %(cluster)s AND shard = 0 AND {_AT_HAND}
            """,  # a constant
            {
                "cluster": cluster_id,
                "kept_days": settings.FACT_DAYS,
                "again_days": ASKED_AGAIN_DAYS,
            },
        )
        return int(cursor.fetchone()[0])
