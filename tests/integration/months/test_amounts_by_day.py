"""Budgets against bookings: closed months, entries, corrections and methods (M35 to M37)."""

from datetime import UTC, date, datetime
from decimal import Decimal

from accounting.access.models.teams import Team
from accounting.budgets.reads.history import LedgerTime, ledger_time
from accounting.budgets.reads.outlook import Outlook, history_of, outlook
from accounting.core.billing_calendar import DayRange
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.ledger import IngestWindow
from accounting.months.models.period import BillingPeriod
from accounting.months.tasks.close import close_period
from accounting.months.tasks.running import book_running
from tests.integration.months.days import H100, Days

NOW = datetime(2026, 11, 20, 14, 35, tzinfo=UTC)
FIFTH = date(2026, 10, 5)
OCTOBER = DayRange(date(2026, 10, 1), date(2026, 11, 1))
NOVEMBER = DayRange(date(2026, 11, 1), date(2026, 12, 1))
HOUR = 3_600_000


def of(team: str, period: DayRange, *, is_money: bool = True) -> Outlook:
    time = ledger_time(NOW)
    known = history_of([period], time)
    ids = [Team.objects.get(slug=team).pk]
    return outlook(known, ids, period, is_money=is_money)


def test_a_closed_month_is_its_statement_whatever_changes_later(days: Days) -> None:
    days.price(H100, "1.5")
    days.use("vision", FIFTH, HOUR // 7)  # 0.2142857...
    days.use("vision", date(2026, 10, 6), HOUR // 7)
    days.enter("E-1", "vision", FIFTH, "-0.05")
    closed = close_period("2026-10")
    statement = closed.statements.get(team="vision")
    assert of("vision", OCTOBER).actual == statement.total6
    days.forget()
    days.use("vision", FIFTH, HOUR)
    assert of("vision", OCTOBER).actual == statement.total6
    # what was held is as known now
    assert of("vision", OCTOBER, is_money=False).actual == 1


def test_corrections_and_entries_count_in_the_month_that_books_them(
    days: Days,
) -> None:
    days.price(H100, "1.5")
    days.use("vision", FIFTH, HOUR)
    close_period("2026-10")
    days.forget()
    days.use("vision", FIFTH, 3 * HOUR)
    days.use("vision", date(2026, 11, 3), 10 * HOUR)
    days.enter("E-1", "vision", date(2026, 11, 4), "2.25")
    running = book_running("2026-11")
    total = running.statements.get(team="vision").total6
    assert total == Decimal("20.250000")  # 15.00, 3.00 of October, 2.25
    assert of("vision", NOVEMBER).actual == total
    assert of("vision", OCTOBER).actual == Decimal("1.500000")


def test_without_a_booking_it_is_the_statement_that_a_booking_would_make(
    days: Days,
) -> None:
    days.price(H100, "2.1")
    days.use("vision", date(2026, 11, 3), 378_000)
    days.use("vision", date(2026, 11, 4), 1_000, model="without a price")
    found = of("vision", NOVEMBER)
    statement = book_running("2026-11").statements.get(team="vision")
    assert found.actual == statement.total6
    assert found.without_money_ms == statement.without_money_ms == 1_000


def test_busy_v1_charges_no_idle_time(days: Days) -> None:
    BillingPeriod.objects.create(name="2026-11", method="busy-v1")
    days.price(H100, "2")
    for state in ("busy", "idle", "unknown"):
        days.use("vision", date(2026, 11, 3), HOUR, state=state, workload=state)
    found = of("vision", NOVEMBER)
    assert found.actual == 4
    assert found.actual == book_running("2026-11").statements.get(team="vision").total6
    assert of("vision", NOVEMBER, is_money=False).actual == 3


def test_what_is_spread_counts(days: Days) -> None:
    BillingPeriod.objects.create(name="2026-11", method="alloc-v1+even")
    days.price(H100, "2")
    days.use("vision", date(2026, 11, 3), HOUR)
    days.use("search", date(2026, 11, 3), HOUR)
    days.use("", date(2026, 11, 3), HOUR, state="free")
    booked = book_running("2026-11")
    assert booked.statements.get(team="vision").total6 == 3
    assert of("vision", NOVEMBER).actual == 3
    closed = close_period("2026-11")
    assert closed.statements.get(team="vision").total6 == 3
    assert of("vision", NOVEMBER).actual == 3


def test_the_forecast_has_the_entries(days: Days) -> None:
    days.price(H100, "1")
    day = date(2026, 10, 20)
    days.use("vision", day, HOUR)
    cluster = Cluster.objects.get()
    for number in range(31):  # up to 19 November
        on = date.fromordinal(day.toordinal() + number)
        if number:
            days.use("vision", on, HOUR)
        IngestWindow.objects.create(
            cluster=cluster,
            window_start=datetime(on.year, on.month, on.day, 12, tzinfo=UTC),
            state="done",
            rows=1,
        )
    days.enter("E-1", "vision", date(2026, 11, 4), "-4")
    time = LedgerTime(day, date(2026, 11, 20), NOW, "EUR")
    known = history_of([NOVEMBER], time)
    ids = [Team.objects.get(slug="vision").pk]
    found = outlook(known, ids, NOVEMBER, is_money=True)
    assert found.actual == 15  # 19 days less 4
    assert found.forecast
    assert found.forecast.amount == 26


def test_the_first_close_fixes_the_currency(days: Days) -> None:
    days.price(H100, "1")
    days.use("vision", FIFTH, HOUR)
    close_period("2026-10")
    assert ledger_time(NOW).currency == "EUR"
