"""What teams are charged by billing day, and which days are complete (money.md M36).

The only module that knows where amounts by day come from: the frozen lines of closed periods, and
the rollups of days for all others, by the method of their period. Every query reads days only,
never five-minute facts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from django.db import connection

from accounting.access.reads.billing_settings import (
    billing_at,
    billing_day,
    billing_remembered,
    midnight,
)
from accounting.budgets.reads.history_sql import (
    EXTRAS,
    LEDGER_FIRST,
    PARTS,
    READ_DAYS,
    TOTALS,
)
from accounting.budgets.rules.forecast import micros_of
from accounting.core.billing_calendar import DAY, DayRange
from accounting.health.reads.freshness import freshness
from accounting.prices.rules.charge import charge_of

Part = tuple[str, str, str]  # model, namespace, workload


@dataclass(frozen=True, slots=True)
class DayTotal:
    """What a team held on one billing day.

    Attributes:
        raw: own and spread money in currency-milliseconds, exact.
        held_ms: held time.
        without_money_ms: held time without a price or in another currency; not in `raw`.
    """

    raw: Fraction
    held_ms: int
    without_money_ms: int


@dataclass(frozen=True, slots=True)
class LedgerTime:
    """How far the ledger reaches.

    Attributes:
        first: its first billing day; None without any data.
        today: the last day that has begun, or the last one with data if no source is live.
        until: the end of the newest data.
        currency: of bills.
    """

    first: date | None
    today: date
    until: datetime
    currency: str


@dataclass(frozen=True, slots=True)
class History:
    """The amounts of teams by day.

    Attributes:
        time: how far the ledger reaches.
        complete: the complete days of the range (M36).
        totals: by team and day; a day without held time is absent. Team 0 is unmapped time.
        extras: entries by team and day, and corrections on the first day of the month that
            booked them.
    """

    time: LedgerTime
    complete: frozenset[date]
    totals: Mapping[int, Mapping[date, DayTotal]]
    extras: Mapping[int, Mapping[date, Decimal]]

    def of(self, teams: Iterable[int]) -> dict[date, DayTotal]:
        """The sum of some teams by day."""
        found: dict[date, DayTotal] = {}
        for team in teams:
            for day, total in self.totals.get(team, {}).items():
                before = found.get(day)
                found[day] = _added(before, total) if before else total
        return found

    def entries(self, teams: Iterable[int], period: DayRange) -> Decimal:
        """Entries and corrections of some teams in a period, with six places."""
        found = (
            amount
            for day, amount in self.entries_by_day(teams).items()
            if period.first <= day < period.after
        )
        return sum(found, charge_of(Decimal(0)))

    def entries_by_day(self, teams: Iterable[int]) -> dict[date, Decimal]:
        """Entries and corrections of some teams together, by day."""
        found: dict[date, Decimal] = {}
        for team in teams:
            for day, amount in self.extras.get(team, {}).items():
                found[day] = found.get(day, Decimal(0)) + amount
        return found


def amounts(totals: Mapping[date, DayTotal], *, is_money: bool) -> dict[date, int]:
    """Days in micros of the currency, or of a GPU-hour (M36)."""
    return {
        day: micros_of(total.raw if is_money else total.held_ms)
        for day, total in totals.items()
    }


def total_of(totals: Mapping[date, DayTotal], *, is_money: bool) -> Decimal:
    """What days come to with six places: each month is rounded once, as its statement is."""
    months: dict[tuple[int, int], Fraction] = {}
    for day, total in totals.items():
        month = day.year, day.month
        raw = total.raw if is_money else Fraction(total.held_ms)
        months[month] = months.get(month, Fraction(0)) + raw
    return sum((charge_of(raw) for raw in months.values()), charge_of(Decimal(0)))


def running_totals(
    totals: Mapping[date, DayTotal], period: DayRange, *, is_money: bool
) -> dict[date, Decimal]:
    """What a period has come to at the end of each day; the last one is its `total_of`."""
    found = {}
    months, raw = charge_of(Decimal(0)), Fraction(0)
    for day in period.each():
        if day.day == 1:
            months, raw = months + charge_of(raw), Fraction(0)
        if (one := totals.get(day)) is not None:
            raw += one.raw if is_money else one.held_ms
        found[day] = months + charge_of(raw)
    return found


def history(
    days: DayRange,
    time: LedgerTime,
    teams: Iterable[int] | None = None,
    complete: frozenset[date] | None = None,
) -> History:
    """The amounts of teams in a range, and which of its days are complete; three queries.

    Args:
        days: billing days; those after today are left out.
        time: how far the ledger reaches.
        teams: ids; None for all teams and unmapped time.
        complete: the complete days of the range, if they are known.
    """
    values = {
        "first": days.first,
        "after": min(days.after, time.today + DAY),
        "currency": time.currency,
        "teams": None if teams is None else list(teams),
    }
    totals: dict[int, dict[date, DayTotal]] = {}
    for team, day, raw, held_ms, without in _fetched(TOTALS, values):
        totals.setdefault(team, {})[day] = DayTotal(Fraction(raw), held_ms, without)
    extras: dict[int, dict[date, Decimal]] = {}
    for team, day, amount in _fetched(EXTRAS, values | {"after": days.after}):
        extras.setdefault(team, {})[day] = amount
    known = complete_days(days, time) if complete is None else complete
    return History(time, known, totals, extras)


def parts_of(
    team: int, days: DayRange, time: LedgerTime
) -> dict[Part, dict[date, int]]:
    """The micros of a team's (model, namespace, workload) by day; one query."""
    values = {
        "first": days.first,
        "after": days.after,
        "currency": time.currency,
        "teams": [team],
    }
    found: dict[Part, dict[date, int]] = {}
    for *part, day, raw in _fetched(PARTS, values):
        model, namespace, workload = part
        of_day = found.setdefault((model, namespace, workload), {})
        of_day[day] = micros_of(raw)
    return found


