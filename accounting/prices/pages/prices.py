"""Prices: charged to teams, and cost of GPUs, with when they apply."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from accounting.kit.pages.paging import ListPage, page_of, paged, size_of
from accounting.kit.pages.permissions import signed_in, visitor_of
from accounting.prices.models.price import PriceKind
from accounting.prices.models.price_draft import DraftState, PriceDraft
from accounting.prices.pages.price_timeline import price_timeline
from accounting.prices.reads.gpu_models import first_seen_by_model, models_in_use
from accounting.prices.reads.price_book import PriceRow, price_rows
from accounting.prices.reads.price_lists import price_list_rows


@signed_in
def price_list(request: HttpRequest) -> HttpResponse:
    """Every rate; for finance and admins also costs, and models without a current price."""
    visitor, query = visitor_of(request), request.GET.dict()
    scope = visitor.scope
    prices = price_rows(scope)
    rows = [row for row in prices if row.kind == PriceKind.RATE]
    in_force = {row.model for row in rows if _is_in_force(row, visitor.now)}
    in_use = models_in_use() if scope.sees_all else []
    seen = first_seen_by_model() if scope.sees_all else {}
    rates = paged(rows, query)
    costs = [row for row in prices if row.kind == PriceKind.COST]
    drawn = _models_of(rates, rows, seen)
    context = {
        "rates": rates,
        "costs": page_of(costs, query.get("costs", ""), size_of(query)),
        "timeline": price_timeline(
            [row for row in rows if row.model in drawn],
            {model: at for model, at in seen.items() if model in drawn},
            visitor,
        )
        if rows
        else None,
        "now": visitor.now,
        "unpriced": [one for one in in_use if one.name not in in_force],
        "lists": page_of(
            price_list_rows(scope), query.get("lists", ""), size_of(query)
        ),
        "shows_costs": scope.is_finance,
        "drafts": list(
            PriceDraft.objects.filter(state=DraftState.OPEN).select_related("author")
        )
        if scope.is_finance
        else [],
        "currency": visitor.billing.currency,
    }
    return render(request, "prices/prices.html", context)


def _models_of(
    rates: ListPage, rows: Sequence[PriceRow], seen: Iterable[str]
) -> set[str]:
    """The models of a page; models that were never priced are on the first one."""
    found = {row.model for row in rates.lines}
    if rates.number == 1:
        found |= set(seen) - {row.model for row in rows}
    return found


def _is_in_force(row: PriceRow, now: datetime) -> bool:
    return row.valid_from <= now and (row.valid_to is None or row.valid_to > now)
