"""Budgets and anomalies: lists for leads, finance and administrators; finance sets budgets."""

from datetime import timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from django.conf import settings
from django.http import Http404
from django.utils import timezone
from rest_framework import exceptions, status
from rest_framework.request import Request
from rest_framework.response import Response

from accounting.access import EVERYTHING, scope_of
from accounting.actions.finance.budgets import (
    BudgetError,
    change_budget,
    create_budget,
    end_budget,
)
from accounting.api.once import answered_once
from accounting.api.rows import ConflictError, RowsView
from accounting.api.schema import PERIOD, lists, takes
from accounting.api.writes import checked
from accounting.domain.core.billing_calendar import DAY, DayRange
from accounting.models import Budget
from accounting.queries.finance.budgets.anomalies import AnomalyRow, anomaly_report
from accounting.queries.finance.budgets.budgets import (
    BudgetRow,
    budget_row,
    budget_rows,
)
from accounting.queries.finance.budgets.history import LedgerTime, ledger_time
from accounting.queries.selection import (
    Selection,
    SelectionError,
    billing_days,
    is_on_days,
)
from accounting.rights import BUDGETS, SET_BUDGETS
from accounting.serializers.declared import serializer_of
from accounting.serializers.finance.budgets import (
    BudgetBodySerializer,
    BudgetEndSerializer,
)

SHOWN_DAYS = timedelta(days=28)  # of anomalies without `from` and `to`
BUDGET = serializer_of(BudgetRow)
ANOMALY = serializer_of(AnomalyRow)


class BudgetsView(RowsView):
    """Budgets of teams and departments."""

    subject = "budgets"
    right = BUDGETS
    parameters = ("team",)

    @lists(BUDGET, parameters)
    def get(self, request: Request) -> Response:
        """List budgets in their current period: all, or those of the teams that one leads."""
        teams = self.selection(request).filters.get("team", ())
        time = ledger_time(timezone.now())
        rows = budget_rows(scope_of(request.user), time, teams=teams)
        return self.listed(request, rows, BUDGET)

    @takes(BudgetBodySerializer, BUDGET)
    def post(self, request: Request) -> Response:
        """Create a budget (201), or change the amount of the same one (200)."""
        actor = finance_of(request)
        values = checked(BudgetBodySerializer, request)
        return answered_once(request, lambda: self._set(actor, values))

    def _set(self, actor: Any, values: dict[str, Any]) -> Response:
        team, department = values.get("team"), values.get("department", "")
        known = Budget.objects.filter(
            team=team,
            department=department,
            unit=values["unit"],
            measure=values["measure"],
            ended_on=None,
        ).first()
        set_by = {
            "amount": values["amount"],
            "from_on": values.get("from_on"),
            "actor": actor,
            "reason": values["reason"],
        }
        try:
            if known:
                change_budget(known, **set_by)
            else:
                budget = create_budget(
                    team=team,
                    department=department,
                    unit=values["unit"],
                    measure=values["measure"],
                    **set_by,
                )
        except BudgetError as error:
            raise exceptions.ValidationError({"amount": str(error)}) from error
        code = status.HTTP_200_OK if known else status.HTTP_201_CREATED
        return Response(BUDGET.one(_row(known or budget)), status=code)


class BudgetEndView(RowsView):
    """The end of a budget."""

    subject = "budgets"

    @takes(BudgetEndSerializer, BUDGET, 409)
    def post(self, request: Request, number: int) -> Response:
        """End a budget: it raises no more alerts, and its past periods stay readable."""
        actor = finance_of(request)
        values = checked(BudgetEndSerializer, request)
        budget = Budget.objects.filter(pk=number).first()
        if budget is None:
            raise Http404

        def make() -> Response:
            row = _row(budget)
            try:
                end_budget(budget, actor=actor, reason=values["reason"])
            except BudgetError as error:
                raise ConflictError(str(error)) from error
            return Response(BUDGET.one(row))

        return answered_once(request, make)


class AnomaliesView(RowsView):
    """Days on which a team's charge was unusual."""

    subject = "anomalies"
    right = BUDGETS
    parameters = (*PERIOD, "team", "minimum")

    @lists(ANOMALY, parameters)
    def get(self, request: Request) -> Response:
        """List anomalies, newest first: of all teams, or of those that one leads."""
        selection = self.selection(request)
        time = ledger_time(timezone.now())
        report = anomaly_report(
            scope_of(request.user),
            time,
            _days(selection, time),
            _minimum(request.query_params.get("minimum")),
            selection.filters.get("team", ()),
        )
        return self.listed(request, report.rows, ANOMALY)


def finance_of(request: Request) -> Any:
    """The actor of the request; rejects everyone except finance and administrators."""
    user = request.user
    if not SET_BUDGETS.allows(scope_of(user)):
        raise exceptions.PermissionDenied(f"Only {SET_BUDGETS.who} can change this.")
    return user


def _row(budget: Budget) -> BudgetRow:
    """The row of a budget in its current period, or in its first one."""
    row = budget_row(EVERYTHING, ledger_time(timezone.now()), budget.pk)
    if row is None:
        raise Http404
    return row


def _days(selection: Selection, time: LedgerTime) -> DayRange:
    if selection.period is None:
        return DayRange(time.today + DAY - SHOWN_DAYS, time.today + DAY)
    if not is_on_days(selection.period):
        raise SelectionError(
            "anomalies are by billing day: give dates", parameter="from"
        )
    return DayRange(*billing_days(selection.period))


def _minimum(text: str | None) -> Decimal:
    """The smallest difference of an anomaly, from the request or the settings."""
    if text is None:
        least: Decimal = settings.ANOMALY_MINIMUM
        return least
    try:
        found = Decimal(text)
    except InvalidOperation:
        found = Decimal(-1)
    if not found.is_finite() or not 0 <= found < 10**12:
        raise SelectionError(
            f"minimum {text!r} is not an amount from 0 on", parameter="minimum"
        )
    return found
