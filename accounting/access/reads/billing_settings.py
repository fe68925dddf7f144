"""Currency and time zone of bills at an instant, and billing days.

Days are those of the time zone at the time (rules.md N31). If the zone changes, days stay in
order without overlap: the first day of the new zone is longer or shorter.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import date, datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

from accounting.access.models.billing import DEFAULT_CURRENCY, DEFAULT_TIMEZONE, Billing
from accounting.core import billing_calendar
from accounting.core.read_once import read_once


@dataclass(frozen=True, slots=True)
class BillingSettings:
    """The settings of all bills at a time."""

    currency: str = DEFAULT_CURRENCY
    timezone: str = DEFAULT_TIMEZONE

    @property
    def zone(self) -> ZoneInfo:
        """The billing time zone."""
        return ZoneInfo(self.timezone)


_remembered: ContextVar[Sequence[Billing] | None] = ContextVar("billing", default=None)


@contextmanager
def billing_remembered() -> Iterator[None]:
    """Read the settings once for a context, such as one page."""
    token = _remembered.set(_rows())
    try:
        yield
    finally:
        _remembered.reset(token)


def _rows() -> Sequence[Billing]:
    rows = _remembered.get()
    return _stored() if rows is None else rows


@read_once
def _stored() -> Sequence[Billing]:
    return list(Billing.objects.order_by("valid_from"))


def billing_at(instant: datetime) -> BillingSettings:
    """The settings at an instant; the first ones before them; else defaults."""
    rows = _rows()
    known = [row for row in rows if row.valid_from <= instant] or list(rows[:1])
    if not known:
        return BillingSettings()
    return BillingSettings(known[-1].currency, known[-1].timezone)


def billing_day(instant: datetime) -> date:
    """The billing day of an instant.

    Where another time zone starts, no day begins twice: the hours before the first midnight of a
    zone further west belong to the day on which it started (money.md M26).
    """
    with billing_remembered():
        rows = _rows()
        day = instant.astimezone(billing_at(instant).zone).date()
        for before, row in pairwise(rows):
            if row.valid_from <= instant:
                started = row.valid_from.astimezone(ZoneInfo(before.timezone)).date()
                day = max(day, started)
        return day


def midnight(day: date) -> datetime:
    """Where a billing day starts: its first instant, or the first instant of a later day, in UTC.

    This is midnight in a billing time zone, or the moment at which another zone started.
    """
    with billing_remembered():
        rows = _rows()
        zones = {ZoneInfo(row.timezone) for row in rows} or {ZoneInfo(DEFAULT_TIMEZONE)}
        candidates = [billing_calendar.midnight(day, zone) for zone in zones]
        candidates.extend(row.valid_from for row in rows[1:])
        return min(at for at in candidates if billing_day(at) >= day)
