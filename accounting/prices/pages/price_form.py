"""The form of a price: its effect and doubts are shown before it is saved (money.md M21)."""

from collections.abc import Sequence
from datetime import date
from typing import Any
from uuid import uuid4

from django.contrib import messages
from django.core.exceptions import NON_FIELD_ERRORS
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from accounting.core.billing_calendar import midnight
from accounting.core.money import minor_places
from accounting.kit.forms import tomorrow
from accounting.kit.pages.permissions import Visitor, admin_form, visitor_of
from accounting.kit.preview import Preview
from accounting.months.tasks.price_effect import NewRate, PriceEffect, price_effect
from accounting.prices.actions.previewed_prices import price_seen, set_previewed_price
from accounting.prices.actions.prices import PriceError
from accounting.prices.forms import PriceForm
from accounting.prices.models.price import PriceKind, PriceList, UnitPrice
from accounting.prices.pages.price_spelling import doubts_of
from accounting.prices.reads.gpu_models import first_seen, models_in_use
from accounting.prices.reads.price_book import price_rows
from accounting.prices.reads.price_doubts import booked_prices, price_doubts
from accounting.prices.rules.price_doubts import DatedPrice
from accounting.usage.pages.page_state import PageState
from accounting.usage.reads.facets import values_held


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
    doubts = _price_doubts(visitor, form.cleaned_data)
    is_refused = bool(doubts) and not form.cleaned_data["is_sure"]
    if "confirm" not in request.POST or is_refused:
        if "confirm" in request.POST:
            form.add_error("is_sure", "Confirm the price, or correct it.")
        shown = _previewed(visitor, form.cleaned_data)
        return _form(request, visitor, form, shown, doubts)
    author: Any = request.user
    preview = Preview(request.POST.get("preview", ""), request.POST.get("seen", ""))
    try:
        set_previewed_price(_price(visitor, form.cleaned_data), author, preview)
    except PriceError as error:
        form.add_error(error.field, str(error))
        is_other = error.field == NON_FIELD_ERRORS
        anew = _previewed(visitor, form.cleaned_data) if is_other else None
        return _form(request, visitor, form, anew, doubts)
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
            listed = UnitPrice.objects.values_list("price_list_id", flat=True)
            start = {name: getattr(row, name) for name in _OF_ROW}
            return start | {"price_list": listed.get(pk=row.id)}
    raise Http404("no such price")


def _first_day(visitor: Visitor, model: str) -> date | None:
    """The first day of a first price: that of the model, so that all its hours are priced."""
    if not model or any(
        row.model == model and row.kind == PriceKind.RATE
        for row in price_rows(visitor.scope)
    ):
        return None
    since = first_seen(model)
    return since.astimezone(visitor.billing.zone).date() if since else None


def _terms(visitor: Visitor, chosen: dict[str, Any]) -> dict[str, Any]:
    """What a price sets, and its start."""
    cluster = chosen["cluster"]
    return {
        "model": chosen["model"],
        "cluster_id": cluster.pk if cluster else None,
        "profile": chosen["profile"],
        "lifecycle": chosen["lifecycle"],
        "tier": chosen["tier"],
        "currency": _currency(visitor, chosen),
        "valid_from": midnight(chosen["valid_from"], visitor.billing.zone),
    }


def _currency(visitor: Visitor, chosen: dict[str, Any]) -> str:
    """The currency of the chosen list, else that of bills."""
    price_list: PriceList | None = chosen["price_list"]
    return price_list.currency if price_list else visitor.billing.currency


def _previewed(visitor: Visitor, chosen: dict[str, Any]) -> tuple[str, PriceEffect]:
    """What confirms a price, and its effect: in this order, a change meanwhile is refused."""
    return price_seen(_price(visitor, chosen)), _effect(visitor, chosen)


def _effect(visitor: Visitor, chosen: dict[str, Any]) -> PriceEffect:
    """The effect on charges; a cost has none."""
    rate = chosen["rate_per_gpu_hour"]
    if rate is None:
        return PriceEffect()
    places = minor_places(visitor.billing.currency)
    return price_effect(NewRate(rate=rate, **_terms(visitor, chosen)), places)


def _price_doubts(visitor: Visitor, chosen: dict[str, Any]) -> list[tuple[str, str]]:
    """Each kind of price that is probably a mistake, with the reason."""
    terms = _terms(visitor, chosen)
    found = []
    for kind in PriceKind.values:
        price = chosen[f"{kind}_per_gpu_hour"]
        if price is not None:
            new = DatedPrice(kind=kind, rate_per_gpu_hour=price, **terms)
            [doubt] = price_doubts([new], booked_prices(kind, new.model))
            found += [(kind, doubt.text)] if doubt else []
    return found


def _price(visitor: Visitor, chosen: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `set_unit_price`."""
    as_chosen = (
        *("model", "rate_per_gpu_hour", "cost_per_gpu_hour", "price_list", "profile"),
        *("lifecycle", "cluster", "tier", "source_note", "reason"),
    )
    return {name: chosen[name] for name in as_chosen} | {
        "currency": _currency(visitor, chosen),
        "valid_from": midnight(chosen["valid_from"], visitor.billing.zone),
    }


def _form(
    request: HttpRequest,
    visitor: Visitor,
    form: PriceForm,
    previewed: tuple[str, PriceEffect] | None = None,
    price_doubts: Sequence[tuple[str, str]] = (),
) -> HttpResponse:
    held = values_held(PageState(request, compares=False).selection(), ("tier",))
    models, tiers = models_in_use(), [tier for tier in held["tier"] if tier]
    seen, effect = previewed or ("", None)
    context = {
        "form": form,
        "effect": effect,
        "seen": seen,
        "preview_key": uuid4().hex,
        "price_doubts": price_doubts,
        "currency": visitor.billing.currency,
        "models": models,
        "tiers": tiers,
        "doubts": doubts_of(visitor, form.cleaned_data, models, tiers)
        if effect
        else None,
    }
    status = 422 if form.errors else 200
    return render(request, "prices/price_form.html", context, status=status)
