"""Periods, pace and thresholds of budgets by hand (M35)."""

from datetime import date
from decimal import Decimal
from fractions import Fraction

import pytest

from accounting.budgets.rules.budgets import (
    Threshold,
    is_expected,
    pace,
    period_of,
    reached,
)
from accounting.core.billing_calendar import DayRange

AMOUNT = Decimal(100)
DAY_1 = date(2026, 11, 1)


@pytest.mark.parametrize(
    ("unit", "first", "after"),
    [
        ("month", date(2026, 11, 1), date(2026, 12, 1)),
        ("quarter", date(2026, 10, 1), date(2027, 1, 1)),
        ("year", date(2026, 1, 1), date(2027, 1, 1)),
    ],
)
def test_periods_are_those_of_the_calendar(unit: str, first: date, after: date) -> None:
    assert period_of(unit, date(2026, 11, 23)) == DayRange(first, after)
    assert period_of(unit, first) == DayRange(first, after)


@pytest.mark.parametrize(
    ("actual", "names"),
    [("49.999999", ""), ("50", "50"), ("79.999999", "50"), ("80", "50 80"),
     ("99.999999", "50 80"), ("100", "50 80 100"), ("250", "50 80 100")],
)  # fmt: skip
def test_thresholds_of_the_actual(actual: str, names: str) -> None:
    assert " ".join(reached([(DAY_1, Decimal(actual))], AMOUNT)) == names


def test_a_threshold_has_the_first_day_at_whose_end_it_was_passed() -> None:
    days = [date(2026, 11, day) for day in range(1, 5)]
    spent = [Decimal(one) for one in (30, 85, 40, 120)]  # a credit on the third day
    assert reached(zip(days, spent, strict=True), AMOUNT) == {
        Threshold.HALF: (days[1], Decimal(85)),
        Threshold.MOST: (days[1], Decimal(85)),
        Threshold.ALL: (days[3], Decimal(120)),
    }
    assert reached([], AMOUNT) == {}


def test_the_threshold_of_the_forecast() -> None:
    assert is_expected(AMOUNT, AMOUNT)
    assert not is_expected(Decimal("99.999999"), AMOUNT)
    assert not is_expected(None, AMOUNT)


def test_pace_is_the_share_of_days_that_are_over() -> None:
    november = period_of("month", date(2026, 11, 23))
    assert pace(november, 22) == Fraction(22, 30)
    assert pace(november, 45) == 1
    assert pace(november, -1) == 0
