"""Budgets: the list by department and team, one budget with its burn-down, and its forms."""

from datetime import date
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from accounting.access import Scope
from accounting.actions.finance.budgets import (
    BudgetError,
    change_budget,
    create_budget,
    end_budget,
)
from accounting.domain.billing.budgets import PERCENT, Threshold, period_of
from accounting.domain.core.billing_calendar import DAY
from accounting.models import Budget
from accounting.queries.finance.budgets.budgets import (
    BudgetDetail,
    BudgetRow,
    budget_detail,
    budget_row,
    budget_rows,
)
from accounting.queries.finance.budgets.history import LedgerTime
from accounting.queries.finance.budgets.past_forecasts import past_forecasts
from accounting.queries.selection import SelectionError
from accounting.queries.teams.teams import TeamRef, visible_teams
from accounting.views.finance.budget_forms import AmountForm, BudgetForm, EndBudgetForm
from accounting.web.finance.budgets import (
    budget_groups,
    budget_line,
    burn_chart,
    time_of,
)
from accounting.web.permissions import finance_form, leads, visitor_of

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
        "groups": budget_groups(rows, teams),
        "without": _without(rows, teams, visitor.scope),
        "today": time.today,
        "may_set": visitor.scope.is_finance,
    }
    return render(request, "accounting/budgets.html", context)


def _without(
    rows: list[BudgetRow], teams: dict[str, TeamRef], scope: Scope
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
    return render(request, "accounting/budget.html", context)


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


@finance_form
def budget_add(request: HttpRequest) -> HttpResponse:
    """Set a budget of a team or a department."""
    visitor = visitor_of(request)
    start = {"of": f"team:{request.GET.get('team', '')}"}
    form = BudgetForm(request.POST or None, initial=start)
    if request.method == "POST" and form.is_valid():
        chosen = form.cleaned_data
        try:
            made = create_budget(
                **form.payer,
                unit=chosen["unit"],
                measure=chosen["measure"],
                amount=chosen["amount"],
                from_on=chosen["from_on"],
                actor=request.user,  # type: ignore[arg-type]  # the gate lets nobody else in
                reason=chosen["reason"],
            )
        except BudgetError as error:
            form.add_error(None, _sentence(error))
        else:
            messages.success(request, "The budget is saved.")
            return redirect("budget", made.pk)
    context = {"form": form, "currency": visitor.billing.currency}
    status = 422 if _is_refused(request, form) else 200
    return render(request, "accounting/budget_form.html", context, status=status)


@finance_form
def budget_change(request: HttpRequest, number: int) -> HttpResponse:
    """Another amount from a period on; earlier periods keep theirs."""
    row = _current(request, number)
    form = AmountForm(request.POST or None, initial={"amount": row.amount.normalize()})
    if request.method == "POST" and form.is_valid():
        chosen = form.cleaned_data
        try:
            change_budget(
                Budget.objects.get(pk=number),
                chosen["amount"],
                from_on=chosen["from_on"],
                actor=request.user,  # type: ignore[arg-type]
                reason=chosen["reason"],
            )
        except BudgetError as error:
            form.add_error(None, _sentence(error))
        else:
            messages.success(request, "The amount is saved.")
            return redirect("budget", number)
    context = {"form": form, "row": row, "currency": row.currency}
    status = 422 if _is_refused(request, form) else 200
    return render(request, "accounting/budget_form.html", context, status=status)


@finance_form
def budget_end(request: HttpRequest, number: int) -> HttpResponse:
    """End a budget; its past periods stay readable."""
    row = _current(request, number)
    form = EndBudgetForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            end_budget(
                Budget.objects.get(pk=number),
                actor=request.user,  # type: ignore[arg-type]
                reason=form.cleaned_data["reason"],
            )
        except BudgetError as error:
            form.add_error(None, _sentence(error))
        else:
            messages.success(request, f"The budget of {row.name} has ended.")
            return redirect("budgets")
    status = 422 if _is_refused(request, form) else 200
    context = {"form": form, "row": row}
    return render(request, "accounting/budget_end.html", context, status=status)


def _current(request: HttpRequest, number: int) -> BudgetRow:
    visitor = visitor_of(request)
    row = budget_row(visitor.scope, time_of(request), number)
    if row is None:
        raise Http404("no such budget")
    return row


def _sentence(error: BudgetError) -> str:
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}."


def _is_refused(request: HttpRequest, form: Any) -> bool:
    """True for a posted form that changed nothing, also an empty one."""
    return request.method == "POST" or bool(form.errors)
