"""Makes windows due: new ones, those that late samples change, those to be read again (N1)."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from django.conf import settings
from django.db import connection

from accounting.domain.core.interval import FAR_MS, WINDOW_MS, Interval, to_instant

ASKED_AGAIN_DAYS = 7  # Prometheus may have forgotten what is older (N1)
ASKED = "asked"  # the reason of windows that somebody asked for


def mark(
    cluster_id: int, periods: Iterable[Interval], reason: str, *, create: bool
) -> int:
    """Make the windows that periods touch pending; returns how many changed.

    Whatever the reason, they are computed again; only `read_again` may find that nothing
    has changed.

    Args:
        cluster_id: whose windows.
        periods: half-open; merged here.
        reason: shown in data health, e.g. `new`, `late`, `again`.
        create: also windows that have no row yet.
    """
    starts = sorted({w.start_ms for period in periods for w in period.windows()})
    return sum(
        _mark(cluster_id, starts[i : i + 5000], reason, create=create)
        for i in range(0, len(starts), 5000)
    )


def ask(cluster_id: int, period: Interval, *, create: bool) -> int:
    """Make the windows of a period pending because somebody asked for it.

    Where an earlier request for some of them was stopped, what it had computed stays: so the
    same request again goes on, and two of them beside each other share the work.

    Args:
        cluster_id: whose windows.
        period: half-open, on window borders.
        create: also windows that have no row yet.

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
    """Mark windows by their starts; `but` is a constant condition of those that stay."""
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
    """Ask a period's samples again (N1): windows that are done become pending.

    Their `reading_hash` stays: where the same samples come, nothing is computed.
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


# Samples of scrapes and files are kept as long as facts (decision 0006): what is older than
# the oldest kept hour and the one before it may be gone.
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

# Windows whose samples are available. A Prometheus keeps its own as long as it likes, so it is
# asked for the last week again (N1), and for what it still knew within a day, as a backfill
# needs, however old that is.
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
    """Until when a period cannot be computed again: its samples are not kept any more.

    Such windows would lose what they know. None where there is none of them.
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
    """Make windows that are done pending again, as far back as samples are available.

    Without its samples a window would lose what it knows: older ones stay as they are.

    Args:
        cluster_id: whose windows.
        periods: half-open; windows that touch them.
        reason: shown in data health.

    Returns:
        How many changed.
    """
    count = 0
    with connection.cursor() as cursor:
        for period in periods:
            cursor.execute(
                f"""
                UPDATE accounting_ingestwindow
                SET state = 'pending', fence = fence + 1, reason = %(reason)s,
                    next_attempt_at = NULL, reading_hash = NULL
                WHERE cluster_id = %(cluster)s AND shard = 0
                  AND (state <> 'pending' OR reading_hash IS NOT NULL)
                  AND window_start > %(after)s AND window_start < %(before)s
                  AND {_AT_HAND}
                """,  # a constant
                {
                    "reason": reason,
                    "cluster": cluster_id,
                    "after": to_instant(period.start_ms - WINDOW_MS),
                    "before": to_instant(min(period.end_ms, FAR_MS)),
                    "kept_days": settings.FACT_DAYS,
                    "again_days": ASKED_AGAIN_DAYS,
                },
            )
            count += cursor.rowcount
    return count


def is_at_hand(cluster_id: int, window: Interval) -> bool:
    """True where the samples of a window can still be read, or it was never computed."""
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
    """Make the windows of hours pending whose facts have expired; they are written again."""
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
    """From when on the samples of a cluster's windows can still be read, in ms."""
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
