"""What waits for a person: to be confirmed (money.md M27, M30), answered (M34) or saved (M19)."""

from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from django.db import connection

from accounting.access.scope import Scope
from accounting.months.rules.close_checks import CONFIRM_WITHIN

# The newest request of each kind and month, as pages offer it, unless it is confirmed, too old, of
# an earlier revision or the visitor's own.
_CONFIRMATIONS = """
    SELECT r.kind, r.id, r.period, r.code, r.reason, u.username, r.requested_at
    FROM (
        (SELECT DISTINCT ON (period) 'reopen' AS kind, id, period, revision, '' AS code, reason,
                requested_by_id, requested_at
         FROM accounting_reopenrequest
         WHERE confirmed_at IS NULL AND requested_at > %(since)s
         ORDER BY period, id DESC)
        UNION ALL
        (SELECT DISTINCT ON (period, code) 'override', id, period, revision, code, reason,
                requested_by_id, requested_at
         FROM accounting_closeoverride
         WHERE confirmed_at IS NULL AND requested_at > %(since)s
         ORDER BY period, code, id DESC)
    ) r
    JOIN auth_user u ON u.id = r.requested_by_id
    LEFT JOIN LATERAL (
        SELECT max(revision) FILTER (WHERE closed_at IS NOT NULL AND reopened_at IS NULL) AS closed,
               count(*) FILTER (WHERE reopened_at IS NOT NULL) + 1 AS next
        FROM accounting_periodrevision WHERE period = r.period
    ) p ON true
    WHERE r.requested_by_id <> %(user)s AND CASE r.kind
        WHEN 'reopen' THEN r.revision = p.closed AND NOT EXISTS (
            SELECT FROM accounting_periodrevision
            WHERE period > r.period AND closed_at IS NOT NULL AND reopened_at IS NULL)
        ELSE p.closed IS NULL AND r.revision = p.next END
"""
_COUNTS = f"""
    SELECT (SELECT count(*) FROM ({_CONFIRMATIONS}) waiting WHERE %(finance)s),
           (SELECT count(*) FROM accounting_contest
            WHERE (%(finance)s AND state = 'open')
               OR (team_id = ANY(%(led)s) AND state = 'answered')),
           (SELECT count(*) FROM accounting_pricedraft
            WHERE %(admin)s AND state = 'open')
"""


@dataclass(frozen=True, slots=True)
class Confirmation:
    """A request about a month that waits for a second person.

    Attributes:
        kind: `reopen` or `override`.
        period: YYYY-MM.
        code: of the check; "" for a reopening.
        until: it lapses then.
    """

    kind: str
    number: int
    period: str
    code: str
    reason: str
    requested_by: str
    requested_at: datetime
    until: datetime = field(kw_only=True)

    @property
    def first(self) -> date:
        """The first day of its month."""
        return date.fromisoformat(f"{self.period}-01")


@dataclass(frozen=True, slots=True)
class WaitingCounts:
    """How much waits for one person."""

    confirmations: int = 0
    contests: int = 0
    price_drafts: int = 0


def confirmations_for(scope: Scope, user_id: int, at: datetime) -> list[Confirmation]:
    """Requests that this person may confirm, those that lapse first; one query."""
    if not scope.is_finance:
        return []
    with connection.cursor() as cursor:
        cursor.execute(
            f"{_CONFIRMATIONS} ORDER BY r.requested_at", _values(scope, user_id, at)
        )
        return [
            Confirmation(*row, until=row[6] + CONFIRM_WITHIN)
            for row in cursor.fetchall()
        ]


def waiting_counts(scope: Scope, user_id: int, at: datetime) -> WaitingCounts:
    """How much waits for this person; one query, none for those who can do nothing about it."""
    if not scope.is_finance and not scope.lead_of:
        return WaitingCounts()
    with connection.cursor() as cursor:
        cursor.execute(_COUNTS, _values(scope, user_id, at))
        return WaitingCounts(*cursor.fetchone())


def _values(scope: Scope, user_id: int, at: datetime) -> dict[str, Any]:
    return {
        "finance": scope.is_finance,
        "admin": scope.is_admin,
        "led": list(scope.lead_of),
        "user": user_id,
        "since": at - CONFIRM_WITHIN,
    }
