"""Bills of providers: the list by month, one bill against our cost, and the import."""

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone

from accounting.access.rights import BILLS
from accounting.bills.actions.finals import set_final
from accounting.bills.actions.import_bill import (
    BillImport,
    BillsBusy,
    bounds_of_request,
    import_bill,
)
from accounting.bills.actions.match_lines import match_again
from accounting.bills.models import Bill
from accounting.bills.pages.bill_forms import BillFileForm, FinalForm
from accounting.bills.pages.variance_chart import is_far, variance_chart
from accounting.bills.reads.bill_variance import (
    VarianceRow,
    cluster_variance_rows,
    total_variance,
    variance_rows,
)
from accounting.bills.reads.bills import (
    MOST_UNMATCHED,
    BillRow,
    bill_row,
    bill_rows,
    estimated_by_month,
    unmatched_rows,
)
from accounting.bills.rules.columns import BillFileError
from accounting.bills.rules.words import LEFT_OUT, MATCHED, UNMATCHED
from accounting.core.billing_calendar import months_later
from accounting.kit.outcomes import Refused
from accounting.kit.pages.permissions import FORM, page, posted, visitor_of
from accounting.months.tasks.periods import PeriodError, first_day

STATES = {
    "estimated": ("mute", "Estimated"),
    "reconciled": ("warn", "Reconciled"),
    "final": ("ok", "Final"),
    "replaced": ("mute", "Replaced"),
}


@page(BILLS)
def bill_list(request: HttpRequest) -> HttpResponse:
    """Every month with usage or a bill: its bills, what is matched, and the variance."""
    visitor = visitor_of(request)
    currency = visitor.billing.currency
    bills = bill_rows(visitor.scope, currency)
    context = {
        "months": _months(bills),
        "has_bills": bool(bills),
        "currency": currency,
    }
    return render(request, "bills/bills.html", context)


def _months(bills: list[BillRow]) -> list[dict[str, Any]]:
    """Months, the latest first, with their bills by provider and account."""
    estimated = estimated_by_month()
    names = sorted({*estimated, *(row.month for row in bills)}, reverse=True)
    return [
        {
            "first": date.fromisoformat(f"{name}-01"),
            "estimated": estimated.get(name),
            "bills": [
                (row, STATES[row.state])
                for row in sorted(bills, key=lambda one: (one.provider, one.account))
                if row.month == name
            ],
        }
        for name in names
    ]


@page(BILLS)
def bill(request: HttpRequest, number: int) -> HttpResponse:
    """One bill: by cluster and day against our cost, and what is not matched."""
    visitor = visitor_of(request)
    currency = visitor.billing.currency
    row = bill_row(visitor.scope, number, currency)
    if row is None:
        raise Http404("no such bill")
    return _bill(request, row, currency, FinalForm())


def _bill(
    request: HttpRequest, row: BillRow, currency: str, form: FinalForm
) -> HttpResponse:
    days = variance_rows([row.id], currency)
    context = {
        "row": row,
        "bill_state": STATES[row.state],
        "currency": currency,
        "days": _marked(days),
        "chart": variance_chart(days, currency),
        "unmatched": unmatched_rows(row.id, MOST_UNMATCHED),
        "most": MOST_UNMATCHED,
        "words": _words(row),
        "others": _others(row),
        "form": form,
    }
    status = 422 if form.is_bound else 200
    return render(request, "bills/bill.html", context, status=status)


def _marked(days: Sequence[VarianceRow]) -> list[tuple[VarianceRow, bool]]:
    return [(day, is_far(day)) for day in days]


@page(BILLS)
def bill_month(request: HttpRequest, period: str) -> HttpResponse:
    """All bills of a month together, by cluster and day against our cost."""
    visitor = visitor_of(request)
    currency = visitor.billing.currency
    try:
        first = first_day(period)
    except PeriodError as error:
        raise Http404(str(error)) from error
    days = cluster_variance_rows(first, months_later(first, 1), currency)
    context = {
        "period": period,
        "first": first,
        "days": _marked(days),
        "chart": variance_chart(days, currency),
        "total": total_variance(days),
        "currency": currency,
    }
    return render(request, "bills/bill_month.html", context)


