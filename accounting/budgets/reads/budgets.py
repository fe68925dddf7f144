"""Budgets with what was spent in a period, and its forecast (money.md M35)."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Annotated

from django.db.models import QuerySet

from accounting.access.models.teams import Team
from accounting.access.scope import Scope
from accounting.budgets.models import Budget, BudgetMeasure, BudgetUnit, BudgetVersion
from accounting.budgets.reads.alerts import AlertRow, reached_now, recorded
from accounting.budgets.reads.history import History, LedgerTime
from accounting.budgets.reads.outlook import (
    Outlook,
    PathDay,
    history_of,
    outlook,
    path,
    spent_by_day,
)
from accounting.budgets.rules.budgets import UNITS, pace, period_of
from accounting.core.billing_calendar import DAY, DayRange
from accounting.core.rounding import half_even
from accounting.kit.rows import GpuHours, TextOrNull, column, derived, listed, member


@dataclass(frozen=True, slots=True)
class VersionRow:
    """An amount of a budget, from a period on."""

    number: int
    amount: Decimal
    from_on: date
    set_at: datetime
    set_by: str
    reason: str


_FORECAST = "null without 14 complete days of history"


@listed("Budget")
class BudgetRow:
    """A budget in its current period; amounts are in `currency`, or in GPU-hours without one.

    Attributes:
        team, team_name: "" for a department's budget.
        department: of the team, or of the budget.
        currency: "" for GPU-hours.
        amount: of the period; `version` is its number.
        outlook: None if bills are now in another currency.
        alerts: thresholds that were reached in this period: of its amount as the data shows
            them now, and those recorded of others.
    """

    id: int = column()
    team: TextOrNull = column("null for a budget of a department")
    department: TextOrNull = column()
    unit: str = column(choices=BudgetUnit)
    measure: str = column(choices=BudgetMeasure)
    currency: TextOrNull = column("null for GPU-hours")
    amount: Decimal = column()
    version: int = column("1 for the first amount")
    period_from = derived(date, "period.first")
    period_to = derived(date, "period.after", "the first day after the period")
    actual = derived(
        Decimal | None,
        "outlook.actual",
        "so far; null if bills are now in another currency",
    )
    pace: Decimal = column("what would be spent by now at an even pace")
    forecast = derived(Decimal | None, "outlook.forecast.amount", _FORECAST)
    forecast_low = derived(
        Decimal | None,
        "outlook.forecast.low",
        "lower end of the range in which four of five periods end",
    )
    forecast_high = derived(Decimal | None, "outlook.forecast.high", "upper end of it")
    past_error = derived(
        Annotated[Decimal, str] | None,
        "outlook.forecast.past_error",
        "mean error of the forecast over its history, as a share of the amounts",
    )
    history_days = derived(
        int | None,
        "outlook.history_days",
        "complete days that the forecast is made from",
    )
    without_money_gpu_hours = derived(
        GpuHours | None,
        "outlook.without_money_ms",
        "held time without a price: the actual is a lower bound",
    )

    @member("thresholds of the period: 50, 80, 100, forecast")
    def reached(self) -> list[str]:
        """The thresholds of the alerts."""
        return list(dict.fromkeys(alert.threshold for alert in self.alerts))

    team_name: str
    version_id: int
    period: DayRange
    outlook: Outlook | None
    alerts: tuple[AlertRow, ...]
    ended_on: date | None

    @property
    def name(self) -> str:
        """The name of the team or the department."""
        return self.team_name or self.department

    @property
    def is_money(self) -> bool:
        """False for GPU-hours."""
        return self.measure == BudgetMeasure.MONEY

    @property
    def used(self) -> Decimal | None:
        """The actual over the amount."""
        return self.outlook.actual / self.amount if self.outlook else None

    @property
    def left(self) -> Decimal | None:
        """The amount less the actual; negative if it is spent."""
        return self.amount - self.outlook.actual if self.outlook else None


@dataclass(frozen=True, slots=True)
class BudgetDetail:
    """One budget in one period, with its days and all amounts that it had."""

    row: BudgetRow
    days: tuple[PathDay, ...]
    versions: tuple[VersionRow, ...]
    is_current: bool


def visible_budgets(scope: Scope) -> QuerySet[Budget]:
    """The budgets that a scope may read: all, or those of the teams that the person leads.

    A department's budget shows what other teams spend, so a lead does not see it.
    """
    budgets = Budget.objects.select_related("team")
    return budgets if scope.sees_all else budgets.filter(team_id__in=scope.lead_of)


def budget_rows(
    scope: Scope,
    time: LedgerTime,
    *,
    teams: Collection[str] = (),
    periods_back: int = 0,
) -> list[BudgetRow]:
    """Budgets that have not ended, by department, team, unit and measure.

    Four queries, and three for each period.

    Args:
        scope: of the person.
        time: how far the ledger reaches.
        teams: only those of these teams; empty for all.
        periods_back: 0 for the current period of each budget, 1 for the one before.
    """
    budgets = visible_budgets(scope).filter(ended_on=None)
    if teams:
        budgets = budgets.filter(team__slug__in=teams)
    wanted = [(one, _period(one.unit, time.today, periods_back)) for one in budgets]
    return sorted(_rows(wanted, time), key=_order)


def budget_row(
    scope: Scope, time: LedgerTime, budget_id: int, on: date | None = None
) -> BudgetRow | None:
    """One budget, also if it has ended; None if the scope may not read it.

    Args:
        scope: of the person.
        time: how far the ledger reaches.
        budget_id: of the budget.
        on: a day of the period; None for the current one, or the last one of an ended budget.
            Before the first amount, its first period is used.
    """
    found = _one(scope, time, budget_id, on)
    return _rows([found], time)[0] if found else None


def budget_detail(
    scope: Scope, time: LedgerTime, budget_id: int, on: date | None = None
) -> BudgetDetail | None:
    """The same with the days of the period and all amounts."""
    found = _one(scope, time, budget_id, on)
    if found is None:
        return None
    budget, period = found
    teams = _members([budget])[budget.pk]
    known = history_of([period], time, teams)
    (row,) = _rows([found], time, known)
    days = path(known, teams, period, is_money=row.is_money)
    versions = budget.versions.order_by("-number")
    return BudgetDetail(
        row,
        tuple(days) if row.outlook else (),
        tuple(
            VersionRow(v.number, v.amount, v.from_on, v.set_at, v.set_by, v.reason)
            for v in versions
        ),
        period.first <= time.today < period.after,
    )


def _one(
    scope: Scope, time: LedgerTime, budget_id: int, on: date | None
) -> tuple[Budget, DayRange] | None:
    budget = visible_budgets(scope).filter(pk=budget_id).first()
    if budget is None:
        return None
    first = min(budget.versions.values_list("from_on", flat=True))
    day = max(on or budget.ended_on or time.today, first)
    return budget, period_of(budget.unit, day)


def month_outlook(team_id: int, time: LedgerTime) -> Outlook:
    """What a team spends in the current month, in the billing currency."""
    period = period_of("month", time.today)
    known = history_of([period], time, [team_id])
    return outlook(known, [team_id], period, is_money=True)


def _period(unit: str, today: date, periods_back: int) -> DayRange:
    period = period_of(unit, today)
    for _ in range(periods_back):
        period = period_of(unit, period.first - DAY)
    return period


def _rows(
    wanted: Sequence[tuple[Budget, DayRange]],
    time: LedgerTime,
    known: History | None = None,
) -> list[BudgetRow]:
    """Budgets in their periods; without those that have no amount there."""
    versions: dict[int, list[BudgetVersion]] = {}
    for version in BudgetVersion.objects.filter(
        budget__in=[one.pk for one, _ in wanted]
    ).order_by("number"):
        versions.setdefault(version.budget_id, []).append(version)
    if not versions:
        return []
    alerts = recorded(one.pk for one, _ in wanted)
    found = [
        (budget, period, amount)
        for budget, period in wanted
        if (amount := _in_force(versions.get(budget.pk, []), period))
    ]
    members = _members(budget for budget, *_ in found)
    histories = {} if known else _histories(found, members, time)
    return [
        _row(
            budget,
            amount,
            period,
            known or histories[period],
            members[budget.pk],
            tuple(alerts.get((budget.pk, period.first), ())),
        )
        for budget, period, amount in found
    ]


def _histories(
    found: Sequence[tuple[Budget, DayRange, BudgetVersion]],
    members: Mapping[int, list[int]],
    time: LedgerTime,
) -> dict[DayRange, History]:
    """One for each period: that of a year is read for the teams of its budgets only."""
    teams: dict[DayRange, set[int]] = {}
    for budget, period, _ in found:
        teams.setdefault(period, set()).update(members[budget.pk])
    return {
        period: history_of([period], time, sorted(some))
        for period, some in teams.items()
    }


def _in_force(
    versions: Sequence[BudgetVersion], period: DayRange
) -> BudgetVersion | None:
    """The latest version that applies to a period."""
    fitting = [one for one in versions if one.from_on <= period.first]
    return fitting[-1] if fitting else None


def _row(
    budget: Budget,
    version: BudgetVersion,
    period: DayRange,
    known: History,
    teams: list[int],
    alerts: tuple[AlertRow, ...],
) -> BudgetRow:
    is_money = budget.measure == BudgetMeasure.MONEY
    is_ours = not is_money or budget.currency == known.time.currency
    found = outlook(known, teams, period, is_money=is_money) if is_ours else None
    if found is not None:
        spent = spent_by_day(known, teams, period, is_money=is_money)
        alerts = reached_now(version, found, spent, known.time.today, alerts)
    elapsed = (known.time.today - period.first).days
    team = budget.team
    return BudgetRow(
        id=budget.pk,
        team=team.slug if team else "",
        team_name=team.name if team else "",
        department=team.department if team else budget.department,
        unit=budget.unit,
        measure=budget.measure,
        currency=budget.currency,
        amount=version.amount,
        version=version.number,
        version_id=version.pk,
        period=period,
        outlook=found,
        pace=half_even(pace(period, elapsed) * Fraction(version.amount), 6),
        alerts=alerts,
        ended_on=budget.ended_on,
    )


def _members(budgets: Iterable[Budget]) -> dict[int, list[int]]:
    """The team of each budget, or the teams of its department today; one query at most."""
    found, of_departments = {}, []
    for budget in budgets:
        if budget.team_id is not None:
            found[budget.pk] = [budget.team_id]
        else:
            of_departments.append(budget)
    if of_departments:
        teams: dict[str, list[int]] = {}
        for pk, department in Team.objects.values_list("pk", "department"):
            teams.setdefault(department, []).append(pk)
        for budget in of_departments:
            found[budget.pk] = teams.get(budget.department, [])
    return found


def _order(row: BudgetRow) -> tuple[object, ...]:
    """Departments first, each with its teams after it."""
    return (
        row.department,
        row.team_name,
        row.team,
        UNITS.index(row.unit),
        not row.is_money,
        row.id,
    )
