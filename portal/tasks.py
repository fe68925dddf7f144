"""Celery entry points of the portal itself."""

import structlog
from celery import shared_task
from django.contrib.sessions.models import Session
from django.utils import timezone

from portal.digest.send import tell_everybody
from portal.weekly.send import send_weekly

log = structlog.get_logger(__name__)


@shared_task(name="portal.tasks.send_weekly_mails", soft_time_limit=540, time_limit=600)
def send_weekly_mails() -> None:
    """Write the weekly mails that are due (beat: every five minutes)."""
    log.info("weekly mails", written=send_weekly(timezone.now()))


@shared_task(name="portal.tasks.tell_alerts", soft_time_limit=540, time_limit=600)
def tell_alerts() -> None:
    """Write to people of alerts that they were not told of (beat: every minute)."""
    log.info("alerts told", people=tell_everybody())


@shared_task(
    name="portal.tasks.remove_expired_sessions", soft_time_limit=540, time_limit=600
)
def remove_expired_sessions() -> None:
    """Delete sessions that have ended (beat: every day). Nobody signs in with them again."""
    count, _ = Session.objects.filter(expire_date__lt=timezone.now()).delete()
    log.info("expired sessions removed", count=count)
