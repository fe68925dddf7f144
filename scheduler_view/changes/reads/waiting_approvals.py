"""Change sets that wait for an administrator: requests of leads, and second approvals."""

from datetime import datetime
from typing import Any

from django.db import connection

from accounting.access.models.people import OrganizationRole
from accounting.access.scope import Scope
from scheduler_view.changes.models import ChangeSet, ChangeState
from scheduler_view.changes.reads.change_row import ChangeRow
from scheduler_view.changes.reads.change_sets import rows_of
from scheduler_view.changes.reads.drafts import editors

_UNANSWERED = (
    ChangeState.DRAFT,
    ChangeState.PLANNED,
    ChangeState.APPROVED,
    ChangeState.EXPIRED,
)

# Text, because every page of an administrator asks it: to build it takes longer than to answer it.
_WAITING = """
    SELECT c.id, r.is_request
    FROM scheduler_view_changeset c LEFT JOIN accounting_person p ON p.user_id = c.author_id
    CROSS JOIN LATERAL (
        SELECT c.state = ANY(%(unanswered)s) AND c.apply_wanted_at IS NULL AND c.undoes_id IS NULL
               AND c.author_id IS NOT NULL AND p.role IS DISTINCT FROM %(admin)s AS is_request
    ) r
    WHERE r.is_request OR (
        c.state = %(planned)s AND c.needs_second AND c.plan_expires_at > %(at)s
        AND c.author_name <> %(user)s)
"""


def pending_count(scope: Scope, user: str, at: datetime) -> int:
    """The number that waits for this administrator; 0 for everybody else.

    One query, and one for each change set that needs a second person.
    """
    return len(_pending(user, at)) if scope.is_admin else 0


def pending_rows(scope: Scope, user: str, at: datetime) -> list[ChangeRow]:
    """Change sets that wait for this administrator, the longest first."""
    if not scope.is_admin:
        return []
    rows = ChangeSet.objects.filter(pk__in=_pending(user, at))
    return rows_of(rows.order_by("made_at", "pk"), scope)


def _pending(user: str, at: datetime) -> list[int]:
    """Requests by people who are not administrators, and change sets that need a second person.

    A request whose plan expired still waits: it is neither applied nor declined. An author of edits
    cannot be the second person.
    """
    values: dict[str, Any] = {
        "unanswered": [one.value for one in _UNANSWERED],
        "planned": ChangeState.PLANNED.value,
        "admin": OrganizationRole.ADMIN.value,
        "user": user,
        "at": at,
    }
    with connection.cursor() as cursor:
        cursor.execute(_WAITING, values)
        found = cursor.fetchall()
    return [pk for pk, is_asked in found if is_asked or user not in editors(pk)]
