"""Budgets as pages show them: bars, states and texts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from django.http import HttpRequest

from accounting.access.reads.teams import TeamRef
from accounting.budgets.reads.alerts import AlertRow
from accounting.budgets.reads.budgets import (
    BudgetDetail,
    BudgetRow,
    budget_rows,
    month_outlook,
)
from accounting.budgets.reads.history import LedgerTime, ledger_time_of
from accounting.budgets.reads.outlook import ForecastRow, Outlook, PathDay
from accounting.budgets.rules.budgets import Threshold, pace
from accounting.core.money_text import currency_sign
from accounting.health.pages import chip_of
from accounting.kit.charts.bullets import Bullet, bullet
from accounting.kit.charts.burn_down import BurnDown, burn_down
from accounting.kit.pages.permissions import visitor_of
from accounting.kit.tags import units
from accounting.usage.pages.figures import Chart
from accounting.usage.pages.steps import day_axis

_MOST_FIRST = (Threshold.ALL, Threshold.FORECAST, Threshold.MOST, Threshold.HALF)
UNIT_WORDS = {"month": "monthly", "quarter": "quarterly", "year": "yearly"}


@dataclass(frozen=True, slots=True)
class BudgetState:
    """How a budget is doing: a tone of a badge and its text."""

    tone: str
    text: str


@dataclass(frozen=True, slots=True)
class BudgetLine:
    """A budget in a list.

    Attributes:
        slot: of the team; 0 for a department.
        bar: None if bills are now in another currency.
        text: the bar in words.
    """

    row: BudgetRow
    slot: int
    state: BudgetState
    bar: Bullet | None
    text: str

    @property
    def kind(self) -> str:
        """`monthly`, `quarterly`, `yearly`."""
        return UNIT_WORDS[self.row.unit]


def budget_line(row: BudgetRow, teams: Mapping[str, TeamRef]) -> BudgetLine:
    """A budget with its bar."""
    slot = teams[row.team].slot if row.team in teams else 0
    bar = None
    if row.outlook:
        bar = _bar(row.outlook, float(row.amount), float(row.pace))
    return BudgetLine(row, slot, state_of(row), bar, _bar_text(row))


@dataclass(frozen=True, slots=True)
class MonthCard:
    """What a team spends in the current month.

    Attributes:
        budget: its monthly budget in money, if there is one and the visitor may read it.
        alerts: the threshold that says most of those that the budget has reached in this month;
            none while it is within its pace.
        shows_budget: the visitor may read the team's budgets.
        may_set: the visitor may set one.
    """

    outlook: Outlook
    currency: str
    budget: BudgetRow | None
    state: BudgetState | None
    alerts: tuple[AlertRow, ...]
    bar: Bullet
    text: str
    shows_budget: bool
    may_set: bool

    @property
    def alert_tone(self) -> str:
        """Of the notice: that of the budget's badge."""
        return "danger" if self.state and self.state.tone == "danger" else "warn"


def time_of(request: HttpRequest) -> LedgerTime:
    """How far the ledger reaches, as the badge of the page says."""
    chip = chip_of(request)
    now = visitor_of(request).now
    return ledger_time_of(now, chip.until, is_live=chip.is_live)


def month_card(request: HttpRequest, team: TeamRef) -> MonthCard:
    """The card of a team's page."""
    scope, time = visitor_of(request).scope, time_of(request)
    shows_budget = scope.sees_all or team.id in scope.lead_of
    rows = budget_rows(scope, time, teams=[team.slug]) if shows_budget else []
    monthly = [one for one in rows if one.unit == "month" and one.is_money]
    budget = next((one for one in monthly if one.outlook), None)
    outlook = (budget and budget.outlook) or month_outlook(team.id, time)
    notice = _notice(budget) if budget else ()
    spent = units.money_round(outlook.actual, time.currency)
    return MonthCard(
        outlook=outlook,
        currency=time.currency,
        budget=budget,
        state=state_of(budget) if budget else None,
        alerts=notice,
        bar=_bar(
            outlook,
            float(budget.amount) if budget else None,
            float(budget.pace) if budget else None,
        ),
        text=_bar_text(budget) if budget else f"{spent} spent",
        shows_budget=shows_budget,
        may_set=scope.is_finance,
    )


def _bar(outlook: Outlook, amount: float | None, even: float | None) -> Bullet:
    found = outlook.forecast
    range_ = (
        (float(found.low), float(found.amount), float(found.high)) if found else None
    )
    return bullet(float(outlook.actual), range_, amount, even)


