"""Writes computed windows in one transaction: facts, dirty hours, window ledger and issues."""

from collections.abc import Sequence

from django.db import connection, transaction

from accounting.core.interval import to_instant
from accounting.core.issue import Issue
from accounting.kit.failpoints import reach
from accounting.kit.locks import lock
from accounting.metering.tasks.data_issues import record
from accounting.metering.tasks.facts import partitions, write_facts
from accounting.metering.tasks.windows import window_results
from accounting.metering.tasks.windows.leases import WindowLease
from accounting.metering.tasks.windows.window_results import WindowResult


def write_windows(
    claimed: WindowLease,
    results: Sequence[tuple[WindowResult, write_facts.Facts]],
    found: Sequence[Issue] = (),
) -> int:
    """Facts, dirty hours and ledger in one transaction; unchanged windows write no facts.

    If nothing changed and nothing was found, a single statement is used: live windows are read
    again often, and most of their cost is round trips.

    Args:
        claimed: the windows, whose fences must still be valid.
        results: the outcome and all facts of each window.
        found: issues of these windows.

    Returns:
        The number of written facts.

    Raises:
        WindowLeaseLostError: a window was taken over in the meantime; nothing was written.
    """
    replaced = [
        (to_instant(outcome.window.start_ms), stored)
        for outcome, stored in results
        if claimed.hashes.get(outcome.window.start_ms) != outcome.content_hash
    ]
    outcomes = [outcome for outcome, _ in results]
    if not replaced and not found and window_results.finish_quietly(claimed, outcomes):
        reach("committed")
        return 0
    cluster_id, period = claimed.cluster_id, claimed.period
    partitions.ensure(partitions.ALL_WINDOWS, period.start, period.end)
    with transaction.atomic():
        if replaced:
            lock("facts", cluster_id)
            write_facts.replace_windows(cluster_id, replaced)
            mark_hours(cluster_id, [window for window, _ in replaced], "facts")
        window_results.finish(claimed, outcomes)
        record.record(cluster_id, found)
        record.resolve_gone(cluster_id, period, found)
        reach("before_commit")
    reach("committed")
    return sum(len(stored.rows) for _, stored in replaced)


def mark_hours(cluster_id: int, instants: Sequence[object], reason: str) -> None:
    """Mark the UTC hours of instants dirty; an existing mark is renewed."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO accounting_dirtyhour (cluster_id, hour_start, marked_at, reason)
            SELECT DISTINCT %s, date_trunc('hour', at, 'UTC'), statement_timestamp(), %s
            FROM unnest(%s::timestamptz[]) AS at
            ON CONFLICT (cluster_id, hour_start) DO UPDATE
                SET marked_at = excluded.marked_at, reason = excluded.reason
            """,
            [cluster_id, reason, list(instants)],
        )
