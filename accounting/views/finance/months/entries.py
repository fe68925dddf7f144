"""Credits and extra charges: the form, its preview, and what it adds (money.md M25)."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from accounting.actions.finance.entries import add_entry
from accounting.booking.periods import PeriodError
from accounting.models import Entry
from accounting.rights import PERIODS
from accounting.views.finance.months.period_forms import EntryForm
from accounting.web.permissions import FORM, page, visitor_of


@page(PERIODS, FORM)
def entry_add(request: HttpRequest) -> HttpResponse:
    """Add a credit or an extra charge: first a preview of the payables, then it is added."""
    visitor = visitor_of(request)
    today = visitor.now.astimezone(visitor.billing.zone).date()
    start = {"billing_on": today, "team": request.GET.get("team", "")}
    form = EntryForm(request.POST or None, initial=start)
    effect = None
    if form.is_valid():
        if "confirm" not in request.POST:
            effect = form.previewed(form.cleaned_data["team"])
        elif (made := _added(form, request.user)) is not None:
            messages.success(
                request,
                f"{made.number} is added. It is on the statement after the next computation.",
            )
            return redirect("month", f"{made.billing_on:%Y-%m}")
    context: dict[str, Any] = {
        "form": form,
        "effect": effect,
        "currency": visitor.billing.currency,
    }
    is_wrong = request.method == "POST" and effect is None
    return render(
        request, "accounting/entry_form.html", context, status=422 if is_wrong else 200
    )


def _added(form: EntryForm, author: Any) -> Entry | None:
    """The entry; None, with an error of the form, where it is refused."""
    chosen = form.cleaned_data
    kind, amount = form.signed
    try:
        return add_entry(
            kind, chosen["team"], chosen["billing_on"], amount, chosen["reason"], author
        )
    except PeriodError as error:
        form.refuse(error)
        return None
