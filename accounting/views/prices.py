"""Prices: charged to teams, and cost of GPUs, with when they apply."""

from datetime import datetime

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from accounting.models import DraftState, PriceDraft, PriceKind
from accounting.queries.finance.price_lists import price_list_rows
from accounting.queries.gpus.models import first_seen_by_model, models_in_use
from accounting.queries.teams.directory import PriceRow, price_rows
from accounting.views.price_timeline import price_timeline
from accounting.web.permissions import signed_in, visitor_of


@signed_in
def price_list(request: HttpRequest) -> HttpResponse:
    """Every rate; for finance and admins also costs, and models without a current price."""
    visitor = visitor_of(request)
    scope = visitor.scope
    prices = price_rows(scope)
    rows = [row for row in prices if row.kind == PriceKind.RATE]
    in_force = {row.model for row in rows if _is_in_force(row, visitor.now)}
    in_use = models_in_use() if scope.sees_all else []
    seen = first_seen_by_model() if scope.sees_all else {}
    context = {
        "rows": rows,
        "costs": [row for row in prices if row.kind == PriceKind.COST],
        "timeline": price_timeline(rows, seen, visitor) if rows else None,
        "now": visitor.now,
        "unpriced": [one for one in in_use if one.name not in in_force],
        "lists": price_list_rows(scope),
        "shows_costs": scope.is_finance,
        "drafts": list(
            PriceDraft.objects.filter(state=DraftState.OPEN).select_related("author")
        )
        if scope.is_finance
        else [],
        "currency": visitor.billing.currency,
    }
    return render(request, "accounting/prices.html", context)


def _is_in_force(row: PriceRow, now: datetime) -> bool:
    return row.valid_from <= now and (row.valid_to is None or row.valid_to > now)
