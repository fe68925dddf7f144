"""Periods of budgets, their pace, and the thresholds that they reach (money.md M35)."""

from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction

from accounting.core.billing_calendar import DayRange, unit_later, unit_start

UNITS = ("month", "quarter", "year")


class Threshold(StrEnum):
    """What fires once in each period and version of the amount."""

    HALF = "50"
    MOST = "80"
    ALL = "100"
    FORECAST = "forecast"


PERCENT = {Threshold.HALF: 50, Threshold.MOST: 80, Threshold.ALL: 100}


def period_of(unit: str, day: date) -> DayRange:
    """The calendar month, quarter or year of a day."""
    first = unit_start(day, unit)
    return DayRange(first, unit_later(first, unit, 1))


def reached(
    spent: Iterable[tuple[date, Decimal]], amount: Decimal
) -> dict[Threshold, tuple[date, Decimal]]:
    """The thresholds of the actual: the day at whose end each was passed, and what was spent then.

    Args:
        spent: days in their order, and what the period had come to at the end of each; the last
            one so far.
        amount: of the budget.

    Returns:
        Only thresholds that were passed, in their order. A credit on a later day does not take
        one back.
    """
    found: dict[Threshold, tuple[date, Decimal]] = {}
    for day, actual in spent:
        for one, share in PERCENT.items():
            if one not in found and actual * 100 >= share * amount:
                found[one] = day, actual
    return found


def is_expected(forecast: Decimal | None, amount: Decimal) -> bool:
    """Whether the forecast of a period reaches the budget; False without enough history."""
    return forecast is not None and forecast >= amount


def pace(period: DayRange, elapsed_days: int) -> Fraction:
    """The share of the period that is over: an even use of the budget would be there."""
    return Fraction(min(max(elapsed_days, 0), period.days), period.days)
