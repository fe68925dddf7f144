"""Periods of budgets, their pace, and the thresholds that they reach (money.md M35)."""

from datetime import date
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction

from accounting.domain.core.billing_calendar import DayRange, unit_later, unit_start

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
    actual: Decimal, forecast: Decimal | None, amount: Decimal
) -> tuple[Threshold, ...]:
    """The thresholds that amounts reach: of the actual in percent, and of the forecast.

    Args:
        actual: so far.
        forecast: of the period; None without enough history.
        amount: of the budget.
    """
    found = [one for one, share in PERCENT.items() if actual * 100 >= share * amount]
    if forecast is not None and forecast >= amount:
        found.append(Threshold.FORECAST)
    return tuple(found)


def pace(period: DayRange, elapsed_days: int) -> Fraction:
    """The share of the period that is over: an even use of the budget would be there."""
    return Fraction(min(max(elapsed_days, 0), period.days), period.days)
