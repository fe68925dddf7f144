"""Forecast of a period from the last complete days, with an 80% range (money.md M36-M39).

Amounts are whole micros: millionths of a currency unit or of a GPU-hour. A *complete* day is over
and no window of it is due. Every result depends only on the amounts by day.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import isqrt

from accounting.core.billing_calendar import DAY, DayRange
from accounting.core.interval import HOUR_MS

MICROS = 10**6
WINDOW_DAYS = 28  # M36
LEAST_DAYS = 14  # M36
WEEKS, WEEK_DAYS = 4, 7  # M38
LEAST_SHIFT = Fraction(1, 4)  # M37: from which pages say that a week was another one
SPREAD_SQUARED = Fraction(1606, 1000) ** 2  # M38: of mean absolute errors, for 80%

Days = Mapping[date, int]


class NotEnoughHistory(Exception):
    """The window has fewer than 14 complete days (M36)."""

    def __init__(self, days: int) -> None:
        super().__init__(f"{days} of {LEAST_DAYS} complete days")
        self.days = days


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a period is expected to come to, in micros.

    Attributes:
        amount: the forecast (M37).
        low, high: the 80% range (M38); both are `amount` if no day is left.
        days_left: days of the period that are not complete.
        past_error: mean error of the method over its window, relative to the amounts (M39); None
            if these are 0.
    """

    amount: int
    low: int
    high: int
    days_left: int
    past_error: Decimal | None


def micros_of(raw: Fraction | Decimal | int) -> int:
    """Raw money, or milliseconds, in micros per hour, half-even (M36)."""
    top, bottom = raw.as_integer_ratio()  # a page has a hundred thousand: no fractions
    bottom *= HOUR_MS
    whole, rest = divmod(top * MICROS, bottom)
    is_more = 2 * rest > bottom or (2 * rest == bottom and whole % 2 == 1)
    return whole + is_more


def units_of(micros: int) -> Decimal:
    """Micros as a decimal with six places."""
    return Decimal(micros).scaleb(-6)


def window_to(days: Days, last: date) -> dict[date, int]:
    """The complete days of the 28 that end with `last` (M36).

    Raises:
        NotEnoughHistory: there are fewer than 14.
    """
    found = {day: days[day] for day in _window_days(last) if day in days}
    if len(found) < LEAST_DAYS:
        raise NotEnoughHistory(len(found))
    return found


@lru_cache(maxsize=1_000)
def _window_days(last: date) -> tuple[date, ...]:
    return tuple(last - timedelta(days=n) for n in range(WINDOW_DAYS))


def expected(window: Days, day: date) -> int:
    """The median of the window's amounts on this weekday; of all if it has none (M37)."""
    return _median(_like(window, day) or list(window.values()))


def residuals(window: Days) -> dict[date, int]:
    """Each day's amount less the median of the others on its weekday (M38)."""
    found = {}
    for day, amount in window.items():
        others = {other: value for other, value in window.items() if other != day}
        found[day] = amount - expected(others, day)
    return found


def mean_error(errors: Days) -> Fraction:
    """The mean absolute residual (M38: A)."""
    return Fraction(sum(map(abs, errors.values())), len(errors))


@dataclass(frozen=True, slots=True)
class Basis:
    """What forecasts of any period are made from.

    Attributes:
        complete: the amount of every complete day, also of those outside of the period.
        so_far: what days that are not complete have until now.
        ledger_first: the first day of the ledger; days before it cost nothing.
        window: of the last complete day.
        errors: of the days of the window.
    """

    complete: Days
    so_far: Days
    ledger_first: date
    window: Days
    errors: Days

    @property
    def last(self) -> date:
        """The last complete day."""
        return max(self.window)


def basis_of(complete: Days, so_far: Days, ledger_first: date) -> Basis:
    """The window up to the last complete day, with its errors.

    Raises:
        NotEnoughHistory: too few complete days.
    """
    window = window_to(complete, max(complete, default=ledger_first))
    return Basis(complete, so_far, ledger_first, window, residuals(window))


def forecast(period: DayRange, basis: Basis, entries: int = 0) -> Forecast:
    """The forecast of a period (M37, M38).

    Args:
        period: billing days.
        basis: the amounts by day.
        entries: entries and corrections of the period.
    """
    complete, so_far = basis.complete, basis.so_far
    start = max(period.first, basis.ledger_first)
    days = [day for day in period.each() if day >= start]
    others = [day for day in days if day not in complete]
    known = entries + sum(complete[day] for day in days if day in complete)
    amount = known + sum(
        max(expected(basis.window, day), so_far.get(day, 0)) for day in others
    )
    least = known + sum(max(0, so_far.get(day, 0)) for day in others)
    width = _width(basis.errors, len(others), basis.last)
    return Forecast(
        amount,
        max(amount - width, least),
        amount + width,
        len(others),
        past_error(basis.window, basis.errors),
    )


def shift_of(basis: Basis) -> Decimal | None:
    """How much the last week differs from what is expected of one, four places (M37).

    None below a quarter, without all seven days, and where nothing is expected.
    """
    week = [basis.last - n * DAY for n in range(WEEK_DAYS)]
    if not all(day in basis.window for day in week):
        return None
    usual = sum(expected(basis.window, day) for day in week)
    if not usual:
        return None
    share = Fraction(sum(basis.window[day] for day in week), usual) - 1
    if abs(share) < LEAST_SHIFT:
        return None
    return Decimal(round(share * 10**4)).scaleb(-4)


def past_error(window: Days, errors: Days) -> Decimal | None:
    """The sum of the absolute residuals over that of the amounts, four places (M39)."""
    whole = sum(map(abs, window.values()))
    if not whole:
        return None
    wrong = sum(map(abs, errors.values()))
    return Decimal(round(Fraction(wrong * 10**4, whole))).scaleb(-4)


def _like(window: Days, day: date) -> list[int]:
    weekday = day.weekday()
    return [amount for other, amount in window.items() if other.weekday() == weekday]


def _median(amounts: Collection[int]) -> int:
    """The middle one; of an even number, the half-even mean of the middle two (M37)."""
    ordered = sorted(amounts)
    middle, is_odd = divmod(len(ordered), 2)
    if is_odd:
        return ordered[middle]
    return round(Fraction(ordered[middle - 1] + ordered[middle], 2))


def _width(errors: Days, days_left: int, last: date) -> int:
    """Half the width of the range (M38): of days that err alone, or of weeks that err together."""
    daily = mean_error(errors) ** 2 * days_left
    weekly = _mean_week(errors, last) ** 2 * Fraction(days_left, WEEK_DAYS)
    growth = 1 + Fraction(days_left, len(errors))
    return isqrt(int(SPREAD_SQUARED * max(daily, weekly) * growth))


def _mean_week(errors: Days, last: date) -> Fraction:
    """The mean absolute sum of the residuals of complete weeks, counted back from `last`."""
    sums = []
    for week in range(WEEKS):
        end = last - WEEK_DAYS * week * DAY
        days = [end - n * DAY for n in range(WEEK_DAYS)]
        if all(day in errors for day in days):
            sums.append(abs(sum(errors[day] for day in days)))
    return Fraction(sum(sums), len(sums)) if sums else Fraction(0)
