"""The window ledger: which windows are due, who has them, and what became of them.

Its clock is the database's, so that workers with wrong clocks agree. Every change of state
is one conditional statement; `fence` grows with each claim and each mark, and a commit
whose fence is not the row's is refused (invariant I13).
"""

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection, transaction

from accounting.domain.core.interval import WINDOW_MS, Interval, to_instant
from accounting.ingest.windows.backlog import IS_DUE, SESSIONS
from accounting.models import WindowState

LEASE = timedelta(minutes=10)
FIRST_READ_AFTER = timedelta(seconds=30)  # rules.md N1
LONGEST_DELAY_S = 3600


class WindowLeaseLostError(RuntimeError):
    """Another worker, or a late sample, took the window over: our result is void."""


@dataclass(frozen=True, slots=True)
class WindowLease:
    """Windows near each other that this worker may write until the lease ends."""

    cluster_id: int
    windows: tuple[Interval, ...]
    fences: dict[int, int]  # window start in ms -> fence
    hashes: dict[
        int, bytes
    ]  # window start in ms -> of its facts; only its claim moves it
    reading_hash: bytes | None = None  # of the samples behind all of them, if one is

    @property
    def period(self) -> Interval:
        """From the first to the last claimed window."""
        return Interval(self.windows[0].start_ms, self.windows[-1].end_ms)


def claim(
    cluster_id: int,
    *,
    newest_first: bool = True,
    within: Interval | None = None,
    not_since: datetime | None = None,
    as_of: datetime | None = None,
    hours: int = 1,
) -> WindowLease | None:
    """Take the due windows of one hour, or of some; None when nothing is due.

    Due are pending windows, failed ones whose time has come, and claimed ones whose worker
    died: its session is gone, or its lease ended (a machine that fell silent).

    Args:
        cluster_id: whose windows.
        newest_first: the order in which hours are taken.
        within: only windows that begin in this period.
        not_since: no window that was read at or after this instant.
        as_of: no attempt that is due later than this; None: later than now.
        hours: how many are taken together, counted from the epoch in steps of as many.
    """
    order = "DESC" if newest_first else "ASC"
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            WITH session AS MATERIALIZED ({SESSIONS}), due AS (
                SELECT id, window_start FROM accounting_ingestwindow
                WHERE cluster_id = %(cluster)s AND shard = 0
                  AND (%(low)s::timestamptz IS NULL OR window_start >= %(low)s)
                  AND (%(high)s::timestamptz IS NULL OR window_start < %(high)s)
                  AND (%(not_since)s::timestamptz IS NULL OR read_at IS NULL
                       OR read_at < %(not_since)s)
                  AND {IS_DUE}
            ), first AS (  -- of those that nobody else is about to take
                SELECT w.window_start FROM accounting_ingestwindow w JOIN due USING (id)
                ORDER BY w.window_start {order} LIMIT 1
                FOR UPDATE OF w SKIP LOCKED
            ), stretch AS (
                SELECT date_bin(make_interval(hours => %(hours)s), window_start,
                                to_timestamp(0)) AS start FROM first
            ), locked AS (
                SELECT w.id FROM accounting_ingestwindow w JOIN due USING (id), stretch
                WHERE w.window_start >= stretch.start
                  AND w.window_start < stretch.start + make_interval(hours => %(hours)s)
                FOR UPDATE OF w SKIP LOCKED
            )
            UPDATE accounting_ingestwindow w
            SET state = 'claimed', fence = w.fence + 1, attempts = w.attempts + 1,
                lease_until = clock_timestamp() + %(lease)s * interval '1 second',
                worker_host = %(host)s, worker_pid = s.pid, worker_since = s.start
            FROM locked, session s
            WHERE w.id = locked.id AND s.pid = pg_backend_pid()
            RETURNING w.window_start, w.fence, w.content_hash, w.reading_hash
            """,  # `order` is one of two words, the others constants
            {
                "cluster": cluster_id,
                "low": to_instant(within.start_ms) if within else None,
                "high": to_instant(within.end_ms) if within else None,
                "not_since": not_since,
                "as_of": as_of,
                "hours": hours,
                "lease": LEASE.total_seconds(),
                "host": socket.gethostname(),
            },
        )
        rows = sorted(cursor.fetchall(), key=lambda row: row[0])
    return _claim(cluster_id, rows)


def wait_for_locked(cluster_id: int, within: Interval | None = None) -> None:
    """Wait until no other transaction holds the first due window, as `claim` does not.

    Who imports holds the windows of a file until its samples are in the evidence.

    Args:
        cluster_id: whose windows.
        within: only windows that begin in this period.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            WITH session AS MATERIALIZED ({SESSIONS})
            SELECT id FROM accounting_ingestwindow
            WHERE cluster_id = %(cluster)s AND shard = 0
              AND (%(low)s::timestamptz IS NULL OR window_start >= %(low)s)
              AND (%(high)s::timestamptz IS NULL OR window_start < %(high)s)
              AND {IS_DUE}
            ORDER BY window_start LIMIT 1
            FOR SHARE
            """,
            {
                "cluster": cluster_id,
                "low": to_instant(within.start_ms) if within else None,
                "high": to_instant(within.end_ms) if within else None,
                "as_of": None,
            },
        )


def _claim(
    cluster_id: int, rows: Sequence[tuple[datetime, int, bytes | None, bytes | None]]
) -> WindowLease | None:
    if not rows:
        return None
    starts = {int(at.timestamp() * 1000): fence for at, fence, *_ in rows}
    known = {
        int(at.timestamp() * 1000): bytes(digest) for at, _, digest, _ in rows if digest
    }
    readings = {bytes(digest) if digest else None for *_, digest in rows}
    windows = tuple(Interval(ms, ms + WINDOW_MS) for ms in sorted(starts))
    reading = readings.pop() if len(readings) == 1 and len(known) == len(rows) else None
    return WindowLease(cluster_id, windows, starts, known, reading)


@dataclass(frozen=True, slots=True)
class WindowResult:
    """What reading one window gave."""

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


# Nothing can have to be resolved: the ledger's rows are all that is written.
_FINISH_QUIETLY = f"""{_FINISH}
      AND NOT EXISTS (SELECT FROM accounting_dataissue i
                      WHERE i.cluster_id = w.cluster_id AND i.resolved_at IS NULL)
"""


def finish(claimed: WindowLease, outcomes: Sequence[WindowResult]) -> None:
    """Record results, in the transaction that wrote the facts.

    Raises:
        FenceError: a window was taken over meanwhile; the transaction must roll back.
    """
    if _finish(_FINISH, claimed, outcomes) != len(outcomes):
        raise WindowLeaseLostError("a window was taken over while it was computed")


def finish_quietly(claimed: WindowLease, outcomes: Sequence[WindowResult]) -> bool:
    """Record results that changed no facts and found nothing, in one statement.

    False where that is not all: an issue is open that may be gone now, or a window was taken
    over. `finish` has to tell then; what is recorded already stays as it is, under our fence.
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
    """Record that the same samples were read again: the facts stay as they are.

    Raises:
        FenceError: a window was taken over meanwhile.
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
    """Make those windows due again that nobody has taken over."""
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
    """Give windows back after an error: they wait longer after each attempt.

    Unless the error was the end of the session that claimed them: then they are due.

    Args:
        claimed: the windows.
        message: what went wrong, for a person.
        wait_s: seconds that the source wants to be left alone.
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
