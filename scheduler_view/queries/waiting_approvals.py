"""Change sets that wait for an administrator: requests of others, and second approvals."""

from datetime import datetime

from django.db.models import Q, QuerySet

from accounting.access import Scope
from accounting.models import OrganisationRole
from scheduler_view.models import ChangeSet, ChangeState
from scheduler_view.queries.change_row import ChangeRow
from scheduler_view.queries.changes import rows_of
from scheduler_view.queries.drafts import editors

_UNANSWERED = (
    ChangeState.DRAFT,
    ChangeState.PLANNED,
    ChangeState.APPROVED,
    ChangeState.EXPIRED,
)


def pending_count(scope: Scope, user: str, at: datetime) -> int:
    """How many wait for this administrator; 0 for everybody else.

    One query, and one for each change set that needs a second person.
    """
    return _pending(user, at).count() if scope.is_admin else 0


def pending_rows(scope: Scope, user: str, at: datetime) -> list[ChangeRow]:
    """Those that wait for this administrator, the longest first."""
    if not scope.is_admin:
        return []
    return rows_of(_pending(user, at).order_by("made_at", "pk"), scope)


def _pending(user: str, at: datetime) -> QuerySet[ChangeSet]:
    """Requests of people who are not administrators, and changes that require a second person.

    A request whose plan expired still waits: it is neither applied nor declined.
    """
    is_request = (
        Q(state__in=_UNANSWERED, apply_wanted_at__isnull=True, undoes__isnull=True)
        & Q(author__isnull=False)
        & ~Q(author__person__role=OrganisationRole.ADMIN)
    )
    needs_second = ChangeSet.objects.filter(
        state=ChangeState.PLANNED, needs_second=True, plan_expires_at__gt=at
    ).exclude(author_name=user)
    others = [
        pk
        for pk in needs_second.values_list("pk", flat=True)
        if user not in editors(pk)
    ]
    return ChangeSet.objects.filter(is_request | Q(pk__in=others))
