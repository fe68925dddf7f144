"""A price list that finance prepared: looked at, and saved by an administrator (money.md M19)."""

import io
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from accounting.access import rights
from accounting.kit.outcomes import Refused
from accounting.kit.pages.permissions import FORM, page, visitor_of
from accounting.prices.actions.price_drafts import discard_draft, save_draft
from accounting.prices.actions.price_import import check_price_file, digest_of
from accounting.prices.models.price_draft import DraftState, PriceDraft
from accounting.prices.pages.price_check import check_context
from accounting.prices.pages.price_forms import PriceDraftForm, saved_text, sentence_of
from accounting.prices.rules.price_offers import Offer, PriceFileError
from accounting.prices.serializers.price_import import import_options


@page(rights.PREPARE_PRICES, FORM)
def price_draft(request: HttpRequest, number: int) -> HttpResponse:
    """The check of a draft with the prices of today; saved or discarded by a POST."""
    draft = get_object_or_404(PriceDraft.objects.select_related("author"), pk=number)
    if request.method != "POST" or draft.state != DraftState.OPEN:
        return _page(request, draft)
    try:
        if "discard" in request.POST:
            return _discarded(request, draft)
        return _saved(request, draft)
    except Refused as error:
        messages.warning(request, error.sentence)
        return redirect("price-draft", draft.pk)


def _discarded(request: HttpRequest, draft: PriceDraft) -> HttpResponse:
    visitor = visitor_of(request)
    if not (visitor.scope.is_admin or draft.author_id == request.user.pk):
        return _page(request, draft, status=403)
    discard_draft(
        draft,
        actor=request.user,  # type: ignore[arg-type]  # the gate lets nobody else in
        now=visitor.now,
    )
    messages.success(request, "The price list is discarded. No price changed.")
    return redirect("prices")


def _saved(request: HttpRequest, draft: PriceDraft) -> HttpResponse:
    visitor = visitor_of(request)
    form = PriceDraftForm(request.POST)
    if not visitor.scope.is_admin:
        return _page(request, draft, status=403)
    if not form.is_valid():
        return _page(request, draft, form=form, status=422)
    try:
        offers = save_draft(
            draft,
            import_options(draft.options),
            actor=request.user,  # type: ignore[arg-type]  # the gate lets nobody else in
            reason=form.cleaned_data["reason"],
            seen=form.cleaned_data["seen"],
            now=visitor.now,
        )
    except PriceFileError as error:
        return _page(request, draft, fault=sentence_of(error), status=422)
    messages.success(request, saved_text(offers))
    return redirect("prices")


def _page(
    request: HttpRequest,
    draft: PriceDraft,
    *,
    form: PriceDraftForm | None = None,
    fault: str = "",
    status: int = 200,
) -> HttpResponse:
    visitor = visitor_of(request)
    is_open = draft.state == DraftState.OPEN
    context: dict[str, Any] = {
        "draft": draft,
        "is_open": is_open,
        "fault": fault,
        "may_save": visitor.scope.is_admin,
        "may_discard": visitor.scope.is_admin or draft.author_id == request.user.pk,
    }
    if is_open:
        try:
            offers = _offers(draft)
        except PriceFileError as error:
            context["fault"] = sentence_of(error)
        else:
            start = {"reason": draft.reason, "seen": digest_of(offers)}
            context["confirm"] = form or PriceDraftForm(initial=start)
            context |= check_context(visitor, offers)
    return render(request, "prices/price_draft.html", context, status=status)


def _offers(draft: PriceDraft) -> list[Offer]:
    lines = io.StringIO(draft.text, newline="")
    return check_price_file(lines, import_options(draft.options))
