"""Which windows are due, and who has them.

The clock is the database's, so that workers with wrong clocks agree. `fence` grows
with each claim and each mark.
"""

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection

from accounting.core.interval import WINDOW_MS, Interval, to_instant
from accounting.metering.tasks.windows.backlog import IS_DUE, SESSIONS

LEASE = timedelta(minutes=10)

FIRST_READ_AFTER = timedelta(seconds=30)  # rules.md N1


class WindowLeaseLostError(RuntimeError):
    """Another worker, or a late sample, took the window over: the result must not be written."""


@dataclass(frozen=True, slots=True)
class WindowLease:
    """Windows near each other that this worker may write until the lease ends."""

    cluster_id: int
    windows: tuple[Interval, ...]
    fences: dict[int, int]  # window start in ms -> fence
    hashes: dict[
        int, bytes
    ]  # content hash of its facts, by window start in ms; such windows are only re-read
    # of the samples of all of them, if it is the same
    reading_hash: bytes | None = None

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
    """Claim the due windows of one hour, or of several; None if nothing is due.

    Due are pending windows, failed windows after their waiting time, and claimed windows whose
    worker died: its session ended, or its lease expired (a machine that stopped responding).

    Args:
        cluster_id: of the windows.
        newest_first: the order of hours.
        within: only windows that start in this period.
        not_since: no windows that were read at or after this instant.
        as_of: no attempts that are due after this instant; None: after now.
        hours: number of hours that are claimed together, aligned to multiples of it since 1970.
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
            """,  # `order` is one of two keywords, the others are constants
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
    """Wait until no other transaction locks the first due window; `claim` skips locked ones.

    An import locks the windows of a file until its samples are in the evidence.

    Args:
        cluster_id: of the windows.
        within: only windows that start in this period.
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
