"""Price lists: a new one, and another name or source of one (money.md M13)."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from accounting.actions.finance.price_lists import (
    PriceListError,
    change_price_list,
    create_price_list,
)
from accounting.models import PriceList
from accounting.views.finance.prices.price_forms import (
    PriceListChangeForm,
    PriceListForm,
)
from accounting.web.permissions import admin_form, visitor_of


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
        values: dict[str, Any] = form.cleaned_data | {"actor": request.user}
        try:
            saved = (
                change_price_list(known, **values)
                if known
                else create_price_list(**values)
            )
        except PriceListError as error:
            text = str(error)
            form.add_error(error.field, f"{text[:1].upper()}{text[1:]}.")
        else:
            messages.success(request, f"The list {saved.name} is saved.")
            return redirect("prices")
    status = 422 if request.method == "POST" else 200
    context = {"form": form, "known": known}
    return render(request, "accounting/price_list_form.html", context, status=status)