def ledger_time(now: datetime) -> LedgerTime:
    """How far the ledger reaches at a moment; two queries, and one of the billing settings."""
    fresh = freshness()
    return ledger_time_of(now, fresh.data_to, is_live=fresh.is_live)


def ledger_time_of(
    now: datetime, data_to: datetime | None, *, is_live: bool
) -> LedgerTime:
    """The same where it is known how current the data is; one query less.

    Args:
        now: the moment.
        data_to: end of the newest window with data.
        is_live: some source is not a file.
    """
    first, fixed = _fetched(LEDGER_FIRST, {})[0]
    until = min(now, data_to) if data_to else now
    latest = now if is_live else until - timedelta(milliseconds=1)
    with billing_remembered():
        currency = fixed or billing_at(now).currency
        return LedgerTime(first, billing_day(latest), until, currency)


def complete_days(days: DayRange, time: LedgerTime) -> frozenset[date]:
    """The complete days of a range (M36); one query, and one of the billing settings.

    A day is over when there are later data. A day without any data is not complete either: what
    was held on it is not known.
    """
    start = max(days.first, time.first or days.after)
    after = min(days.after, time.today + DAY)
    if after <= start:
        return frozenset()
    wanted = DayRange(start, after).each()
    with billing_remembered():
        edges = [midnight(day) for day in (*wanted, after)]
    read = {n for (n,) in _fetched(READ_DAYS, {"edges": edges})}
    numbered = zip(range(1, len(edges)), wanted, edges[1:], strict=True)
    return frozenset(day for n, day, end in numbered if n in read and end <= time.until)


def _fetched(query: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return list(cursor.fetchall())


def _added(one: DayTotal, other: DayTotal) -> DayTotal:
    return DayTotal(
        one.raw + other.raw,
        one.held_ms + other.held_ms,
        one.without_money_ms + other.without_money_ms,
    )
