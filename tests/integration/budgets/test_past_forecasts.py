"""Forecasts that were recorded, against what closed months came to (M39)."""

from datetime import UTC, date, datetime
from decimal import Decimal

import time_machine

from accounting.access.models.teams import Team
from accounting.budgets.actions.forecasts import record_forecasts
from accounting.budgets.models import ForecastRecord
from accounting.budgets.reads.past_forecasts import past_forecasts
from accounting.months.models.period import PeriodRevision, Statement
from tests.integration.budgets.days import FIRST, DayLedger
from tests.integration.months.people import reopening

TENTH = datetime(2026, 11, 10, 12, tzinfo=UTC)


def record(at: datetime) -> int:
    with time_machine.travel(at, tick=False):
        return record_forecasts()


def closed(period: str, payable: str, **more: object) -> None:
    """A closed month with a statement of Vision."""
    at = datetime(2026, 12, 1, tzinfo=UTC)
    revision = PeriodRevision.objects.create(
        period=period,
        starts_at=at,
        ends_at=at,
        timezone="Europe/Berlin",
        currency="EUR",
        minor_places=2,
        method="alloc-v1",
        booked_at=at,
    )
    amounts = {name: Decimal(payable) for name in ("own6", "total6", "payable")}
    zeros = dict.fromkeys(
        ("entries6", "corrections6", "busy_ms", "idle_ms", "unknown_ms"), 0
    )
    Statement.objects.create(
        revision=revision, team="vision", without_money_ms=0, **amounts, **zeros
    )
    PeriodRevision.objects.filter(pk=revision.pk).update(closed_at=at, **more)


def test_a_forecast_is_recorded_once_on_two_days(ledger: DayLedger) -> None:
    Team.objects.create(slug="search", name="Search")
    ledger.steady(FIRST, date(2026, 11, 10), 10)
    ledger.read_to(TENTH)
    assert record(TENTH.replace(day=9)) == 0
    assert record(TENTH) == 2
    assert record(TENTH.replace(hour=20)) == 0
    row = ForecastRecord.objects.get(team=ledger.team)
    assert (row.period_on, row.day) == (date(2026, 11, 1), 10)
    assert [row.amount, row.low, row.high] == [300, 300, 300]
    assert row.currency == "EUR"


def test_without_enough_history_nothing_is_recorded(ledger: DayLedger) -> None:
    ledger.steady(date(2026, 11, 1), date(2026, 11, 10), 10)
    ledger.read_to(TENTH)
    assert record(TENTH) == 0


def test_closed_months_are_compared(ledger: DayLedger) -> None:
    for day, amount in ((10, "110"), (20, "95")):
        ForecastRecord.objects.create(
            team=ledger.team,
            period_on=date(2026, 10, 1),
            day=day,
            currency="EUR",
            amount=Decimal(amount),
            low=Decimal(0),
            high=Decimal(0),
        )
    for period in ("2026-07", "2026-08", "2026-09", "2026-10"):
        closed(period, "100")
    closed("2026-11", "5", **reopening(datetime(2026, 12, 3, tzinfo=UTC)))
    found = past_forecasts("vision")
    assert [one.period_on.month for one in found] == [10, 9, 8]
    assert found[0].payable == 100
    assert [found[0].day_10, found[0].day_20] == [110, 95]
    assert found[0].error_10 == Decimal("0.1")
    assert found[0].error_20 == Decimal("-0.05")
    assert (found[1].day_10, found[1].error_10) == (None, None)
