"""Price lists: a new one, and another name or source of one (money.md M13)."""

from typing import cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from accounting.kit.outcomes import Refused
from accounting.kit.pages.permissions import admin_form, visitor_of
from accounting.prices.actions.price_lists import (
    CreatePriceList,
    change_price_list,
    create_price_list,
)
from accounting.prices.models.price import PriceList
from accounting.prices.pages.price_forms import PriceListChangeForm, PriceListForm


@admin_form
def price_list_add(request: HttpRequest) -> HttpResponse:
    """Create a list."""
    start = {"currency": visitor_of(request).billing.currency}
    form = PriceListForm(request.POST or None, initial=start)
    return _answered(request, form, None)


@admin_form
def price_list_change(request: HttpRequest, number: int) -> HttpResponse:
    """Rename a list, or change its source."""
    known = PriceList.objects.filter(pk=number).first()
    if known is None:
        raise Http404("no such list")
    start = {"name": known.name, "source": known.source}
    form = PriceListChangeForm(request.POST or None, initial=start)
    return _answered(request, form, known)


def _answered(
    request: HttpRequest, form: PriceListChangeForm, known: PriceList | None
) -> HttpResponse:
    if request.method == "POST" and form.is_valid():
        values, person = form.cleaned_data, cast("User", request.user)
        try:
            if known:
                change_price_list(known, **values, actor=person)
            else:
                create_price_list(CreatePriceList(**values), person)
        except Refused as error:
            form.add_error(error.member, error.sentence)
        else:
            name = values["name"].strip()
            messages.success(request, f"The list {name} is saved.")
            return redirect("prices")
    status = 422 if request.method == "POST" else 200
    context = {"form": form, "known": known}
    return render(request, "prices/price_list_form.html", context, status=status)
