"""Running bookings are computed again when something changed, and only then (money.md M26)."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from accounting.access.models.teams import Team
from accounting.metering.models.usage import UsageDay
from accounting.months.actions.entries import add_entry
from accounting.months.models.period import PeriodRevision
from accounting.months.reads.periods import period_rows
from accounting.months.tasks.close import close_period
from accounting.months.tasks.keep import book_changed, open_periods
from accounting.tasks import book_periods
from portal.timetable import TIMETABLE
from tests.integration.metering.support import count_written
from tests.integration.months.days import H100, Days, payables
from tests.integration.months.people import person

pytestmark = pytest.mark.django_db(transaction=True)

NOW = datetime(2026, 11, 20, tzinfo=UTC)
HOUR = 3_600_000


@pytest.fixture(autouse=True)
def used(days: Days) -> None:
    days.price(H100, "1")
    days.use("vision", date(2026, 10, 1), HOUR)
    days.use("vision", date(2026, 11, 5), HOUR)


def booked(now: datetime = NOW) -> list[str]:
    """What the task books, once the database has counted what was written."""
    count_written()
    return book_changed(now)


def running(period: str) -> dict[str, str]:
    return payables(PeriodRevision.objects.get(period=period, closed_at=None))


def test_before_the_first_close_the_last_two_months_are_booked() -> None:
    assert booked() == ["2026-10", "2026-11"]
    assert running("2026-11") == {"platform": "0.00", "vision": "1.00"}


def test_no_month_before_the_first_of_the_ledger_is_booked(days: Days) -> None:
    """It has neither time nor entries, and pages would ask to close it next."""
    days.forget()
    days.use("vision", date(2026, 11, 5), HOUR)
    assert booked() == ["2026-11"]
    assert [row.name for row in period_rows(NOW)] == ["2026-11"]


def test_months_are_those_of_the_billing_zone() -> None:
    late = datetime(2026, 11, 30, 23, 30, tzinfo=UTC)
    assert open_periods(late) == ["2026-11", "2026-12"]


def test_nothing_is_booked_twice_without_a_change() -> None:
    booked()
    assert booked() == []


def test_usage_entries_and_closes_are_changes(days: Days) -> None:
    booked()
    days.use("vision", date(2026, 11, 6), HOUR)
    assert booked() == ["2026-10", "2026-11"]
    assert running("2026-11")["vision"] == "2.00"
    team = Team.objects.get(slug="vision")
    add_entry(
        *("credit", team, date(2026, 11, 7), Decimal("-0.50")),
        *("agreed in the review", person("anna")),
    )
    assert booked() == ["2026-10", "2026-11"]
    assert running("2026-11")["vision"] == "1.50"
    close_period("2026-10")
    assert booked() == ["2026-11"]
    assert booked() == []


def test_without_any_usage_nothing_is_booked(days: Days) -> None:
    days.forget()
    assert booked() == []
    assert not PeriodRevision.objects.exists()


def test_late_usage_of_a_closed_month_is_corrected_in_the_open_one(days: Days) -> None:
    close_period("2026-10")
    booked()
    days.use("vision", date(2026, 10, 5), HOUR)
    assert booked() == ["2026-11"]
    open_ = PeriodRevision.objects.get(period="2026-11")
    assert open_.running_lines.filter(corrects="2026-10-r1").exists()
    assert UsageDay.objects.count() == 3


def test_the_task_is_in_the_timetable() -> None:
    names = {entry["task"] for entry in TIMETABLE.values()}
    assert book_periods.name in names
