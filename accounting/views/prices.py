"""Prices: charged to teams, and cost of GPUs; with a preview of a change before saving."""

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from accounting.actions.prices import set_unit_price
from accounting.domain.core.billing_calendar import midnight
from accounting.domain.core.money import minor_places
from accounting.forms import PriceForm, tomorrow
from accounting.queries.gpus.models import (
    ModelInUse,
    first_seen,
    first_seen_by_model,
    models_in_use,
    unpriced_before,
)
from accounting.queries.price_effect import PriceEffect, price_effect
from accounting.queries.teams.directory import PriceRow, price_rows
from accounting.queries.usage.facets import values_held
from accounting.views.price_timeline import price_timeline
from accounting.web.page_state import PageState
from accounting.web.permissions import Visitor, admin_form, signed_in, visitor_of


@signed_in
def price_list(request: HttpRequest) -> HttpResponse:
    """Every rate; for finance and admins also costs, and models without a current price."""
    visitor = visitor_of(request)
    scope = visitor.scope
    rows = price_rows(scope)
    in_force = {row.model for row in rows if _is_in_force(row, visitor.now)}
    in_use = models_in_use() if scope.sees_all else []
    seen = first_seen_by_model() if scope.sees_all else {}
    context = {
        "rows": rows,
        "timeline": price_timeline(rows, seen, visitor) if rows else None,
        "now": visitor.now,
        "unpriced": [one for one in in_use if one.name not in in_force],
        "shows_costs": scope.is_finance,
        "currency": visitor.billing.currency,
    }
    return render(request, "accounting/prices.html", context)


def _is_in_force(row: PriceRow, now: datetime) -> bool:
    return row.valid_from <= now and (row.valid_to is None or row.valid_to > now)


@admin_form
def price_add(request: HttpRequest) -> HttpResponse:
    """Add a price from a day on: first a preview of its effect, then saved."""
    visitor = visitor_of(request)
    today = visitor.now.astimezone(visitor.billing.zone).date()
    if request.method != "POST":
        start = _start(request, visitor)
        start["valid_from"] = _first_day(visitor, start["model"]) or tomorrow(today)
        return _form(request, visitor, PriceForm(initial=start))
    form = PriceForm(request.POST)
    if not form.is_valid():
        return _form(request, visitor, form)
    effect = _effect(visitor, form.cleaned_data)
    if "confirm" not in request.POST:
        return _form(request, visitor, form, effect)
    try:
        _save(visitor, form.cleaned_data, request)
    except (ValidationError, IntegrityError):
        form.add_error(None, "Another price already applies to the same days.")
        return _form(request, visitor, form)
    messages.success(
        request,
        f"The price of {form.cleaned_data['model']} is saved. The affected hours are recomputed "
        "within minutes. Metrics are not read again.",
    )
    return redirect("prices")


_OF_ROW = (
    *("model", "profile", "lifecycle", "cluster", "tier"),
    *("rate_per_gpu_hour", "cost_per_gpu_hour", "source_note"),
)


def _start(request: HttpRequest, visitor: Visitor) -> dict[str, Any]:
    """The initial values of the form: a price to change, or a model without one."""
    chosen = request.GET.get("price")
    if chosen is None:
        return {"model": request.GET.get("model", "")}
    for row in price_rows(visitor.scope):
        if str(row.id) == chosen:
            return {name: getattr(row, name) for name in _OF_ROW}
    raise Http404("no such price")


def _first_day(visitor: Visitor, model: str) -> date | None:
    """The first day of a first price: that of the model, so that all its hours are priced."""
    if not model or any(row.model == model for row in price_rows(visitor.scope)):
        return None
    since = first_seen(model)
    return since.astimezone(visitor.billing.zone).date() if since else None


@dataclass(frozen=True, slots=True)
class Doubts:
    """Possible mistakes in a price; none of them is rejected.

    Attributes:
        model, tier: never seen in any cluster; empty if known.
        unpriced_ms: held GPU time before its first day that stays unpriced.
        first_seen: of the model, if time before its first day stays unpriced.
    """

    model: str = ""
    tier: str = ""
    unpriced_ms: int = 0
    first_seen: datetime | None = None


def _doubts(
    visitor: Visitor,
    chosen: dict[str, Any],
    models: list[ModelInUse],
    tiers: list[str],
) -> Doubts:
    model, tier = chosen["model"], chosen["tier"]
    seen = first_seen(model)
    is_known = seen is not None or any(one.name == model for one in models)
    since = midnight(chosen["valid_from"], visitor.billing.zone)
    unpriced = unpriced_before(model, since)
    return Doubts(
        model="" if is_known else model,
        tier="" if not tier or tier in tiers else tier,
        unpriced_ms=unpriced,
        first_seen=seen if unpriced else None,
    )


def _effect(visitor: Visitor, chosen: dict[str, Any]) -> PriceEffect:
    cluster = chosen["cluster"]
    return price_effect(
        model=chosen["model"],
        rate=chosen["rate_per_gpu_hour"],
        since=midnight(chosen["valid_from"], visitor.billing.zone),
        places=minor_places(visitor.billing.currency),
        cluster_id=cluster.pk if cluster else None,
        profile=chosen["profile"],
        lifecycle=chosen["lifecycle"],
        tier=chosen["tier"],
    )


def _save(visitor: Visitor, chosen: dict[str, Any], request: HttpRequest) -> None:
    cost: Decimal | None = chosen["cost_per_gpu_hour"]
    set_unit_price(
        model=chosen["model"],
        rate_per_gpu_hour=chosen["rate_per_gpu_hour"],
        cost_per_gpu_hour=cost,
        currency=visitor.billing.currency,
        valid_from=midnight(chosen["valid_from"], visitor.billing.zone),
        profile=chosen["profile"],
        lifecycle=chosen["lifecycle"],
        cluster=chosen["cluster"],
        tier=chosen["tier"],
        source_note=chosen["source_note"],
        actor=request.user,  # type: ignore[arg-type]  # the gate lets nobody else in
        reason=chosen["reason"],
    )


def _form(
    request: HttpRequest,
    visitor: Visitor,
    form: PriceForm,
    effect: PriceEffect | None = None,
) -> HttpResponse:
    held = values_held(PageState(request, compares=False).selection(), ("tier",))
    models, tiers = models_in_use(), [tier for tier in held["tier"] if tier]
    context = {
        "form": form,
        "effect": effect,
        "currency": visitor.billing.currency,
        "models": models,
        "tiers": tiers,
        "doubts": _doubts(visitor, form.cleaned_data, models, tiers)
        if effect
        else None,
    }
    status = 422 if form.errors else 200
    return render(request, "accounting/price_form.html", context, status=status)
