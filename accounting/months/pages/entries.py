"""Credits and extra charges: the form, its preview, and what it adds (money.md M25)."""

from typing import Any
from uuid import uuid4

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from accounting.access.rights import PERIODS
from accounting.kit.pages.permissions import FORM, page, visitor_of
from accounting.kit.preview import Preview
from accounting.months.actions.entries import add_previewed_entry
from accounting.months.models.entry import Entry
from accounting.months.pages.period_forms import EntryForm
from accounting.months.tasks.periods import PeriodError


@page(PERIODS, FORM)
def entry_add(request: HttpRequest) -> HttpResponse:
    """Add a credit or an extra charge: first a preview of the payables, then it is added."""
    visitor = visitor_of(request)
    today = visitor.now.astimezone(visitor.billing.zone).date()
    start = {"billing_on": today, "team": request.GET.get("team", "")}
    form = EntryForm(request.POST or None, initial=start)
    effect = None
    if form.is_valid():
        if "confirm" in request.POST and (made := _added(request, form)) is not None:
            return _done(request, made, has_begun=made.billing_on <= today)
        if not form.is_refused:
            effect = form.previewed(form.cleaned_data["team"])
    context: dict[str, Any] = {
        "form": form,
        "effect": effect,
        "preview_key": uuid4().hex,
        "currency": visitor.billing.currency,
    }
    is_wrong = bool(form.errors)
    return render(
        request, "months/entry_form.html", context, status=422 if is_wrong else 200
    )


BOOKED_SOON = "Its statements include it within 10 minutes."


def _done(request: HttpRequest, made: Entry, *, has_begun: bool) -> HttpResponse:
    month = f"{made.billing_on:%B %Y}"
    if has_begun:
        messages.success(request, f"{made.number} is added to {month}. {BOOKED_SOON}")
        return redirect("month", f"{made.billing_on:%Y-%m}")
    messages.success(
        request, f"{made.number} is added. The statement of {month} will have it."
    )
    return redirect("months")


def _added(request: HttpRequest, form: EntryForm) -> Entry | None:
    """The entry, once for each preview; None, with an error of the form, where it is not added."""
    chosen = form.cleaned_data
    kind, amount = form.signed
    preview = Preview(request.POST.get("preview", ""), request.POST.get("seen", ""))
    author: Any = request.user
    try:
        return add_previewed_entry(
            *(kind, chosen["team"], chosen["billing_on"], amount, chosen["reason"]),
            author,
            preview=preview,
        )
    except PeriodError as error:
        form.refuse(error)
        return None
