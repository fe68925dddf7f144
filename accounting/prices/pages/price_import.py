"""The import of a price list: a file is checked, shown and then saved (money.md M19).

An administrator saves; finance prepares a draft that an administrator saves.
"""

import io
from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from accounting.access import rights
from accounting.kit.pages.permissions import FORM, page, visitor_of
from accounting.prices.actions.price_drafts import prepare_draft
from accounting.prices.actions.price_import import (
    check_price_file,
    digest_of,
    import_price_file,
)
from accounting.prices.pages.price_check import check_context
from accounting.prices.pages.price_forms import (
    OPTIONS,
    PriceFileForm,
    PriceImportForm,
    saved_text,
    sentence_of,
)
from accounting.prices.rules.price_offers import Offer, PriceFileError
from accounting.prices.serializers.price_import import import_options, text_of


@page(rights.PREPARE_PRICES, FORM)
def price_import(request: HttpRequest) -> HttpResponse:
    """Upload a file, look at the result for each row, and save or send it."""
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
        form.add_error("file", sentence_of(error))
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
        if visitor_of(request).scope.is_admin:
            return _saved(request, form, text)
        return _prepared(request, form, text)
    except PriceFileError as error:
        return _again(request, text, sentence_of(error))


def _saved(request: HttpRequest, form: PriceImportForm, text: str) -> HttpResponse:
    offers = import_price_file(
        io.StringIO(text, newline=""),
        import_options(form.cleaned_data),
        actor=request.user,  # type: ignore[arg-type]  # the gate lets nobody else in
        reason=form.cleaned_data["reason"],
        seen=form.cleaned_data["seen"],
    )
    messages.success(request, saved_text(offers))
    return redirect("prices")


def _prepared(request: HttpRequest, form: PriceImportForm, text: str) -> HttpResponse:
    draft = prepare_draft(
        text,
        {name: form.cleaned_data[name] for name in OPTIONS},
        import_options(form.cleaned_data),
        author=request.user,  # type: ignore[arg-type]  # the gate lets nobody else in
        reason=form.cleaned_data["reason"],
    )
    messages.success(
        request, "The price list waits for an administrator. No price changed yet."
    )
    return redirect("price-draft", draft.pk)


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


def _page(
    request: HttpRequest,
    form: PriceFileForm,
    confirm: PriceImportForm | None = None,
    offers: Sequence[Offer] = (),
    *,
    status: int = 200,
) -> HttpResponse:
    visitor = visitor_of(request)
    context: dict[str, Any] = {
        "form": form,
        "confirm": confirm,
        "hidden": [confirm[name] for name in OPTIONS] if confirm else [],
        "may_save": visitor.scope.is_admin,
    }
    if confirm:
        context |= check_context(visitor, offers)
    return render(request, "prices/price_import.html", context, status=status)
