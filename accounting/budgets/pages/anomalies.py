"""Unusual days: days on which a team's charge differs from what was expected (money.md M40)."""

from functools import cached_property
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from accounting.budgets.pages.budget_lines import time_of
from accounting.budgets.reads.anomalies import AnomalyRow, anomaly_report
from accounting.core.billing_calendar import DAY
from accounting.kit.pages.addresses import Choice
from accounting.kit.pages.paging import paged
from accounting.kit.pages.permissions import leads, visitor_of
from accounting.usage.pages.page_state import PageState


class DaysState(PageState):
    """Only the range: a team's charge is compared over all clusters."""

    @cached_property
    def clusters(self) -> list[Choice]:
        """No choice."""
        return []


@leads
def anomaly_list(request: HttpRequest) -> HttpResponse:
    """Unusual days of the range, newest first, each with what drove it."""
    visitor = visitor_of(request)
    state = DaysState(request, compares=False)
    time = time_of(request)
    minimum = settings.ANOMALY_MINIMUM
    report = anomaly_report(visitor.scope, time, state.days, minimum)
    context = {
        "state": state,
        "report": report,
        "page": paged(report.rows, state.query.dict()).drawn(_line),
        "minimum": minimum,
        "currency": time.currency,
    }
    return render(request, "budgets/anomalies.html", context)


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
