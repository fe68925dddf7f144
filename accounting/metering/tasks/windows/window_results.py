"""Results of windows: computed, unchanged, released or failed.

Every change of state is one conditional statement: a commit whose fence is not the row's is
rejected (invariant I13).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection, transaction

from accounting.core.interval import Interval, to_instant
from accounting.metering.models.ledger import WindowState
from accounting.metering.tasks.windows.leases import WindowLease, WindowLeaseLostError

LONGEST_DELAY_S = 3600


@dataclass(frozen=True, slots=True)
class WindowResult:
    """The result of one window."""

    window: Interval
    rows: int
    content_hash: bytes
    samples_expected: int
    samples_seen: int
    is_partial: bool
    read_ms: int
    reading_hash: bytes | None = None


_FINISH = """
    UPDATE accounting_ingestwindow w
    SET state = CASE WHEN o.is_partial THEN %s ELSE %s END, content_hash = o.content_hash,
        rows = o.rows, samples_expected = o.expected, samples_seen = o.seen,
        read_ms = o.read_ms, read_at = clock_timestamp(), lease_until = NULL,
        last_error = '', attempts = 0, reading_hash = o.reading_hash,
        next_attempt_at =
            CASE WHEN o.is_partial THEN clock_timestamp() + interval '5 minutes' END
    FROM unnest(%s::timestamptz[], %s::bigint[], %s::bytea[], %s::int[], %s::int[],
                %s::int[], %s::int[], %s::bool[], %s::bytea[])
         AS o(at, fence, content_hash, rows, expected, seen, read_ms, is_partial,
              reading_hash)
    WHERE w.cluster_id = %s AND w.shard = 0 AND w.window_start = o.at AND w.fence = o.fence
"""

# If no issue can be resolved, only the rows of the window ledger are written.
_FINISH_QUIETLY = f"""{_FINISH}
      AND NOT EXISTS (SELECT FROM accounting_dataissue i
                      WHERE i.cluster_id = w.cluster_id AND i.resolved_at IS NULL)
"""


def finish(claimed: WindowLease, outcomes: Sequence[WindowResult]) -> None:
    """Store results, in the transaction that wrote the facts.

    Raises:
        WindowLeaseLostError: a window was taken over in the meantime; the transaction must roll
            back.
    """
    if _finish(_FINISH, claimed, outcomes) != len(outcomes):
        raise WindowLeaseLostError("a window was taken over while it was computed")


def finish_quietly(claimed: WindowLease, outcomes: Sequence[WindowResult]) -> bool:
    """Store results without changed facts and without findings, in one statement.

    False if that is not enough: an open issue may be resolved, or a window was taken over. `finish`
    must be called then; results that were stored already are kept, under our fence.
    """
    return _finish(_FINISH_QUIETLY, claimed, outcomes) == len(outcomes)


def _finish(
    statement: str, claimed: WindowLease, outcomes: Sequence[WindowResult]
) -> int:
    columns = [
        (
            to_instant(o.window.start_ms),
            claimed.fences[o.window.start_ms],
            o.content_hash,
            o.rows,
            o.samples_expected,
            o.samples_seen,
            o.read_ms,
            o.is_partial,
            None if o.is_partial else o.reading_hash,
        )
        for o in outcomes
    ]
    with connection.cursor() as cursor:
        cursor.execute(
            statement,
            [
                WindowState.PARTIAL,
                WindowState.DONE,
                *map(list, zip(*columns, strict=True)),
                claimed.cluster_id,
            ],
        )
        return int(cursor.rowcount)


def finish_unchanged(claimed: WindowLease) -> None:
    """Record that the samples did not change, so the facts do not change.

    Raises:
        WindowLeaseLostError: a window was taken over.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE accounting_ingestwindow w
            SET state = %s, read_at = clock_timestamp(), lease_until = NULL,
                last_error = '', attempts = 0, next_attempt_at = NULL
            FROM unnest(%s::timestamptz[], %s::bigint[]) AS o(at, fence)
            WHERE w.cluster_id = %s AND w.shard = 0 AND w.window_start = o.at
              AND w.fence = o.fence
            """,
            [
                WindowState.DONE,
                [to_instant(start_ms) for start_ms in claimed.fences],
                list(claimed.fences.values()),
                claimed.cluster_id,
            ],
        )
        if cursor.rowcount != len(claimed.fences):
            raise WindowLeaseLostError("a window was taken over while it was read")


def give_back(claimed: WindowLease) -> None:
    """Make the windows due again that were not taken over."""
    with connection.cursor() as cursor:
        cursor.executemany(
            """
            UPDATE accounting_ingestwindow SET state = 'pending', lease_until = NULL
            WHERE cluster_id = %s AND shard = 0 AND window_start = %s AND fence = %s
            """,
            [
                (claimed.cluster_id, to_instant(start_ms), fence)
                for start_ms, fence in claimed.fences.items()
            ],
        )


def fail(claimed: WindowLease, message: str, wait_s: float = 0.0) -> None:
    """Release windows after an error: they wait longer after each attempt.

    If the error was the end of the session that claimed them, they are due at once.

    Args:
        claimed: the windows.
        message: the error, as a sentence.
        wait_s: seconds after which the source accepts the next request.
    """
    with connection.cursor() as cursor:
        for start_ms, fence in claimed.fences.items():
            cursor.execute(
                """
                UPDATE accounting_ingestwindow
                SET state = 'failed', last_error = %s, lease_until = NULL,
                    next_attempt_at = clock_timestamp()
                        + least(greatest(power(2, least(attempts, 12)) * 15, %s), %s)
                            * interval '1 second'
                WHERE cluster_id = %s AND shard = 0 AND window_start = %s AND fence = %s
                  AND EXISTS (SELECT FROM pg_stat_activity a
                              WHERE a.pid = worker_pid)
                """,
                [
                    message[:2000].replace("\0", ""),
                    wait_s,
                    LONGEST_DELAY_S,
                    claimed.cluster_id,
                    to_instant(start_ms),
                    fence,
                ],
            )