def state_of(row: BudgetRow) -> BudgetState:
    """How a budget is doing: spent, expected to be, may be, or within."""
    if row.ended_on:
        return BudgetState("mute", f"Ended on {units.day(row.ended_on)}")
    if row.outlook is None:
        return BudgetState("warn", "Other currency")
    over = row.outlook.actual - row.amount
    if over > 0:
        return BudgetState("danger", f"Over by {units.quantity(over, row.currency)}")
    if row.outlook.forecast is None:
        return BudgetState("mute", "Not enough history")
    return _expected_state(row, row.outlook.forecast)


def _notice(row: BudgetRow) -> tuple[AlertRow, ...]:
    """The threshold of the amount in effect that says most."""
    mine = {one.threshold: one for one in row.alerts if one.version == row.version}
    found = [mine[name] for name in _MOST_FIRST if name in mine]
    return tuple(found[:1]) if is_ahead(row) else ()


def is_ahead(row: BudgetRow) -> bool:
    """Whether a budget needs attention: it is or may be exceeded, or is spent before its pace.

    Half of it spent in the middle of a period is nothing to be warned of.
    """
    if row.outlook is None:
        return False
    if row.outlook.forecast is None:
        return row.outlook.actual > row.pace
    return state_of(row).tone in ("warn", "danger")


def _expected_state(row: BudgetRow, found: ForecastRow) -> BudgetState:
    over = found.amount - row.amount
    if over > 0:
        text = f"Expected over by {units.quantity(over, row.currency)}"
        return BudgetState("warn", text)
    if found.high > row.amount:
        return BudgetState("warn", "May exceed")
    return BudgetState("ok", "Within budget")


def _bar_text(row: BudgetRow) -> str:
    """What the bar shows, for people who do not see it."""
    if row.outlook is None:
        return "Not compared: bills are in another currency"
    budget = units.quantity(row.amount, row.currency)
    parts = [f"{units.quantity(row.outlook.actual, row.currency)} of {budget}"]
    if found := row.outlook.forecast:
        low, high = (units.quantity(v, row.currency) for v in (found.low, found.high))
        parts.append(f"forecast {low} to {high}")
    parts.append(f"even pace by now {units.quantity(row.pace, row.currency)}")
    return ", ".join(parts)


def crossing_day(detail: BudgetDetail) -> date | None:
    """The first day after which the budget is spent, or expected to be; None if there is none."""
    for day in detail.days:
        known = day.forecast.amount if day.forecast else day.actual
        if known is not None and known > detail.row.amount:
            return day.day
    return None


def burn_chart(detail: BudgetDetail) -> Chart:
    """What is left of a budget at the end of each day of its period."""
    row, days = detail.row, detail.days
    amount = float(row.amount)

    def left(value: float | None) -> float | None:
        return None if value is None else amount - value

    expected, low, high = (
        _joined(days, [left(_forecast(day, name)) for day in days], left)
        for name in ("amount", "high", "low")
    )
    values = BurnDown(
        left=[left(_number(day.actual)) for day in days],
        even=[amount * (1 - float(pace(row.period, n + 1))) for n in range(len(days))],
        expected=expected,
        low=low,
        high=high,
    )
    sign = currency_sign(row.currency)
    return Chart(
        figure=burn_down(
            day_axis([one.day for one in days]), values, sign, "" if sign else " GPU-h"
        ),
        sentence=_sentence(detail),
        columns=("Day", "Left", "Even use", "Forecast", "Lower end", "Upper end"),
        rows=tuple(
            (
                units.day(day.day),
                *(
                    units.NO_DATA if one is None else units.quantity(one, row.currency)
                    for one in (
                        values.left[n],
                        values.even[n],
                        values.expected[n],
                        values.low[n],
                        values.high[n],
                    )
                ),
            )
            for n, day in enumerate(days)
        ),
    )


def _joined(
    days: Sequence[PathDay],
    values: list[float | None],
    left: Callable[[float | None], float | None],
) -> list[float | None]:
    """A line of the forecast that begins where the line of the actual was a day before."""
    first = next((n for n, one in enumerate(values) if one is not None), 0)
    if first:
        values[first - 1] = left(_number(days[first - 1].actual))
    return values


def _number(value: object) -> float | None:
    return None if value is None else float(str(value))


def _forecast(day: PathDay, name: str) -> float | None:
    return float(getattr(day.forecast, name)) if day.forecast else None


def _sentence(detail: BudgetDetail) -> str:
    row = detail.row
    if row.left is None:
        return "Bills are in another currency than this budget."
    budget = units.quantity(row.amount, row.currency)
    if row.left < 0:
        said = f"{units.quantity(-row.left, row.currency)} more than {budget} spent."
    else:
        said = f"{units.quantity(row.left, row.currency)} of {budget} left."
    crossed = crossing_day(detail)
    if crossed is None:
        return said
    tense = "was spent" if row.left < 0 else "is expected to be spent"
    return f"{said} The budget {tense} on {units.day(crossed)}."