def _words(row: BillRow) -> list[tuple[str, str, int, Decimal | None]]:
    """Each word with its text, rows and cost in the bill's currency."""
    found: list[tuple[str, str, int, Decimal | None]] = [
        (word, text, row.sums[word].rows, row.sums[word].cost)
        for word, text in (MATCHED | UNMATCHED).items()
        if word in row.sums
    ]
    found += [
        (word, text, row.counted[word], None)
        for word, text in LEFT_OUT.items()
        if row.counted.get(word)
    ]
    return found


def _others(row: BillRow) -> list[Bill]:
    """The other revisions of the same bill, the latest first."""
    same = Bill.objects.filter(
        account=row.account, starts_at=row.starts_at, ends_at=row.ends_at
    )
    return list(same.exclude(pk=row.id).order_by("-revision"))


@page(BILLS, FORM)
def bill_import(request: HttpRequest) -> HttpResponse:
    """Check a file, or import it."""
    form = BillFileForm(request.POST or None, request.FILES or None)
    found: BillImport | None = None
    if request.method == "POST" and form.is_valid():
        chosen = form.cleaned_data
        try:
            found = import_bill(
                chosen["file"].file,
                name=chosen["file"].name,
                saves="check" not in request.POST,
                is_final=chosen["is_final"],
                actor=request.user,  # type: ignore[arg-type]  # the gate lets nobody else in
                now=timezone.now(),
                bounds=bounds_of_request(),
            )
        except BillFileError as error:
            form.add_error("file", _sentence(error))
        except BillsBusy as error:
            form.add_error(None, _sentence(error))
            answer = _import_page(request, form, None, 409)
            answer["Retry-After"] = str(error.retry_after_s)
            return answer
        else:
            if found.is_saved:
                messages.success(request, _done(found))
                return redirect("bill", found.bills[0].number)
    is_refused = request.method == "POST" and (found is None or bool(found.faults))
    return _import_page(request, form, found, 422 if is_refused else 200)


def _import_page(
    request: HttpRequest, form: BillFileForm, found: BillImport | None, status: int
) -> HttpResponse:
    context = {"form": form, "found": found}
    return render(request, "bills/bill_form.html", context, status=status)


def _sentence(error: Exception) -> str:
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}."


def _done(found: BillImport) -> str:
    if all(one.is_known for one in found.bills):
        return "This file was imported before. Its rows were matched again."
    if len(found.bills) == 1:
        return "The bill is imported."
    return f"{len(found.bills)} bills are imported: one for each account and period."


@posted(BILLS, belongs_to="bill")
def bill_match(request: HttpRequest, number: int) -> HttpResponse:
    """Match the rows of a bill by what is known of nodes now."""
    row = Bill.objects.filter(pk=number).first()
    if row is None:
        raise Http404("no such bill")
    changed = match_again(row, actor=request.user)  # type: ignore[arg-type]  # the gate lets nobody else in
    text = f"{changed} lines have another match." if changed else "Nothing has changed."
    messages.success(request, text)
    return redirect("bill", number)


@posted(BILLS, belongs_to="bill")
def bill_final(request: HttpRequest, number: int) -> HttpResponse:
    """Mark a bill as final."""
    visitor = visitor_of(request)
    currency = visitor.billing.currency
    row = bill_row(visitor.scope, number, currency)
    if row is None:
        raise Http404("no such bill")
    form = FinalForm(request.POST)
    if not form.is_valid():
        return _bill(request, row, currency, form)
    try:
        set_final(
            Bill.objects.get(pk=number),
            actor=request.user,  # type: ignore[arg-type]  # the gate lets nobody else in
            reason=form.cleaned_data["reason"],
        )
    except Refused as error:
        messages.error(request, _sentence(error))
    else:
        messages.success(request, "The bill is final.")
    return redirect("bill", number)
