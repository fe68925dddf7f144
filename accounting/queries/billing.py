"""Currency and time zone of bills, as they were at an instant."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from accounting.models import Billing


@dataclass(frozen=True, slots=True)
class BillingSettings:
    """What every bill of a time is in."""

    currency: str = "USD"
    timezone: str = "UTC"

    @property
    def zone(self) -> ZoneInfo:
        """The billing time zone."""
        return ZoneInfo(self.timezone)


_remembered: ContextVar[Sequence[Billing] | None] = ContextVar("billing", default=None)


@contextmanager
def billing_remembered() -> Iterator[None]:
    """Read the settings once for all that happens inside, such as one page."""
    token = _remembered.set(list(Billing.objects.order_by("valid_from")))
    try:
        yield
    finally:
        _remembered.reset(token)


def billing_at(instant: datetime) -> BillingSettings:
    """The settings in force at an instant; the first ones before them; else defaults."""
    rows = _remembered.get()
    if rows is None:
        rows = list(Billing.objects.order_by("valid_from"))
    known = [row for row in rows if row.valid_from <= instant] or list(rows[:1])
    if not known:
        return BillingSettings()
    return BillingSettings(known[-1].currency, known[-1].timezone)
