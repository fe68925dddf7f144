"""Days on which a team's charge is unusual, and what drove them (money.md M40)."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from math import ceil

from accounting.access.reads.teams import UNMAPPED_TEAM, TeamRef
from accounting.access.scope import Scope, readable_teams
from accounting.budgets.reads.history import (
    History,
    LedgerTime,
    Part,
    amounts,
    history,
    parts_of,
)
from accounting.budgets.rules.anomalies import DayCheck, check_day, driver, margin
from accounting.budgets.rules.forecast import (
    MICROS,
    WINDOW_DAYS,
    NotEnoughHistory,
    units_of,
)
from accounting.core.billing_calendar import DAY, DayRange
from accounting.kit.rows import TextOrNull, column, listed, member

NO_PART: Part = ("", "", "")


@listed("Anomaly")
class AnomalyRow:
    """An unusual day of a team, and the part of it that moved most."""

    team: str = column()
    day: date = column()
    currency: str = column()
    expected: Decimal = column()
    actual: Decimal = column()

    @member()
    def difference(self) -> Decimal:
        """Actual less expected."""
        return self.actual - self.expected

    model: TextOrNull = column()
    namespace: TextOrNull = column()
    workload: TextOrNull = column()
    team_name: str
    team_slot: int


@dataclass(frozen=True, slots=True)
class AnomalyReport:
    """The anomalies of a range, newest first, the largest difference of a day first.

    Attributes:
        rows: the anomalies.
        checked: days of the range that have enough history.
        days: days of the range up to today.
        series: micros by complete day of each team that ever held time, days before the range
            included.
    """

    rows: tuple[AnomalyRow, ...]
    checked: int
    days: int
    series: Mapping[TeamRef, Mapping[date, int]]


@dataclass(frozen=True, slots=True)
class ComparedDay:
    """A complete day of a team against what was expected, in currency units.

    Attributes:
        expected, low, high: None without enough history. A day that is unusual is outside of the
            range, or at its end; no charge is below zero.
    """

    day: date
    actual: Decimal
    expected: Decimal | None = None
    low: Decimal | None = None
    high: Decimal | None = None


def compared_days(
    series: Mapping[date, int], days: DayRange, minimum: Decimal
) -> list[ComparedDay]:
    """Every complete day of a range, from the days of a team.

    Args:
        series: as in a report.
        days, minimum: as for `anomaly_report`.
    """
    least = int(minimum * MICROS)
    found = []
    for day in sorted(series):
        if not days.first <= day < days.after:
            continue
        usual: tuple[int, ...] = ()
        with suppress(NotEnoughHistory):
            middle = check_day(series, day, least).expected
            apart = ceil(margin(series, day, least))
            usual = (middle, max(middle - apart, 0), middle + apart)
        found.append(ComparedDay(day, *map(units_of, (series[day], *usual))))
    return found


def anomaly_report(
    scope: Scope,
    time: LedgerTime,
    days: DayRange,
    minimum: Decimal,
    teams: Iterable[str] = (),
) -> AnomalyReport:
    """Check every complete day of a range for every team that the scope may read.

    Args:
        scope: finance sees every team and unmapped time, a lead their teams.
        time: how far the ledger reaches.
        days: billing days.
        minimum: the smallest difference, in the billing currency.
        teams: only these; empty for all.
    """
    known = history(DayRange(days.first - WINDOW_DAYS * DAY, days.after), time)
    wanted = [day for day in sorted(known.complete) if days.first <= day < days.after]
    least = int(minimum * MICROS)
    rows = []
    by_team = {
        ref: series
        for ref in _teams(scope, teams)
        if (series := _series(known, ref.id))
    }
    for ref, series in by_team.items():
        rows.extend(_rows(ref, series, _found(series, wanted, least), time))
    rows.sort(key=lambda row: (-row.day.toordinal(), -abs(row.difference), row.team))
    past = min(days.after, time.today + DAY) - days.first
    checked = [day for day in wanted if _has_window(known, day)]
    return AnomalyReport(tuple(rows), len(checked), max(past.days, 0), by_team)


def _teams(scope: Scope, slugs: Iterable[str]) -> list[TeamRef]:
    teams = readable_teams(scope)
    if not scope.sees_all:
        teams = teams.filter(pk__in=scope.lead_of)
    found = [
        TeamRef(row.pk, row.slug, row.name, row.department, row.colour_slot)
        for row in teams
    ]
    if scope.sees_all:
        found.append(UNMAPPED_TEAM)
    only = set(slugs)
    return [ref for ref in found if not only or ref.slug in only]


def _series(known: History, team: int) -> dict[date, int]:
    """A team's complete days; empty if it never held time."""
    if team not in known.totals:
        return {}
    micros = amounts(known.totals[team], is_money=True)
    return {day: micros.get(day, 0) for day in known.complete}


def _found(
    series: Mapping[date, int], wanted: Iterable[date], least: int
) -> dict[date, DayCheck]:
    found = {}
    for day in wanted:
        try:
            check = check_day(series, day, least)
        except NotEnoughHistory:
            continue
        if check.is_anomaly:
            found[day] = check
    return found


def _has_window(known: History, day: date) -> bool:
    try:
        check_day(dict.fromkeys(known.complete, 0), day)
    except NotEnoughHistory:
        return False
    return True


def _rows(
    ref: TeamRef,
    series: Mapping[date, int],
    found: Mapping[date, DayCheck],
    time: LedgerTime,
) -> list[AnomalyRow]:
    if not found:
        return []
    around = DayRange(min(found) - WINDOW_DAYS * DAY, max(found) + DAY)
    parts = parts_of(ref.id, around, time)
    rows = []
    for day, check in found.items():
        model, namespace, workload = driver(parts, series, day) or NO_PART
        rows.append(
            AnomalyRow(
                team=ref.slug,
                team_name=ref.name,
                team_slot=ref.slot,
                day=day,
                currency=time.currency,
                expected=units_of(check.expected),
                actual=units_of(check.actual),
                model=model,
                namespace=namespace,
                workload=workload,
            )
        )
    return rows
