"""Amounts of teams by day, and which days are complete (M36)."""

from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounting.access.models.teams import Team
from accounting.budgets.reads.history import (
    History,
    amounts,
    history,
    ledger_time,
    parts_of,
    running_totals,
    total_of,
)
from accounting.core.billing_calendar import DayRange
from accounting.metering.models.cluster import Source
from tests.integration.budgets.days import FIRST, NOW, DayLedger

RANGE = DayRange(date(2026, 9, 1), date(2026, 12, 1))
TODAY = date(2026, 11, 20)


def known() -> History:
    return history(RANGE, ledger_time(timezone.now()))


def test_a_day_is_the_sum_of_its_priced_time(ledger: DayLedger) -> None:
    ledger.held(FIRST, 40)
    ledger.held(FIRST, 2, workload="other")
    ledger.held(FIRST, 5, workload="unpriced", rate=None)
    ledger.held(FIRST, 7, workload="dollars", currency="USD")
    total = known().of([ledger.team.pk])[FIRST]
    assert total.raw == Fraction(42 * 3_600_000)
    assert total.held_ms == 54_000
    assert total.without_money_ms == 12_000
    micros = amounts({FIRST: total}, is_money=True)
    assert micros == {FIRST: 42_000_000}
    assert amounts({FIRST: total}, is_money=False) == {FIRST: 15_000}  # 54 s


def test_teams_are_added(ledger: DayLedger) -> None:
    other = Team.objects.create(slug="search", name="Search")
    ledger.held(FIRST, 40)
    ledger.held(FIRST, 2, team=other)
    both = known().of([ledger.team.pk, other.pk])
    assert total_of(both, is_money=True) == Decimal("42.000000")


def test_each_month_is_rounded_once(ledger: DayLedger) -> None:
    days = known().of([ledger.team.pk])
    assert str(total_of(days, is_money=True)) == "0.000000"
    for day in (FIRST, date(2026, 10, 2), date(2026, 11, 1)):
        ledger.held(day, 1, rate=1)  # 1/3600 = 0.00027777...
    days = known().of([ledger.team.pk])
    # October 0.000556 (not twice 0.000278), November 0.000278
    assert total_of(days, is_money=True) == Decimal("0.000834")
    assert sum(amounts(days, is_money=True).values()) == 834
    by_day = running_totals(days, RANGE, is_money=True)
    assert by_day[date(2026, 10, 31)] == Decimal("0.000556")
    assert by_day[RANGE.last] == total_of(days, is_money=True)


def test_days_that_are_over_and_read_are_complete(ledger: DayLedger) -> None:
    ledger.steady(FIRST, date(2026, 10, 4), 10)
    ledger.read_to(NOW)
    found = known()
    assert found.complete == {FIRST + timedelta(n) for n in range(3)}
    assert found.time.today == TODAY
    assert found.time.first == FIRST


@pytest.mark.parametrize("state", ["pending", "claimed", "failed"])
def test_a_day_with_a_window_that_is_due_is_not_complete(
    ledger: DayLedger, state: str
) -> None:
    ledger.steady(FIRST, date(2026, 10, 4), 10)
    ledger.read_to(NOW)
    ledger.cluster.ingestwindow_set.filter(window_start__date=FIRST).update(state=state)
    assert FIRST not in known().complete


def test_an_incomplete_answer_that_is_read_again_is_due(ledger: DayLedger) -> None:
    ledger.steady(FIRST, date(2026, 10, 4), 10)
    ledger.read_to(NOW)
    windows = ledger.cluster.ingestwindow_set.filter(window_start__date=FIRST)
    windows.update(state="partial", next_attempt_at=None)
    assert FIRST in known().complete
    windows.update(next_attempt_at=NOW + timedelta(minutes=5))
    assert FIRST not in known().complete


def test_a_day_without_data_is_not_complete(ledger: DayLedger) -> None:
    ledger.steady(FIRST, date(2026, 10, 2), 10)
    ledger.steady(date(2026, 10, 3), date(2026, 10, 4), 10)
    ledger.read_to(NOW)
    assert known().complete == {FIRST, date(2026, 10, 3)}


def test_a_day_is_not_over_before_there_are_later_data(ledger: DayLedger) -> None:
    ledger.steady(FIRST, date(2026, 10, 4), 10)  # the newest window is that of 12:00
    assert known().complete == {FIRST, date(2026, 10, 2)}
    assert known().time.today == TODAY  # a source is live


def test_without_live_sources_today_is_the_last_day_with_data(
    ledger: DayLedger,
) -> None:
    ledger.steady(FIRST, date(2026, 10, 4), 10)
    Source.objects.update(kind="openmetrics")
    assert known().time.today == date(2026, 10, 3)


def test_a_day_is_that_of_the_billing_zone(ledger: DayLedger) -> None:
    """22:00 UTC on 30 September is midnight of 1 October in Berlin."""
    ledger.steady(FIRST, date(2026, 10, 3), 10)
    ledger.read_to(NOW)
    windows = ledger.cluster.ingestwindow_set
    windows.create(window_start=NOW.replace(month=9, day=30, hour=22), state="pending")
    assert FIRST not in known().complete


def test_an_empty_ledger_has_no_days(ledger: DayLedger) -> None:
    del ledger
    found = known()
    assert found.time.first is None
    assert found.complete == set()
    assert found.totals == {}


def test_parts_are_named_by_model_namespace_and_workload(ledger: DayLedger) -> None:
    ledger.held(FIRST, 40)
    ledger.held(FIRST, 2, workload="sweep", model="NVIDIA-A10")
    found = parts_of(ledger.team.pk, RANGE, ledger_time(timezone.now()))
    assert found == {
        ("NVIDIA-L40S", "vision-prod", "train"): {FIRST: 40_000_000},
        ("NVIDIA-A10", "vision-prod", "sweep"): {FIRST: 2_000_000},
    }


def test_three_queries_and_the_settings(
    ledger: DayLedger, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    ledger.steady(FIRST, date(2026, 10, 4), 10)
    time = ledger_time(timezone.now())
    with django_assert_num_queries(4):
        history(RANGE, time)
