"""Currency and time zone of bills, as they were at an instant."""

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


def billing_at(instant: datetime) -> BillingSettings:
    """The settings in force at an instant; the first ones before them; else defaults."""
    rows = Billing.objects.order_by("valid_from")
    row = rows.filter(valid_from__lte=instant).last() or rows.first()
    if row is None:
        return BillingSettings()
    return BillingSettings(row.currency, row.timezone)
