"""When a person is told of alerts. Pure: it gets the time of the database."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from scheduler_view.alerts.rules.states import NEW_FOR

GATHERS = timedelta(minutes=3)
"""From when the first alert fires: a few looks, a minute apart, find the causes of one moment."""
PAUSE = timedelta(hours=1)  # between two mails to a person


def is_paused(told_at: datetime | None, at: datetime) -> bool:
    """Whether the last mail was less than an hour ago.

    Not if it was in the future: then a clock went back.
    """
    return told_at is not None and told_at <= at < told_at + PAUSE


def is_due(marks: Iterable[datetime], at: datetime) -> bool:
    """Whether one of the alerts was marked at least three minutes ago, or in the future."""
    return any(not at - GATHERS < marked_at <= at for marked_at in marks)


def marked_since(told_at: datetime | None, at: datetime) -> datetime:
    """What was marked later is told: of the last day, and after an outage since the last mail."""
    oldest = at - NEW_FOR
    return min(oldest, told_at) if told_at else oldest
