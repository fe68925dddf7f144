"""Keeps the running bookings of open and settling months up to date."""

from datetime import datetime

from django.db import transaction

from accounting.access.reads.billing_settings import billing_day
from accounting.metering.models.usage import UsageDay
from accounting.months.models.period import PeriodRevision
from accounting.months.reads.entries import waiting_entries
from accounting.months.reads.inputs import inputs_now
from accounting.months.tasks.locking import hold_booking
from accounting.months.tasks.periods import (
    first_day,
    first_period,
    next_period,
    next_to_close,
    previous_period,
)
from accounting.months.tasks.running import book_running


def book_changed(now: datetime) -> list[str]:
    """Book the months that are not closed, up to the current one, if something changed.

    Before the first close these are the last two months; no month before the ledger's first day.

    Returns:
        The months that were booked.
    """
    if not UsageDay.objects.exists():
        return []
    return [period for period in open_periods(now) if _book(period, now)]


def open_periods(now: datetime) -> list[str]:
    """Months that are open or settling, in order."""
    current = f"{billing_day(now):%Y-%m}"
    period = next_to_close() or max(previous_period(current), first_period() or "")
    found = []
    while period <= current:
        found.append(period)
        period = next_period(period)
    return found


def _book(period: str, now: datetime) -> bool:
    with transaction.atomic():
        hold_booking()
        found = PeriodRevision.objects.filter(period=period, reopened_at=None).first()
        if found is not None and (found.is_closed or _is_up_to_date(found)):
            return False
        book_running(period, now)
        return True


def _is_up_to_date(booked: PeriodRevision) -> bool:
    """Whether nothing was written since; what is counted of a new entry arrives late."""
    is_same = booked.causes and booked.inputs == inputs_now()
    return bool(is_same) and not waiting_entries(first_day(booked.period))
