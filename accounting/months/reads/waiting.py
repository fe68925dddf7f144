"""Requests about months that wait for a second person, and those that ended (money.md M27, M30)."""

from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from django.db import connection
from django.db.models import QuerySet
from django.utils import timezone

from accounting.access.scope import Scope
from accounting.kit.inbox import Asker, DoneRow, InboxRow, Kind
from accounting.months.models.close import CloseOverride, ReopenRequest, TwoPeople
from accounting.months.rules.check_words import CHECK_TITLES
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


def confirmations_for(scope: Scope, user_id: int, at: datetime) -> list[Confirmation]:
    """Requests that this person may confirm, those that lapse first; one query."""
    if not scope.is_finance:
        return []
    values: dict[str, Any] = {"user": user_id, "since": at - CONFIRM_WITHIN}
    with connection.cursor() as cursor:
        cursor.execute(f"{_CONFIRMATIONS} ORDER BY r.requested_at", values)
        return [
            Confirmation(*row, until=row[6] + CONFIRM_WITHIN)
            for row in cursor.fetchall()
        ]


def _waiting(asker: Asker) -> list[InboxRow]:
    return [
        InboxRow(
            kind=one.kind,
            what=f"Confirm: {_said(one.first, one.code)}",
            about=one.reason,
            asked_by=one.requested_by,
            since=one.requested_at,
            until=one.until,
            does="Review",
            route="month",
            args=(one.period,),
        )
        for one in confirmations_for(asker.scope, asker.user_id, asker.at)
    ]


def _done(scope: Scope, since: datetime) -> list[DoneRow]:
    """Confirmed and lapsed requests."""
    if not scope.is_finance:
        return []
    found: list[DoneRow] = []
    asked: dict[str, QuerySet[Any]] = {
        "override": CloseOverride.objects.all(),
        "reopen": ReopenRequest.objects.all(),
    }
    for kind, rows in asked.items():
        recent = rows.filter(requested_at__gte=since - CONFIRM_WITHIN)
        found += [_ended(kind, one) for one in recent.select_related("confirmed_by")]
    return [one for one in found if since <= one.at <= timezone.now()]


def _ended(kind: str, one: TwoPeople) -> DoneRow:
    first = date.fromisoformat(f"{one.period}-01")
    what = _said(first, getattr(one, "code", ""))
    what = f"{what[0].upper()}{what[1:]}"
    if one.confirmed_by is None or one.confirmed_at is None:
        lapsed = one.requested_at + CONFIRM_WITHIN
        return DoneRow(kind, what, "Lapsed", "", lapsed, "month", (one.period,))
    by = one.confirmed_by.get_username()
    return DoneRow(
        kind, what, "Confirmed", by, one.confirmed_at, "month", (one.period,)
    )


def _said(first: date, code: str) -> str:
    if not code:
        return f"open {first:%B %Y} again"
    return f"close {first:%B %Y} despite the check {CHECK_TITLES.get(code, code)}"


CONFIRMATIONS = Kind(
    "confirmation",
    "Confirmation",
    "months",
    lambda scope: scope.is_finance,
    f"SELECT count(*) FROM ({_CONFIRMATIONS}) waiting WHERE %(finance)s",
    _waiting,
    _done,
    lambda asker: {"since": asker.at - CONFIRM_WITHIN},
)
