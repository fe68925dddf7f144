"""Unusual days: days on which a team's charge differs from what was expected (money.md M40)."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from accounting.access.reads.teams import TeamRef, visible_teams
from accounting.budgets.pages.budget_lines import time_of
from accounting.budgets.reads.anomalies import (
    AnomalyReport,
    AnomalyRow,
    ComparedDay,
    anomaly_report,
    compared_days,
)
from accounting.core.billing_calendar import DAY
from accounting.core.money_text import currency_sign
from accounting.kit.charts.compared import BarsAndLine, compared
from accounting.kit.pages.addresses import Choice
from accounting.kit.pages.paging import paged
from accounting.kit.pages.permissions import leads, visitor_of
from accounting.kit.tags import units
from accounting.usage.pages.figures import Chart
from accounting.usage.pages.foreign_teams import leave_out_foreign
from accounting.usage.pages.page_state import PageState
from accounting.usage.pages.steps import day_axis


class DaysState(PageState):
    """Range and team: a team's charge is compared over all clusters."""

    @cached_property
    def clusters(self) -> list[Choice]:
        """No choice."""
        return []


@leads
def anomaly_list(request: HttpRequest) -> HttpResponse:
    """Unusual days of the range, each with what drove it, and a team's days as a chart."""
    visitor = visitor_of(request)
    state = DaysState(request, compares=False, filters=("team",))
    leave_out_foreign(state, visible_teams(visitor.scope), "All your teams are shown.")
    time = time_of(request)
    minimum = settings.ANOMALY_MINIMUM
    report = anomaly_report(visitor.scope, time, state.days, minimum)
    chosen = state.filters.get("team", ())
    rows = [row for row in report.rows if not chosen or row.team in chosen]
    of_teams = _of_teams(report, state)
    team = _drawn(report, chosen, of_teams)
    context = {
        "state": state,
        "report": report,
        "of_teams": of_teams,
        "team": team,
        "chart": _chart(report, team, state, minimum) if team else None,
        "page": paged(rows, state.query.dict()).drawn(_line),
        "minimum": minimum,
        "currency": time.currency,
    }
    return render(request, "budgets/anomalies.html", context)


@dataclass(frozen=True, slots=True)
class UnusualDaysOfTeam:
    """How many days of a team are unusual, and what they differ by together.

    `url` is the page for the team; "" if it is the only one already.
    """

    team: TeamRef
    days: int
    difference: Decimal
    url: str


def _of_teams(report: AnomalyReport, state: DaysState) -> list[UnusualDaysOfTeam]:
    """Teams with unusual days, the largest sum of differences first."""
    found = []
    for ref in report.series:
        rows = [row for row in report.rows if row.team == ref.slug]
        if rows:
            apart = sum((row.difference for row in rows), Decimal(0))
            is_only = state.filters.get("team") == (ref.slug,)
            url = "" if is_only else state.with_values("team", [ref.slug])
            found.append(UnusualDaysOfTeam(ref, len(rows), apart, url))
    return sorted(found, key=lambda one: -abs(one.difference))


def _drawn(
    report: AnomalyReport,
    chosen: Collection[str],
    of_teams: Sequence[UnusualDaysOfTeam],
) -> TeamRef | None:
    """The team of the chart: of those chosen, the one whose unusual days differ most."""
    order = [*(one.team for one in of_teams), *report.series]
    return next((ref for ref in order if not chosen or ref.slug in chosen), None)


def _chart(
    report: AnomalyReport, team: TeamRef, state: DaysState, minimum: Decimal
) -> Chart | None:
    """A team's charge by complete day against what was expected; None without such a day."""
    days = compared_days(report.series[team], state.days, minimum)
    if not days:
        return None
    unusual = {row.day for row in report.rows if row.team == team.slug}

    def money(amount: Decimal | None) -> str:
        return units.NO_DATA if amount is None else units.money(amount, state.currency)

    figure = compared(
        day_axis([one.day for one in days]),
        BarsAndLine(
            name="Actual",
            bars=[float(one.actual) for one in days],
            line_name="Expected",
            line=[_number(one.expected) for one in days],
            low=[_number(one.low) for one in days],
            high=[_number(one.high) for one in days],
            marked={n for n, one in enumerate(days) if one.day in unusual},
            slot=team.slot,
        ),
        currency_sign(state.currency),
    )
    return Chart(
        figure=figure,
        sentence=_sentence(team, [one for one in days if one.day in unusual], money),
        columns=("Day", "Actual", "Expected", "Usual from", "Usual to", ""),
        rows=tuple(
            (
                units.day(one.day),
                *map(money, (one.actual, one.expected, one.low, one.high)),
                "Unusual" if one.day in unusual else "",
            )
            for one in days
        ),
    )


def _sentence(
    team: TeamRef, unusual: Sequence[ComparedDay], money: Callable[[Decimal], str]
) -> str:
    """How many days of a team are unusual, and the one that differs most."""
    if not unusual:
        return f"No day of {team.name} is unusual."
    most = max(unusual, key=lambda one: abs(one.actual - (one.expected or 0)))
    days = "1 day" if len(unusual) == 1 else f"{len(unusual)} days"
    verb = "is" if len(unusual) == 1 else "are"
    return (
        f"{days} of {team.name} {verb} outside of the usual range; most of all"
        f" {units.day(most.day)}: {money(most.actual)} instead of"
        f" {money(most.expected or Decimal(0))}."
    )


def _number(amount: Decimal | None) -> float | None:
    return None if amount is None else float(amount)


def _line(row: AnomalyRow) -> dict[str, object]:
    return {"row": row, "url": _usage_url(row), "driver_url": _driver_url(row)}


def _usage_url(row: AnomalyRow) -> str:
    """The usage of that day: the team's page, or the overview of unmapped time."""
    pairs = _span(row)
    if row.team_slot == 0 and row.team == "unmapped":
        return f"{reverse('overview')}?{urlencode({'team': row.team, **pairs})}"
    return f"{reverse('team', args=[row.team])}?{urlencode(pairs)}"


def _driver_url(row: AnomalyRow) -> str:
    """The driver in the team's workloads of that day; empty for unmapped time."""
    if row.team == "unmapped" or not row.workload:
        return ""
    query = urlencode(_span(row) | {"by": "run", "q": row.workload})
    return f"{reverse('team-workloads', args=[row.team])}?{query}"


def _span(row: AnomalyRow) -> dict[str, str]:
    return {"from": row.day.isoformat(), "to": (row.day + DAY).isoformat()}
