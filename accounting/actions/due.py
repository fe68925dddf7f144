"""Makes windows due: new ones, those that late samples change, those to be read again (N1)."""

from collections.abc import Iterable, Sequence

from django.db import connection

from accounting.actions.partitions import FACT_DAYS
from accounting.domain.period import FAR_MS, WINDOW_MS, Period, to_instant

ASKED_AGAIN_DAYS = 7  # Prometheus may have forgotten what is older (N1)


def mark(
    cluster_id: int, periods: Iterable[Period], reason: str, *, create: bool
) -> int:
    """Make the windows that periods touch pending; returns how many changed.

    Whatever the reason, they are computed anew; only `read_again` may find that nothing
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


def _mark(cluster_id: int, starts: Sequence[int], reason: str, *, create: bool) -> int:
    instants = [to_instant(ms) for ms in starts]
    with connection.cursor() as cursor:
        if create:
            cursor.execute(
                """
                INSERT INTO accounting_ingestwindow
                    (cluster_id, shard, window_start, state, fence, worker, attempts,
                     last_error, reason, rows, samples_expected, samples_seen, read_ms)
                SELECT %s, 0, at, 'pending', 0, '', 0, '', %s, 0, 0, 0, 0
                FROM unnest(%s::timestamptz[]) AS at
                ON CONFLICT (cluster_id, shard, window_start) DO UPDATE
                    SET state = 'pending', fence = accounting_ingestwindow.fence + 1,
                        reason = excluded.reason, next_attempt_at = NULL,
                        reading_hash = NULL
                """,
                [cluster_id, reason, instants],
            )
        else:
            cursor.execute(
                """
                UPDATE accounting_ingestwindow
                SET state = 'pending', fence = fence + 1, reason = %s,
                    next_attempt_at = NULL, reading_hash = NULL
                WHERE cluster_id = %s AND shard = 0
                  AND window_start = ANY(%s::timestamptz[])
                """,
                [reason, cluster_id, instants],
            )
        return int(cursor.rowcount)


def read_again(cluster_id: int, period: Period) -> None:
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


# Windows whose samples are at hand: those of scrapes and files are kept as long as facts
# (decision 0006); a Prometheus keeps its own as long as it likes, so it is asked for the last
# week again (N1), and for what it still knew within a day, as a backfill needs.
_AT_HAND = """
    window_start >= (
        SELECT max(window_start) - make_interval(days => %(kept_days)s)
        FROM accounting_ingestwindow
        WHERE cluster_id = %(cluster)s AND shard = 0
    )
    AND (NOT EXISTS (SELECT FROM accounting_source WHERE cluster_id = %(cluster)s
                     AND kind = 'prometheus' AND is_active)
         OR read_at >= statement_timestamp() - interval '1 day'
         OR window_start >= (
             SELECT max(window_start) - make_interval(days => %(again_days)s)
             FROM accounting_ingestwindow
             WHERE cluster_id = %(cluster)s AND shard = 0
         ))
"""


def mark_existing(cluster_id: int, periods: Sequence[Period], reason: str) -> int:
    """Make windows that are done pending again, as far back as samples are at hand.

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
                    "kept_days": FACT_DAYS,
                    "again_days": ASKED_AGAIN_DAYS,
                },
            )
            count += cursor.rowcount
    return count


def is_at_hand(cluster_id: int, window: Period) -> bool:
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
                "kept_days": FACT_DAYS,
                "again_days": ASKED_AGAIN_DAYS,
            },
        )
        return bool(cursor.fetchone()[0])
