"""Which hours a month has, also where the time zone changes (money.md M26; X4)."""

from datetime import UTC, date, datetime

import pytest

from accounting.access.models.billing import Billing
from accounting.access.reads.billing_settings import billing_day
from accounting.months.tasks.periods import PeriodError, PeriodTerms

pytestmark = pytest.mark.django_db
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


def hours(name: str) -> int:
    terms = PeriodTerms.of(name)
    return int((terms.ends_at - terms.starts_at).total_seconds() // 3600)


@pytest.mark.parametrize(
    ("zone", "name", "expected"),
    [
        ("Europe/Berlin", "2026-03", 743),
        ("Europe/Berlin", "2026-10", 745),
        ("America/New_York", "2026-11", 721),
        ("UTC", "2026-02", 672),
        ("UTC", "2028-02", 696),
    ],
)
def test_hours_of_months(zone: str, name: str, expected: int) -> None:
    Billing.objects.create(currency="EUR", timezone=zone, valid_from=LONG_AGO)
    assert hours(name) == expected


def test_time_before_a_zone_further_west_is_booked_on_the_first() -> None:
    ends = datetime(2026, 10, 31, 23, tzinfo=UTC)  # of October in Berlin
    Billing.objects.create(
        currency="EUR", timezone="Europe/Berlin", valid_from=LONG_AGO
    )
    Billing.objects.create(currency="EUR", timezone="America/New_York", valid_from=ends)
    assert (hours("2026-10"), hours("2026-11")) == (745, 726)
    assert PeriodTerms.of("2026-11").starts_at == ends
    assert billing_day(ends) == date(2026, 11, 1)
    assert billing_day(datetime(2026, 11, 2, 4, 59, tzinfo=UTC)) == date(2026, 11, 1)
    assert billing_day(datetime(2026, 11, 2, 5, tzinfo=UTC)) == date(2026, 11, 2)


@pytest.mark.parametrize("name", ["2026-13", "2026-1", "october", "2026-10-01"])
def test_what_is_not_a_month_is_refused(name: str) -> None:
    with pytest.raises(PeriodError, match="is not a month such as 2026-10"):
        PeriodTerms.of(name)
