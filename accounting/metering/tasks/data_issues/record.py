"""Data issues: open while their cause lasts, resolved automatically afterwards."""

from collections.abc import Iterable
from datetime import datetime

from django.db import connection

from accounting.core.interval import Interval, to_instant
from accounting.core.issue import Issue
from accounting.core.issue_catalogue import ADDING_UP, OF_WINDOWS, text_of

_GONE = "interval '1 day'"  # time with data but without the fault


def record(cluster_id: int, issues: Iterable[Issue]) -> None:
    """Add issues or extend the known ones (same code and subject).

    A known finding writes nothing. The time at stake of windows and scrapes adds up: time that
    was already reported is not counted again, and of a period that extends beyond it only the new
    part is. Other issues have their total time at stake each time.
    """
    merged: dict[tuple[str, str], Issue] = {}
    for issue in issues:
        key = (issue.code, _subject(issue))
        known = merged.get(key)
        merged[key] = issue if known is None else _join(known, issue)
    if not merged:
        return
    with connection.cursor() as cursor:
        cursor.execute(_FRESH, [cluster_id])
        since = cursor.fetchone()[0]
        rows = [
            (*_row(cluster_id, i), i.code in ADDING_UP, since, since)
            for i in merged.values()
        ]
        cursor.executemany(_UPSERT, rows)


_FRESH = f"""
    SELECT coalesce((
        SELECT window_start - {_GONE} FROM accounting_ingestwindow
        WHERE cluster_id = %s AND shard = 0 AND content_hash IS NOT NULL
        ORDER BY window_start DESC LIMIT 1
    ), '0001-01-02T00:00:00Z'::timestamptz)
"""


def _subject(issue: Issue) -> str:
    return issue.subject[:500].replace("\0", "")


_ANY_OPEN = """
    SELECT EXISTS (SELECT FROM accounting_dataissue
                   WHERE cluster_id = %s AND resolved_at IS NULL)
"""


def resolve_gone(cluster_id: int, period: Interval, found: Iterable[Issue]) -> None:
    """Resolve issues of windows that computing no longer finds.

    These are issues inside a period that was computed without finding them, issues after a day of
    data without them, and issues of sources when no window waits because of them.

    Args:
        cluster_id: of the windows.
        period: that was computed.
        found: the findings in it.
    """
    keys = {(issue.code, _subject(issue)) for issue in found}
    with connection.cursor() as cursor:
        cursor.execute(
            _ANY_OPEN, [cluster_id]
        )  # usually there are none, and this is fast
        if not cursor.fetchone()[0]:
            return
        cursor.execute(
            f"""
            UPDATE accounting_dataissue i SET resolved_at = clock_timestamp()
            WHERE i.cluster_id = %(cluster)s AND i.resolved_at IS NULL
              AND ((i.code = 'source_failed' AND NOT EXISTS (
                        SELECT FROM accounting_ingestwindow w
                        WHERE w.cluster_id = %(cluster)s AND w.last_error <> ''))
                OR (i.code = 'source_warning' AND NOT EXISTS (
                        SELECT FROM accounting_ingestwindow w
                        WHERE w.cluster_id = %(cluster)s AND w.state = 'partial'))
                OR (i.code = ANY(%(codes)s)
                    AND (i.last_seen < (
                            SELECT w.window_start - {_GONE}
                            FROM accounting_ingestwindow w
                            WHERE w.cluster_id = %(cluster)s AND w.shard = 0
                              AND w.content_hash IS NOT NULL
                            ORDER BY w.window_start DESC LIMIT 1
                        )
                        OR (i.first_seen >= %(start)s AND i.first_seen < %(end)s
                            AND i.last_seen <= %(end)s
                            AND NOT EXISTS (
                                SELECT FROM unnest(%(had)s::text[], %(whose)s::text[])
                                    AS f(code, subject)
                                WHERE f.code = i.code AND f.subject = i.subject)))))
            """,
            {
                "cluster": cluster_id,
                "codes": sorted(OF_WINDOWS),
                "start": period.start,
                "end": period.end,
                "had": [code for code, _ in sorted(keys)],
                "whose": [subject for _, subject in sorted(keys)],
            },
        )


