"""Change sets that wait for an administrator: requests of leads, and second approvals."""

from datetime import datetime

from django.db.models import Case, Q, When

from accounting.access.models.people import OrganizationRole
from accounting.access.scope import Scope
from scheduler_view.changes.models import (
    ChangeSet,
    ChangeState,
)
from scheduler_view.changes.reads.change_row import ChangeRow
from scheduler_view.changes.reads.change_sets import rows_of
from scheduler_view.changes.reads.drafts import editors

_UNANSWERED = (
    ChangeState.DRAFT,
    ChangeState.PLANNED,
    ChangeState.APPROVED,
    ChangeState.EXPIRED,
)


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
    is_request = (
        Q(state__in=_UNANSWERED, apply_wanted_at__isnull=True, undoes__isnull=True)
        & Q(author__isnull=False)
        & ~Q(author__person__role=OrganizationRole.ADMIN)
    )
    needs_second = Q(
        state=ChangeState.PLANNED, needs_second=True, plan_expires_at__gt=at
    ) & ~Q(author_name=user)
    found = ChangeSet.objects.filter(is_request | needs_second)
    waits = Case(When(is_request, then=True), default=False)
    return [
        pk
        for pk, is_asked in found.values_list("pk", waits)
        if is_asked or user not in editors(pk)
    ]
