"""Change sets that wait for an administrator: requests of leads, and second approvals."""

from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import F, Q, QuerySet

from accounting.access.models.people import OrganizationRole
from accounting.access.reads.teams import known_teams
from accounting.access.scope import Scope
from accounting.kit.inbox import Asker, DoneRow, InboxRow, Kind
from scheduler_view.changes.models import ChangeSet, ChangeState
from scheduler_view.changes.reads.change_row import ChangeRow
from scheduler_view.changes.reads.change_sets import about, rows_of
from scheduler_view.changes.reads.headlines import titles_of_rows

CHANGE = "change"
_UNANSWERED = (
    ChangeState.DRAFT,
    ChangeState.PLANNED,
    ChangeState.APPROVED,
    ChangeState.EXPIRED,
)
_ENDED = {
    ChangeState.DECLINED: "Declined",
    ChangeState.DISCARDED: "Discarded",
}

# Requests by people who are not administrators, and change sets that need a second person. A
# request whose plan expired still waits: it is neither applied nor declined. Nobody who wrote edits
# can be the second person; those are in the history (`drafts.editors`).
# Text, because every page of an administrator asks it: to build it takes longer than to answer it.
_WAITING = """
    SELECT c.id
    FROM scheduler_view_changeset c LEFT JOIN accounting_person p ON p.user_id = c.author_id
    WHERE (
        c.state = ANY(%(unanswered)s) AND c.apply_wanted_at IS NULL AND c.undoes_id IS NULL
        AND c.author_id IS NOT NULL AND p.role IS DISTINCT FROM %(is_admin)s
    ) OR (
        c.state = %(planned)s AND c.needs_second AND c.plan_expires_at > %(at)s
        AND c.author_name <> %(username)s AND NOT EXISTS (
            SELECT FROM (
                SELECT e.edits, lag(e.edits) OVER (ORDER BY e.pgh_id) AS before,
                       coalesce(x.metadata->>'actor', '') AS actor
                FROM scheduler_view_changesetevent e
                LEFT JOIN pghistory_context x ON x.id = e.pgh_context_id
                WHERE e.pgh_obj_id = c.id
            ) written
            WHERE written.actor = %(username)s AND written.edits IS DISTINCT FROM written.before)
    )
"""


def pending_rows(scope: Scope, user: str, at: datetime) -> list[ChangeRow]:
    """Change sets that wait for this administrator, the longest first."""
    if not scope.is_admin:
        return []
    return rows_of(_pending(user, at).order_by("made_at", "pk"), scope)


def _pending(user: str, at: datetime) -> QuerySet[ChangeSet]:
    values: dict[str, Any] = {**_CONSTANTS, "username": user, "at": at}
    with connection.cursor() as cursor:
        cursor.execute(_WAITING, values)
        chosen = [pk for (pk,) in cursor.fetchall()]
    return ChangeSet.objects.filter(pk__in=chosen)


_CONSTANTS: dict[str, object] = {
    "unanswered": [one.value for one in _UNANSWERED],
    "planned": ChangeState.PLANNED.value,
    "is_admin": OrganizationRole.ADMIN.value,
}


def _waiting(asker: Asker) -> list[InboxRow]:
    rows = [*_pending(asker.username, asker.at).select_related("cluster")]
    titles = titles_of_rows(rows)
    return [_row(one, titles[one.pk], asker.at) for one in rows]


def _row(one: ChangeSet, title: str, at: datetime) -> InboxRow:
    teams = _teams(one)
    ends = one.plan_expires_at if one.needs_second else None
    is_planned = one.state == ChangeState.PLANNED
    return InboxRow(
        kind=CHANGE,
        what=f"Approve {one}, {title}",
        about=f"On {one.cluster}: {one.reason}",
        team=teams[0] if len(teams) == 1 else "",
        asked_by=one.author_name,
        since=one.made_at,
        until=ends if is_planned and ends and ends > at else None,
        does="Review",
        route="change",
        args=(one.pk,),
        teams=teams,
    )


def _teams(one: ChangeSet) -> list[str]:
    return sorted({edit["team"] for edit in one.edits if edit.get("team")})


def _done(scope: Scope, since: datetime) -> list[DoneRow]:
    """What another person than the author approved, declined or discarded."""
    rows = ChangeSet.objects.filter(
        Q(approved_at__gte=since) & ~Q(approved_by__in=("", F("author_name")))
        | Q(ended_at__gte=since, state__in=_ENDED) & ~Q(ended_by=F("author_name"))
    )
    own = None
    if not scope.sees_all:
        own = {known_teams()[pk].slug for pk in scope.lead_of}
        rows = rows.filter(about(own))
    found = [*rows]
    titles = titles_of_rows(found)
    return [
        _outcome(one, titles[one.pk])
        for one in found
        if own is None or own.issuperset(_teams(one))
    ]


def _outcome(one: ChangeSet, title: str) -> DoneRow:
    state = ChangeState(one.state)
    if state in _ENDED and one.ended_at:
        outcome, by, at = _ENDED[state], one.ended_by, one.ended_at
    else:
        outcome, by, at = "Approved", one.approved_by, one.approved_at or one.made_at
    return DoneRow(
        CHANGE,
        f"{one}, {title}",
        outcome,
        by,
        at,
        "change",
        (one.pk,),
        teams=_teams(one),
    )


CHANGES = Kind(
    CHANGE,
    "Quota change",
    "changes",
    lambda scope: scope.is_admin,
    f"SELECT count(*) FROM ({_WAITING}) waiting WHERE %(admin)s",  # noqa: S608  # a constant
    _waiting,
    _done,
    lambda _: _CONSTANTS,
    is_of_teams=True,
)
