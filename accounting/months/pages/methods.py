"""Methods side by side: what each team would pay for a month by each of them (money.md M24)."""

from decimal import Decimal
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from accounting.access.models.teams import Team
from accounting.access.rights import PERIODS
from accounting.core.charge_lines import PLATFORM
from accounting.core.money import Money
from accounting.core.unmapped import UNMAPPED
from accounting.kit.pages.permissions import page, visitor_of
from accounting.months.reads.method_text import method_sentences
from accounting.months.reads.periods import period_row
from accounting.months.rules.methods import METHODS
from accounting.months.tasks.method_comparison import (
    LONGEST_S,
    MOST_ROWS,
    ComparisonTooLarge,
    MethodRow,
    compare_within,
    days_to_compare,
)

LAST_NAMES = {UNMAPPED: "Unmapped", PLATFORM: "Platform"}


@page(PERIODS)
def method_list(request: HttpRequest, period: str) -> HttpResponse:
    """What each method does; on demand, what each team would pay by it."""
    visitor = visitor_of(request)
    row = period_row(period, visitor.now)
    if row is None:
        raise Http404("no such month")
    days = days_to_compare(row.first, visitor.now)
    context: dict[str, Any] = {
        "row": row,
        "days": days,
        "methods": [
            (one.id, *method_sentences(one.id)[:2], one.id == row.method)
            for one in METHODS
        ],
        "most_rows": MOST_ROWS,
        "longest_s": LONGEST_S,
    }
    if days is not None and request.GET.get("compare"):
        try:
            found = compare_within(days)
        except ComparisonTooLarge as error:
            context["too_large"] = str(error)
        else:
            context |= _table(found, visitor.billing.currency)
    return render(request, "months/methods.html", context)


def _table(rows: list[MethodRow], currency: str) -> dict[str, Any]:
    """The rows of the table, teams by name, and the sum of each column."""
    names = dict(Team.objects.values_list("slug", "name")) | LAST_NAMES
    lines = [
        {
            "name": names.get(one.team, one.team),
            "cells": [
                (
                    Money(one.totals[method.id], currency),
                    Money(one.difference(method.id), currency),
                    method.id,
                )
                for method in METHODS
            ],
        }
        for one in sorted(
            rows, key=lambda one: (one.team in LAST_NAMES, names.get(one.team, ""))
        )
    ]
    sums = [
        (
            Money(sum((one.totals[method.id] for one in rows), Decimal(0)), currency),
            method.id,
        )
        for method in METHODS
    ]
    return {"lines": lines, "sums": sums}
