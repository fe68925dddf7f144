"""The import of a price list: a file is checked, shown and then saved (money.md M19)."""

import io
from collections import Counter
from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from accounting.actions.finance.price_import import (
    check_price_file,
    digest_of,
    import_price_file,
)
from accounting.booking.price_effect import NewRate, list_effect
from accounting.domain.billing.price_import import WORDS
from accounting.domain.billing.price_offers import Offer, PriceFileError
from accounting.domain.core.money import minor_places
from accounting.models import Cluster, Gpu, PriceKind
from accounting.serializers.finance.price_import import import_options, text_of
from accounting.views.finance.prices.price_forms import (
    OPTIONS,
    PriceFileForm,
    PriceImportForm,
)
from accounting.web.permissions import Visitor, admin_form, visitor_of

SHOWN = 500  # rows; those that need a decision come first
SAID = {
    "filtered": "Left out",
    "no_count": "No GPUs",
    "no_price": "No price",
    "bad_number": "Number not valid",
    "bad_currency": "Currency not valid",
    "bad_date": "Date not valid",
    "unknown_model": "Unknown model",
    "absurd": "Far from the others",
    "conflict": "Several prices",
    "same": "Already there",
    "overlap": "Overlaps another price",
    "taken": "Taken",
}
"""Words of money.md M19 as the page says them."""
WELL = ("taken", "same", "filtered")
MOST_PREVIEWED = 20
"""Rates whose effect on charges is computed: each takes about as long as the form of a price."""


@admin_form
def price_import(request: HttpRequest) -> HttpResponse:
    """Upload a file, look at what becomes of each row, and save."""
    if request.method != "POST":
        start = {"price_list": request.GET.get("price_list")}
        return _page(request, PriceFileForm(initial=start))
    if "text" in request.POST:
        return _save(request)
    form = PriceFileForm(request.POST, request.FILES)
    if not form.is_valid():
        return _page(request, form, status=422)
    try:
        text = text_of(form.cleaned_data["file"].read())
        offers = _checked(text, form)
    except PriceFileError as error:
        form.add_error("file", _sentence(error))
        return _page(request, form, status=422)
    return _page(request, form, _confirmation(form, text, offers), offers)


def _save(request: HttpRequest) -> HttpResponse:
    form = PriceImportForm(request.POST)
    text = request.POST.get("text", "")
    if not form.is_valid():
        if set(form.errors) != {"reason"}:
            return _page(request, PriceFileForm(), status=422)
        return _again(request, text)
    try:
        offers = import_price_file(
            io.StringIO(text, newline=""),
            import_options(form.cleaned_data),
            actor=request.user,  # type: ignore[arg-type]  # the gate lets nobody else in
            reason=form.cleaned_data["reason"],
            seen=form.cleaned_data["seen"],
        )
    except PriceFileError as error:
        return _again(request, text, _sentence(error))
    count = sum(offer.word == "taken" for offer in offers)
    messages.success(
        request,
        f"{count} price{'' if count == 1 else 's'} saved. The affected hours are recomputed within "
        "minutes.",
    )
    return redirect("prices")


def _again(request: HttpRequest, text: str, fault: str = "") -> HttpResponse:
    """The result as it is now, with what is wrong in the form."""
    data = request.POST.copy()
    form = PriceImportForm(data)
    try:
        form.is_valid()
        offers = _checked(text, form)
    except PriceFileError:
        return _page(request, PriceFileForm(), status=422)
    data["seen"] = digest_of(offers)
    if fault:
        form.add_error(None, fault)
    return _page(request, PriceFileForm(), form, offers, status=422)


def _checked(text: str, form: PriceFileForm) -> list[Offer]:
    options = import_options(form.cleaned_data)
    return check_price_file(io.StringIO(text, newline=""), options)


def _confirmation(
    form: PriceFileForm, text: str, offers: Sequence[Offer]
) -> PriceImportForm:
    chosen = {name: form.cleaned_data[name] for name in OPTIONS}
    lines = {
        name: "\n".join(value) if isinstance(value, list) else value
        for name, value in chosen.items()
    }
    return PriceImportForm(initial=lines | {"text": text, "seen": digest_of(offers)})


def _sentence(error: Exception) -> str:
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}."


def _page(
    request: HttpRequest,
    form: PriceFileForm,
    confirm: PriceImportForm | None = None,
    offers: Sequence[Offer] = (),
    *,
    status: int = 200,
) -> HttpResponse:
    counts = Counter(offer.word for offer in offers)
    rates = _effective(visitor_of(request), offers) if confirm else []
    places = minor_places(visitor_of(request).billing.currency)
    ordered = sorted(offers, key=lambda offer: offer.word in WELL and not offer.warning)
    context: dict[str, Any] = {
        "form": form,
        "confirm": confirm,
        "hidden": [confirm[name] for name in OPTIONS] if confirm else [],
        "counts": [
            (SAID[word], counts[word]) for word in reversed(WORDS) if counts[word]
        ],
        "taken": counts["taken"],
        "warned": sum(bool(offer.warning) for offer in offers),
        "respelled": sorted(
            {(one.text, one.model) for one in offers if _is_respelled(one)}
        ),
        "effect": list_effect(rates[:MOST_PREVIEWED], places) if confirm else None,
        "previewed": min(len(rates), MOST_PREVIEWED),
        "not_previewed": max(0, len(rates) - MOST_PREVIEWED),
        "currency": visitor_of(request).billing.currency,
        "rows": [(one, SAID[one.word]) for one in ordered[:SHOWN]],
        "all": len(offers),
    }
    return render(request, "accounting/price_import.html", context, status=status)


def _is_respelled(offer: Offer) -> bool:
    """True for a price that is taken for a model which the file spells in another way."""
    return offer.word == "taken" and offer.text.casefold() != offer.model.casefold()


def _effective(visitor: Visitor, offers: Sequence[Offer]) -> list[NewRate]:
    """Rates that are taken, have begun, and are of a model that has been used."""
    clusters = dict(Cluster.objects.values_list("name", "pk"))
    used = set(Gpu.objects.values_list("model", flat=True).distinct())
    return [
        NewRate(
            model=offer.model,
            rate=offer.price,
            currency=offer.currency,
            valid_from=offer.valid_from,
            valid_to=offer.valid_to,
            cluster_id=clusters[offer.cluster] if offer.cluster else None,
            profile=offer.profile,
            lifecycle=offer.lifecycle,
            tier=offer.tier,
        )
        for offer in offers
        if offer.word == "taken"
        and offer.kind == PriceKind.RATE
        and offer.model in used
        and offer.price is not None
        and offer.valid_from is not None
        and offer.valid_from <= visitor.now
    ]
