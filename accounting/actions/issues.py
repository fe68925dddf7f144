"""Data issues: kept while their cause lasts, resolved by themselves when it is gone."""

from collections.abc import Iterable
from datetime import datetime

from django.db import connection

from accounting.domain.issue import Issue
from accounting.domain.period import to_instant


def record(cluster_id: int, issues: Iterable[Issue]) -> None:
    """Add issues or extend the ones that are known (same code and subject)."""
    merged: dict[tuple[str, str], Issue] = {}
    for issue in issues:
        key = (issue.code, issue.subject[:500])
        known = merged.get(key)
        merged[key] = issue if known is None else _join(known, issue)
    if not merged:
        return
    with connection.cursor() as cursor:
        cursor.executemany(_UPSERT, [_row(cluster_id, i) for i in merged.values()])


_UPSERT = """
    INSERT INTO accounting_dataissue
        (cluster_id, code, subject, severity, message, advice, first_seen, last_seen,
         at_stake_ms, count)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, 1)
    ON CONFLICT (cluster_id, code, subject) DO UPDATE
    SET severity = excluded.severity, message = excluded.message,
        advice = excluded.advice,
        first_seen = least(accounting_dataissue.first_seen, excluded.first_seen),
        last_seen = greatest(accounting_dataissue.last_seen, excluded.last_seen),
        at_stake_ms = greatest(accounting_dataissue.at_stake_ms, excluded.at_stake_ms),
        count = accounting_dataissue.count
            + (excluded.last_seen > accounting_dataissue.last_seen)::int,
        resolved_at = CASE
            WHEN excluded.last_seen > accounting_dataissue.last_seen THEN NULL
            ELSE accounting_dataissue.resolved_at END
"""


def _row(cluster_id: int, issue: Issue) -> tuple[int | str | datetime, ...]:
    return (
        cluster_id,
        issue.code,
        issue.subject[:500].replace("\0", ""),
        issue.severity,
        issue.message.replace("\0", ""),
        issue.advice,
        to_instant(issue.first_ms),
        to_instant(issue.last_ms),
        issue.at_stake_ms,
    )


def _join(first: Issue, second: Issue) -> Issue:
    return Issue(
        code=first.code,
        subject=first.subject,
        message=second.message,
        first_ms=min(first.first_ms, second.first_ms),
        last_ms=max(first.last_ms, second.last_ms),
        advice=second.advice,
        at_stake_ms=first.at_stake_ms + second.at_stake_ms,
        severity=second.severity,
    )


def resolve_older(cluster_id: int, codes: Iterable[str], before: datetime) -> int:
    """Mark issues of these codes resolved that were last seen before an instant."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE accounting_dataissue SET resolved_at = clock_timestamp()
            WHERE cluster_id = %s AND code = ANY(%s) AND last_seen < %s
              AND resolved_at IS NULL
            """,
            [cluster_id, list(codes), before],
        )
        return int(cursor.rowcount)


def resolve_sources(cluster_id: int) -> None:
    """Resolve what was said of sources once no window waits because of it any more."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE accounting_dataissue SET resolved_at = clock_timestamp()
            WHERE cluster_id = %s AND resolved_at IS NULL
              AND ((code = 'source_failed' AND NOT EXISTS (
                        SELECT FROM accounting_ingestwindow w
                        WHERE w.cluster_id = %s AND w.last_error <> ''))
                OR (code = 'source_warning' AND NOT EXISTS (
                        SELECT FROM accounting_ingestwindow w
                        WHERE w.cluster_id = %s AND w.state = 'partial')))
            """,
            [cluster_id] * 3,
        )
