"""Credits and adjustments: the form (money.md M25)."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from accounting.actions.finance.entries import add_entry
from accounting.booking.periods import PeriodError
from accounting.rights import PERIODS
from accounting.views.finance.months.period_forms import EntryForm
from accounting.web.permissions import FORM, page, visitor_of


@page(PERIODS, FORM)
def entry_add(request: HttpRequest) -> HttpResponse:
    """Add a credit or an adjustment to a team's statement."""
    visitor = visitor_of(request)
    today = visitor.now.astimezone(visitor.billing.zone).date()
    start = {"billing_on": today, "team": request.GET.get("team", "")}
    form = EntryForm(request.POST or None, initial=start)
    if request.method == "POST" and form.is_valid():
        chosen, author = form.cleaned_data, request.user
        try:
            made = add_entry(**chosen, author=author)  # type: ignore[arg-type]  # a person
        except PeriodError as error:
            text = str(error)
            form.add_error(None, f"{text[:1].upper()}{text[1:]}.")
        else:
            messages.success(
                request,
                f"{made.number} is added. It is on the statement after the next computation.",
            )
            return redirect("month", f"{made.billing_on:%Y-%m}")
    context: dict[str, Any] = {"form": form, "currency": visitor.billing.currency}
    status = 422 if request.method == "POST" else 200
    return render(request, "accounting/entry_form.html", context, status=status)
