"""Unusual days: a list for leads, finance and administrators."""

from datetime import timedelta
from decimal import Decimal, InvalidOperation

from django.conf import settings
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from accounting.access.rights import BUDGETS
from accounting.access.scope import scope_of
from accounting.budgets.reads.anomalies import AnomalyRow, anomaly_report
from accounting.budgets.reads.history import LedgerTime, ledger_time
from accounting.core.billing_calendar import DAY, DayRange
from accounting.kit.api.rows import RowsView
from accounting.kit.api.schema import PERIOD, lists
from accounting.kit.reads.selection import (
    Selection,
    SelectionError,
    billing_days,
    is_on_days,
)
from accounting.kit.serializers.declared import serializer_of

SHOWN_DAYS = timedelta(days=28)  # of anomalies without `from` and `to`
ANOMALY = serializer_of(AnomalyRow)


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
