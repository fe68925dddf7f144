"""What teams have spent in a period, and what it is expected to come to (money.md M36-M39)."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

from accounting.budgets.reads.history import (
    DayTotal,
    History,
    LedgerTime,
    amounts,
    complete_days,
    history,
    running_totals,
    total_of,
)
from accounting.budgets.rules.forecast import (
    WINDOW_DAYS,
    Basis,
    Forecast,
    NotEnoughHistory,
    basis_of,
    forecast,
    shift_of,
    units_of,
)
from accounting.core.billing_calendar import DAY, DayRange

READ_BACK = timedelta(days=63)
"""How far back the last complete day is looked for, with its window: ingestion may be behind."""


@dataclass(frozen=True, slots=True)
class ForecastRow:
    """A forecast and its 80% range, in the currency or in GPU-hours, with six places."""

    amount: Decimal
    low: Decimal
    high: Decimal
    days_left: int
    past_error: Decimal | None


@dataclass(frozen=True, slots=True)
class Outlook:
    """A period of some teams.

    Attributes:
        period: billing days.
        actual: so far, with entries and corrections, with six places.
        forecast: None without enough history.
        history_days: complete days that the forecast is, or would be, made from.
        without_money_ms: held time without an amount: the actual is a lower bound.
        extras: the entries and corrections in `actual`; 0 for GPU-hours.
        shift: how much the last week differs from what the forecast expects of one, if it is much.
    """

    period: DayRange
    actual: Decimal
    forecast: ForecastRow | None
    history_days: int
    without_money_ms: int
    extras: Decimal = Decimal(0)
    shift: Decimal | None = None

    @property
    def shift_size(self) -> float | None:
        """`shift` without its sign."""
        return None if self.shift is None else abs(float(self.shift))


@dataclass(frozen=True, slots=True)
class PathDay:
    """The end of one day of a period: what it has come to, or is expected to have come to.

    Attributes:
        actual: None after today.
        forecast: None before today, and without enough history.
    """

    day: date
    actual: Decimal | None
    forecast: ForecastRow | None


def history_of(
    periods: Iterable[DayRange], time: LedgerTime, teams: Iterable[int] | None = None
) -> History:
    """The amounts that outlooks of some periods need; of all teams without `teams`.

    Days before the periods are read only as far as the window of the last complete day reaches.
    """
    start = min(period.first for period in periods)
    after = max(time.today + DAY, start + DAY)
    complete = complete_days(DayRange(min(start, time.today - READ_BACK), after), time)
    last = max(complete, default=time.today)
    first = min(start, last - (WINDOW_DAYS - 1) * DAY)
    known = frozenset(day for day in complete if day >= first)
    return history(DayRange(first, after), time, teams, known)


def outlook(
    known: History, teams: Iterable[int], period: DayRange, *, is_money: bool
) -> Outlook:
    """A period of some teams together.

    Args:
        known: covers the period up to today, and the days before today.
        teams: ids.
        period: billing days.
        is_money: False for GPU-hours.
    """
    teams = list(teams)
    totals = known.of(teams)
    inside = _inside(totals, period)
    extra = known.entries(teams, period) if is_money else Decimal(0)
    basis, days = _basis(known, totals, is_money=is_money)
    return Outlook(
        period,
        total_of(inside, is_money=is_money) + extra,
        _row(forecast(period, basis, _micros(extra))) if basis else None,
        days,
        sum(one.without_money_ms for one in inside.values()) if is_money else 0,
        extra,
        shift_of(basis) if basis else None,
    )


def path(
    known: History, teams: Iterable[int], period: DayRange, *, is_money: bool
) -> list[PathDay]:
    """The period of an outlook day by day, cumulative."""
    teams = list(teams)
    totals = known.of(teams)
    basis, _ = _basis(known, totals, is_money=is_money)
    today = known.time.today
    spent = spent_by_day(known, teams, period, is_money=is_money)

    def of_day(day: date) -> PathDay:
        until = DayRange(period.first, day + DAY)
        expected = None
        if basis and day >= today:
            extra = known.entries(teams, until) if is_money else Decimal(0)
            expected = _row(forecast(until, basis, _micros(extra)))
        return PathDay(day, spent.get(day), expected)

    return [of_day(day) for day in period.each()]


def spent_by_day(
    known: History, teams: Iterable[int], period: DayRange, *, is_money: bool
) -> dict[date, Decimal]:
    """What a period had come to at the end of each day up to today, with entries then."""
    teams = list(teams)
    totals = running_totals(known.of(teams), period, is_money=is_money)
    extras = known.entries_by_day(teams) if is_money else {}
    found, entries = {}, Decimal(0)
    for day, total in totals.items():
        entries += extras.get(day, Decimal(0))
        if day <= known.time.today:
            found[day] = total + entries
    return found


def _micros(amount: Decimal) -> int:
    """An amount with at most six places."""
    return int(amount.scaleb(6))


def _inside(totals: dict[date, DayTotal], period: DayRange) -> dict[date, DayTotal]:
    return {
        day: total
        for day, total in totals.items()
        if period.first <= day < period.after
    }


def _basis(
    known: History, totals: dict[date, DayTotal], *, is_money: bool
) -> tuple[Basis | None, int]:
    """What forecasts are made from, if it is enough, and the days of its window."""
    micros = amounts(totals, is_money=is_money)
    complete = {day: micros.get(day, 0) for day in known.complete}
    so_far = {day: one for day, one in micros.items() if day not in complete}
    if known.time.first is None:
        return None, 0
    try:
        basis = basis_of(complete, so_far, known.time.first)
    except NotEnoughHistory as error:
        return None, error.days
    return basis, len(basis.window)


def _row(found: Forecast) -> ForecastRow:
    return ForecastRow(
        units_of(found.amount),
        units_of(found.low),
        units_of(found.high),
        found.days_left,
        found.past_error,
    )