# The part of a new finding's time that is outside the known issue's: 0 to 1.
_NEW_SHARE = """
    CASE WHEN excluded.first_seen = excluded.last_seen THEN
        (excluded.last_seen > accounting_dataissue.last_seen
            OR excluded.first_seen < accounting_dataissue.first_seen)::int
    ELSE (
        greatest(0, extract(epoch FROM excluded.last_seen
            - greatest(excluded.first_seen, accounting_dataissue.last_seen)))
        + greatest(0, extract(epoch FROM
            least(excluded.last_seen, accounting_dataissue.first_seen)
            - excluded.first_seen))
        ) / extract(epoch FROM excluded.last_seen - excluded.first_seen)
    END
"""

_UPSERT = f"""
    INSERT INTO accounting_dataissue
        (cluster_id, code, subject, severity, message, advice, first_seen, last_seen,
         at_stake_ms, count)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, 1)
    ON CONFLICT (cluster_id, code, subject) DO UPDATE
    SET severity = excluded.severity, message = excluded.message,
        advice = excluded.advice,
        first_seen = least(accounting_dataissue.first_seen, excluded.first_seen),
        last_seen = greatest(accounting_dataissue.last_seen, excluded.last_seen),
        at_stake_ms = greatest(
            excluded.at_stake_ms,
            accounting_dataissue.at_stake_ms + CASE WHEN %s THEN
                round(excluded.at_stake_ms * ({_NEW_SHARE}))::bigint ELSE 0 END),
        count = accounting_dataissue.count
            + (excluded.last_seen > accounting_dataissue.last_seen)::int,
        resolved_at = CASE
            WHEN excluded.last_seen > accounting_dataissue.last_seen
                OR excluded.last_seen >= %s THEN NULL
            ELSE accounting_dataissue.resolved_at END
    WHERE excluded.last_seen > accounting_dataissue.last_seen
       OR excluded.first_seen < accounting_dataissue.first_seen
       OR excluded.at_stake_ms > accounting_dataissue.at_stake_ms
       OR (accounting_dataissue.resolved_at IS NOT NULL AND excluded.last_seen >= %s)
       OR (excluded.severity, excluded.message, excluded.advice) IS DISTINCT FROM
          (accounting_dataissue.severity, accounting_dataissue.message,
           accounting_dataissue.advice)
"""


_REPLACE = """
    INSERT INTO accounting_dataissue
        (cluster_id, code, subject, severity, message, advice, first_seen, last_seen,
         at_stake_ms, count)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, 1)
    ON CONFLICT (cluster_id, code, subject) DO UPDATE
    SET severity = excluded.severity, message = excluded.message,
        advice = excluded.advice, first_seen = excluded.first_seen,
        last_seen = excluded.last_seen, at_stake_ms = excluded.at_stake_ms,
        count = accounting_dataissue.count
            + (excluded.last_seen > accounting_dataissue.last_seen)::int,
        resolved_at = NULL
    WHERE accounting_dataissue.resolved_at IS NOT NULL
       OR (excluded.severity, excluded.message, excluded.advice, excluded.first_seen,
           excluded.last_seen, excluded.at_stake_ms) IS DISTINCT FROM
          (accounting_dataissue.severity, accounting_dataissue.message,
           accounting_dataissue.advice, accounting_dataissue.first_seen,
           accounting_dataissue.last_seen, accounting_dataissue.at_stake_ms)
"""


def replace(cluster_id: int, codes: Iterable[str], found: Iterable[Issue]) -> None:
    """Make the open issues of some codes exactly the found ones; others of them are resolved.

    For findings that are complete each time, with all time at stake now.
    """
    issues = list(found)
    for code in codes:
        resolve_others(cluster_id, code, [one for one in issues if one.code == code])
    with connection.cursor() as cursor:
        cursor.executemany(_REPLACE, [_row(cluster_id, issue) for issue in issues])


def resolve_others(cluster_id: int, code: str, found: Iterable[Issue]) -> None:
    """Resolve the open issues of a code whose subject was not found again."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE accounting_dataissue SET resolved_at = clock_timestamp()
            WHERE cluster_id = %s AND code = %s AND resolved_at IS NULL
              AND NOT subject = ANY(%s)
            """,
            [cluster_id, code, [_subject(issue) for issue in found]],
        )


def _row(cluster_id: int, issue: Issue) -> tuple[int | str | datetime, ...]:
    return (
        cluster_id,
        issue.code,
        _subject(issue),
        issue.severity,
        issue.message.replace("\0", ""),
        issue.advice or text_of(issue.code).advice,
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
    """Resolve issues of these codes that were last seen before an instant."""
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
