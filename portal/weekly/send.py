"""Finds whose weekly mail is due, and puts it into the outbox. Twice at once makes one mail."""

from collections.abc import Iterator
from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import structlog
from django.contrib.auth.models import User
from django.http import Http404

from accounting.access.models.people import Membership, TeamRole
from accounting.access.reads.billing_settings import billing_at
from accounting.access.reserved_names import RESERVED_SLUGS
from accounting.core.billing_calendar import DayRange
from accounting.health.reads.freshness import freshness
from accounting.notifications.actions import enqueue
from accounting.notifications.models import Notification, NotificationKind
from accounting.notifications.reads import is_wanted
from portal.weekly.due import last_week, week_due
from portal.weekly.figures import weekly_mail
from portal.weekly.letter import letter_of

log = structlog.get_logger(__name__)


def send_weekly(now: datetime, *, at_once: bool = False) -> int:
    """Store the mails that are due and not stored yet. Returns how many.

    With `at_once` those of last week, also if they are not due now: the demo begins with them.

    One that cannot be written, such as of a team that is not there any more, stops no other.
    """
    count = 0
    for user, slug, week, key in _due(now, at_once=at_once):
        try:
            mail = weekly_mail(user, slug, week)
        except Http404:
            continue
        if mail is None:
            continue
        letter = letter_of(mail)
        count += enqueue(user, NotificationKind.WEEKLY, *letter, key=key)
    return count


def _due(now: datetime, *, at_once: bool) -> Iterator[tuple[User, str, DayRange, str]]:
    """Leads with a team, the week, and the key of its mail."""
    led = (
        Membership.objects.filter(role=TeamRole.LEAD, user__is_active=True)
        .exclude(team__slug__in=RESERVED_SLUGS)
        .select_related("team", "user__person")
        .order_by("user_id", "team__slug")
    )
    billing, data_to = billing_at(now).zone, None
    for one in led:
        data_to = data_to or freshness().data_to
        zone = zone_of(one.user, billing)
        week = week_due(now, zone, billing, data_to)
        if at_once:
            week = last_week(now, zone)
        if week is None or not is_wanted(one.user, NotificationKind.WEEKLY):
            continue
        key = f"weekly:{one.team_id}:{one.user_id}:{week.first}"
        if not Notification.objects.filter(key=key).exists():
            yield one.user, one.team.slug, week, key


def zone_of(user: User, billing: ZoneInfo) -> ZoneInfo:
    """The zone that pages use for this person."""
    person = getattr(user, "person", None)
    try:
        return ZoneInfo(person.timezone) if person and person.timezone else billing
    except (ZoneInfoNotFoundError, ValueError):
        return billing  # not in the zone data of this machine
