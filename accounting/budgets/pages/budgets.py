"""Budgets: the list by department and team, one budget with its burn-down, and its forms."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from accounting.access.reads.teams import TeamRef, visible_teams
from accounting.access.scope import Scope
from accounting.budgets.pages.budget_forms import BudgetForm
from accounting.budgets.pages.budget_groups import budget_groups
from accounting.budgets.pages.budget_lines import budget_line, burn_chart, time_of
from accounting.budgets.reads.budgets import (
    BudgetDetail,
    BudgetRow,
    budget_detail,
    budget_rows,
)
from accounting.budgets.reads.history import LedgerTime
from accounting.budgets.reads.past_forecasts import past_forecasts
from accounting.budgets.resource import BUDGETS, CHANGE, CREATE, END
from accounting.budgets.rules.budgets import PERCENT, Threshold, period_of
from accounting.core.billing_calendar import DAY
from accounting.kit.pages.declared import form_page
from accounting.kit.pages.permissions import leads, visitor_of
from accounting.kit.reads.selection import SelectionError

LABELS = {
    **{one: f"{share}% of the budget is spent" for one, share in PERCENT.items()},
    Threshold.FORECAST: "The forecast is at least the budget",
}


@leads
def budget_list(request: HttpRequest) -> HttpResponse:
    """Every budget that the visitor may read, by department and team."""
    visitor = visitor_of(request)
    time = time_of(request)
    rows = budget_rows(visitor.scope, time)
    teams = visible_teams(visitor.scope)
    context = {
        "page": budget_groups(rows, teams, request.GET),
        "without": _without(rows, teams, visitor.scope),
        "today": time.today,
        "may_set": visitor.scope.is_finance,
    }
    return render(request, "budgets/budgets.html", context)


def _without(
    rows: list[BudgetRow], teams: Mapping[str, TeamRef], scope: Scope
) -> list[TeamRef]:
    """The teams that have no budget of their own."""
    known = {row.team for row in rows}
    return [
        ref
        for ref in teams.values()
        if ref.slug not in known and (scope.sees_all or ref.id in scope.lead_of)
    ]


@leads
def budget(request: HttpRequest, number: int) -> HttpResponse:
    """One budget in a period: what is left day by day, thresholds and amounts."""
    visitor = visitor_of(request)
    time = time_of(request)
    detail = budget_detail(visitor.scope, time, number, _day(request))
    if detail is None:
        raise Http404("no such budget")
    row = detail.row
    context = {
        "detail": detail,
        "row": row,
        "line": budget_line(row, visible_teams(visitor.scope)),
        "chart": burn_chart(detail) if detail.days else None,
        "even_left": row.amount - row.pace,
        "thresholds": _thresholds(row),
        "past": past_forecasts(row.team) if _is_monthly(row) else [],
        "before_url": _before_url(detail),
        "after_url": _after_url(detail, time),
        "may_set": visitor.scope.is_finance and not row.ended_on,
    }
    return render(request, "budgets/budget.html", context)


def _is_monthly(row: BudgetRow) -> bool:
    """Of a team's months in money, as statements are."""
    return bool(row.team) and row.is_money and row.unit == "month"


def _thresholds(row: BudgetRow) -> list[dict[str, Any]]:
    """Each threshold with the alerts of the period; a new amount can raise it again."""
    return [
        {"label": label, "alerts": [a for a in row.alerts if a.threshold == name]}
        for name, label in LABELS.items()
    ]


def _before_url(detail: BudgetDetail) -> str:
    first = min(version.from_on for version in detail.versions)
    before = period_of(detail.row.unit, detail.row.period.first - DAY)
    return _url(detail.row, before.first) if before.first >= first else ""


def _after_url(detail: BudgetDetail, time: LedgerTime) -> str:
    after = detail.row.period.after
    return _url(detail.row, after) if after <= time.today else ""


def _url(row: BudgetRow, day: date) -> str:
    return f"{reverse('budget', args=[row.id])}?on={day.isoformat()}"


def _day(request: HttpRequest) -> date | None:
    """The day of the period in the address."""
    text = request.GET.get("on", "")
    if not text:
        return None
    try:
        found = date.fromisoformat(text)
    except ValueError:
        found = date.min
    if not 1970 <= found.year < 9998:
        raise SelectionError(f"on={text!r} is not a day, like 2026-10-01")
    return found


budget_add = form_page(
    BUDGETS,
    CREATE,
    "budgets/budget_form.html",
    to="budget",
    form=BudgetForm,
    start=lambda row, query: {"of": f"team:{query.get('team', '')}"},
)
budget_change = form_page(
    BUDGETS,
    CHANGE,
    "budgets/budget_form.html",
    to="budget",
    start=lambda row, query: {"amount": row.amount.normalize()},
)
budget_end = form_page(BUDGETS, END, "budgets/budget_end.html", to="budgets")
