"""Finds who is to be told of alerts, puts one mail for each into the outbox, and records it.

What was told is stored in the transaction of the mail: a worker that is killed has done both, or
nothing. Of two workers one writes to a person.
"""

from collections.abc import Callable, Mapping
from datetime import datetime

import structlog
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from accounting.access.models.people import Membership, OrganizationRole, TeamRole
from accounting.access.reads.billing_settings import billing_at, billing_remembered
from accounting.access.rights import ALERTS
from accounting.access.scope import Scope, scope_of
from accounting.kit.failpoints import reach
from accounting.kit.locks import try_lock
from accounting.kit.reads.database_clock import database_now
from accounting.notifications.actions import enqueue
from accounting.notifications.models import NotificationKind
from portal.digest.due import is_due, is_paused, marked_since
from portal.digest.letter import alert_letter
from portal.weekly.send import zone_of
from scheduler_view.alerts.models import Alert, AlertDigest, AlertTold
from scheduler_view.alerts.reads.alerts import AlertRows, untold_alerts

log = structlog.get_logger(__name__)
SHOWN = 50  # alerts of a mail; the page has all
_BATCH = 1000  # rows


def tell_everybody(now: Callable[[], datetime] = database_now) -> int:
    """Store the mails that are due. Returns how many.

    One that cannot be written stops no other, and is tried again with the next run.

    Args:
        now: the clock that all workers share: a machine's own may be wrong.
    """
    count = 0
    if not Alert.objects.filter(resolved_at=None, archived_figure=None).exists():
        return count
    at = now()
    told = dict(AlertDigest.objects.values_list("person_id", "told_at"))
    for user in _people():
        if is_paused(told.get(user.pk), at):
            continue
        try:
            count += tell(user, now)
        except Exception:  # the others are told
            log.exception("alerts not told", user=user.pk)
    return count


def tell(user: User, now: Callable[[], datetime] = database_now) -> bool:
    """Store one mail to a person about what they were not told of, if it is due."""
    with transaction.atomic(), billing_remembered():
        if not try_lock("digests", user.pk):
            return False
        at, scope = now(), scope_of(user)
        last = AlertDigest.objects.filter(person=user).first()
        told_at = last.told_at if last else None
        if is_paused(told_at, at) or not ALERTS.allows(scope):
            return False
        found = untold_alerts(scope, user.pk, marked_since(told_at, at))
        marks = dict(found.values_list("pk", "marked_at"))
        if not is_due(marks.values(), at):
            return False
        is_stored = _write(user, scope, found, marks, at)
        if is_stored:
            _record(user, marks, at)
            reach("alerts_told")
        return is_stored


def _people() -> QuerySet[User]:
    """Who may read alerts and wants mail about them."""
    leads = Membership.objects.filter(user=OuterRef("pk"), role=TeamRole.LEAD)
    sees_all = Q(person__role__in=[OrganizationRole.ADMIN, OrganizationRole.FINANCE])
    found = User.objects.filter(sees_all | Exists(leads), is_active=True)
    wanted = Q(person=None) | ~Q(person__muted__contains=[NotificationKind.ALERT])
    return found.filter(wanted).select_related("person").order_by("pk")


def _write(
    user: User,
    scope: Scope,
    found: QuerySet[Alert],
    marks: Mapping[int, datetime],
    at: datetime,
) -> bool:
    # what a look has stored since `marks` was read is told the next time
    rows = [row for row in AlertRows(found, scope, at)[:SHOWN] if row.id in marks]
    if not rows:
        return False
    zone = zone_of(user, billing_at(at).zone)
    with timezone.override(zone):
        letter = alert_letter(rows, len(marks), zone=str(zone), sees_all=scope.sees_all)
    marked_at, newest = max((mark, number) for number, mark in marks.items())
    key = f"alerts:{user.pk}:{newest}:{marked_at.isoformat()}"
    return enqueue(user, NotificationKind.ALERT, *letter, key=key)


def _record(user: User, marks: Mapping[int, datetime], at: datetime) -> None:
    """What was told, without what is over: it is marked again when it comes back."""
    AlertDigest.objects.update_or_create(person=user, defaults={"told_at": at})
    AlertTold.objects.filter(person=user, alert__resolved_at__isnull=False).delete()
    AlertTold.objects.bulk_create(
        [
            AlertTold(person=user, alert_id=number, marked_at=marked_at)
            for number, marked_at in marks.items()
        ],
        update_conflicts=True,
        unique_fields=["person", "alert"],
        update_fields=["marked_at"],
        batch_size=_BATCH,
    )
