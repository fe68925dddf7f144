"""Months: which is open, what blocks its close, what it comes to; closing and reopening."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.timezone import localdate

from accounting.access.rights import PERIODS
from accounting.core.money import Money
from accounting.kit.pages.permissions import Visitor, page, posted, visitor_of
from accounting.kit.tags import units
from accounting.months.actions import periods as actions
from accounting.months.actions.close_requests import request_close
from accounting.months.models.close import ReopenRequest
from accounting.months.models.contest import ContestState
from accounting.months.models.entry import Entry
from accounting.months.pages.closing import (
    CLOSING,
    CLOSING_STATE,
    check_rows,
    closing_context,
    closing_part,
    failing,
)
from accounting.months.pages.month_waterfall import month_waterfall
from accounting.months.pages.period_forms import (
    ConfirmForm,
    MethodForm,
    OverrideForm,
    PeriodReasonForm,
)
from accounting.months.pages.statement_parts import statement_page
from accounting.months.reads.close_requests import close_progress
from accounting.months.reads.contests import contest_rows
from accounting.months.reads.entries import waiting_entries
from accounting.months.reads.lines import Booking, BookingError, booking_of
from accounting.months.reads.periods import (
    PeriodRow,
    PeriodState,
    earlier_revisions,
    period_row,
    period_rows,
)
from accounting.months.reads.statement_families import (
    StatementFamilies,
    statement_families,
)
from accounting.months.reads.statement_table import StatementTable, statement_table
from accounting.months.reads.statements import statement_rows
from accounting.months.reads.waiting import confirmations_for
from accounting.months.rules.check_words import CHECK_TITLES
from accounting.months.rules.close_checks import CONFIRM_WITHIN, Level
from accounting.months.rules.contest_words import TONES
from accounting.months.rules.methods import METHODS
from accounting.months.rules.month_sentences import MonthTold, month_sentences
from accounting.months.tasks.checks.of_close import shown_checks
from accounting.months.tasks.periods import PeriodError, next_to_close, previous_period
from accounting.months.tasks.running import book_running

STATES = {
    PeriodState.OPEN: ("mute", "Open"),
    PeriodState.SETTLING: ("warn", "Settling"),
    PeriodState.CLOSED: ("ok", "Closed"),
    PeriodState.UNBOOKED: ("mute", "Not booked"),
}


@page(PERIODS)
def month_list(request: HttpRequest) -> HttpResponse:
    """Finance's start page: the open month, what blocks the next close, how much, who contests."""
    visitor = visitor_of(request)
    rows = period_rows(visitor.now)
    following = _to_close(rows)
    closing = close_progress(following.name) if following else None
    is_closing = closing is not None and closing.is_unfinished
    checks = (
        shown_checks(following.name, visitor.now)
        if following and not is_closing
        else ()
    )
    contests = contest_rows(visitor.scope, states=[ContestState.OPEN])
    context = {
        "rows": [(row, *STATES[row.state]) for row in rows],
        "open": rows[0],
        "next": following,
        "entries": _waiting_entries(rows),
        "closing": closing if is_closing else None,
        "waiting": [
            (one, CHECK_TITLES.get(one.code, ""))
            for one in confirmations_for(
                visitor.scope, request.user.pk or 0, visitor.now
            )
        ],
        "contests": contests,
        "contesting": sorted({one.team_name for one in contests}, key=str.casefold),
        "blocking": [
            (one, CHECK_TITLES[one.code]) for one in checks if one.is_blocking
        ],
        "warnings": [one for one in checks if one.level is Level.WARNING],
        "has_corrections": any(row.corrections for row in rows),
    }
    return render(request, "months/months.html", context)


def _waiting_entries(rows: list[PeriodRow]) -> list[Entry]:
    """Those of the months that are open or settling, the latest month first."""
    states = (PeriodState.OPEN, PeriodState.SETTLING)
    months = [row.first for row in rows if row.state in states]
    found = waiting_entries(min(months), max(months)) if months else []
    return sorted(found, key=lambda one: one.billing_on.replace(day=1), reverse=True)


def _to_close(rows: list[PeriodRow]) -> PeriodRow | None:
    """The month to close next: after the latest closed one, else the last that is over."""
    name = next_to_close()
    if name is None:
        over = (row for row in rows if row.state is PeriodState.SETTLING)
        return next(over, None)
    return next((row for row in rows if row.name == name), None)


@page(PERIODS)
def month(request: HttpRequest, period: str) -> HttpResponse:
    """One month: its checks, statements, and what may be done with it."""
    visitor = visitor_of(request)
    row = period_row(period, visitor.now)
    if row is None:
        raise Http404("no such month")
    if request.headers.get("HX-Target") == CLOSING:
        return closing_part(request, row)
    return _month(request, visitor, row)


def _month(
    request: HttpRequest, visitor: Visitor, row: PeriodRow, **forms: Any
) -> HttpResponse:
    booking = _booking(row.name)
    is_closed = row.state is PeriodState.CLOSED
    closing = close_progress(row.name)
    is_fixed = is_closed or closing.is_unfinished
    checks = () if is_fixed else shown_checks(row.name, visitor.now)
    before = _booking(previous_period(row.name))
    revisions = earlier_revisions(row.name)
    earlier = booking_of(row.name, revisions[0].revision) if revisions else None
    statements = (
        statement_rows(booking, visitor.scope, before, earlier)
        if booking is not None
        else []
    )
    table = statement_table(statements)
    shown_rows = check_rows(checks, request.user.get_username())
    blocking = [one for one in checks if one.is_blocking]
    context = {
        "row": row,
        "period_state": CLOSING_STATE if closing.is_unfinished else STATES[row.state],
        **closing_context(closing),
        "booking": booking,
        "sentences": month_sentences(_told(row, booking, earlier, len(blocking))),
        "checks": shown_rows,
        "failing": failing(shown_rows),
        "passed": [one for one in shown_rows if one[0].level is Level.PASSED],
        "blocking": blocking,
        "first_mended": next((one.code for one in blocking if one.link), ""),
        "waterfall": month_waterfall(table) if table.rows else [],
        "contests": [
            (one, TONES[one.state])
            for one in contest_rows(visitor.scope, periods=[row.name])
        ],
        "table": table,
        "opened": _opened(booking, table, request.GET.get("open", "")),
        "earlier": earlier,
        "page": statement_page(table, request.GET),
        "has_cost_centers": any(one.cost_centre for one in statements),
        "is_latest_closed": is_closed and _is_latest(row),
        "reopening": _reopening(row, visitor) if is_closed else None,
        "revisions": revisions,
        "waiting": [] if is_closed else waiting_entries(row.first),
        "methods": METHODS,
        "may_choose_method": visitor.now < row.starts_at,
        "override_form": OverrideForm(),
        "reopen_form": PeriodReasonForm(),
        **forms,
    }
    status = 422 if forms else 200
    return render(request, "months/month.html", context, status=status)


def _told(
    row: PeriodRow, booking: Booking | None, earlier: Booking | None, blocking: int
) -> MonthTold:
    """What the first sentences of a month say."""
    closed = ""
    if row.closed_at:
        by = row.closed_by or "the command line"
        closed = f"Closed by {by} on {units.day(localdate(row.closed_at))}"
    change = None
    if booking is not None and earlier is not None:
        change = Money(booking.payable - earlier.payable, booking.currency)
    ms = row.without_money_ms
    return MonthTold(
        name=f"{row.first:%B %Y}",
        payable=row.payable,
        teams=row.teams,
        unallocated=row.unallocated,
        is_closed=row.state is PeriodState.CLOSED,
        is_over=row.state is not PeriodState.OPEN,
        uncharged=f"{units.gpu_hours(ms)} GPU-h" if ms else "",
        revision=row.revision or 1,
        change=change,
        blocking=blocking,
        closed=closed,
        money=units.money,
    )


def _opened(
    booking: Booking | None, table: StatementTable, team: str
) -> StatementFamilies | None:
    """The families of the statement in `?open=`; None if it names none of the page's."""
    found = next((row for row, _ in table.rows if row.team == team), None)
    if booking is None or found is None:
        return None
    return statement_families(booking, found)


def _booking(period: str) -> Booking | None:
    try:
        return booking_of(period)
    except BookingError:
        return None


def _is_latest(row: PeriodRow) -> bool:
    following = next_to_close()
    return following is not None and previous_period(following) == row.name


def _reopening(row: PeriodRow, visitor: Visitor) -> ReopenRequest | None:
    """A request to open the month again that waits for a second person."""
    since = visitor.now - CONFIRM_WITHIN
    return (
        ReopenRequest.objects.filter(
            period=row.name,
            revision=row.revision or 0,
            confirmed_at__isnull=True,
            requested_at__gt=since,
        )
        .select_related("requested_by")
        .last()
    )


def _done(
    request: HttpRequest, period: str, act: Callable[[], object], text: str
) -> HttpResponse:
    """Carry out an action and return to its month, with what was done or why not."""
    try:
        act()
    except PeriodError as error:
        messages.error(request, _sentence(error))
    else:
        messages.success(request, text)
    return redirect("month", period)


def _sentence(error: PeriodError) -> str:
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}."


@posted(PERIODS, belongs_to="month")
def month_book(request: HttpRequest, period: str) -> HttpResponse:
    """Compute the running booking now."""
    user: Any = request.user
    return _done(
        request,
        period,
        lambda: book_running(period, by=user),
        "The month is computed again.",
    )


@posted(PERIODS, belongs_to="month")
def month_close(request: HttpRequest, period: str) -> HttpResponse:
    """Request the close of the month; its page shows how far a worker is."""
    user: Any = request.user
    return _done(
        request,
        period,
        lambda: request_close(period, user),
        f"The close of {period} is requested.",
    )


@posted(PERIODS, belongs_to="month")
def month_override(request: HttpRequest, period: str) -> HttpResponse:
    """Request to close the month despite a check."""
    user: Any = request.user
    form = OverrideForm(request.POST)
    if not form.is_valid():
        visitor = visitor_of(request)
        row = period_row(period, visitor.now)
        if row is None:
            raise Http404("no such month")
        return _month(request, visitor, row, override_form=form)
    chosen = form.cleaned_data
    return _done(
        request,
        period,
        lambda: actions.request_override(
            period, chosen["check"], chosen["reason"], user
        ),
        "The override is requested. Another person must confirm it within 24 hours.",
    )


@posted(PERIODS, belongs_to="month")
def month_confirm(request: HttpRequest, period: str) -> HttpResponse:
    """Confirm another person's override."""
    user: Any = request.user
    return _done(
        request,
        period,
        lambda: actions.confirm_override(_number(request), user),
        "The override is confirmed.",
    )


@posted(PERIODS, belongs_to="month")
def month_reopen(request: HttpRequest, period: str) -> HttpResponse:
    """Request to open the month again, or confirm another person's request."""
    user: Any = request.user
    if "number" in request.POST:
        return _done(
            request,
            period,
            lambda: actions.confirm_reopening(_number(request), user),
            f"{period} is open again. Its next close is a new revision.",
        )
    form = PeriodReasonForm(request.POST)
    if not form.is_valid():
        visitor = visitor_of(request)
        row = period_row(period, visitor.now)
        if row is None:
            raise Http404("no such month")
        return _month(request, visitor, row, reopen_form=form)
    return _done(
        request,
        period,
        lambda: actions.request_reopening(period, form.cleaned_data["reason"], user),
        "Reopening is requested. Another person must confirm it within 24 hours.",
    )


@posted(PERIODS, belongs_to="month")
def month_method(request: HttpRequest, period: str) -> HttpResponse:
    """Choose the method of a month that has not begun."""
    user: Any = request.user
    form = MethodForm(request.POST)
    if not form.is_valid():
        raise Http404("no such method")
    method = form.cleaned_data["method"]
    return _done(
        request,
        period,
        lambda: actions.set_method(period, method, user),
        f"The method of {period} is {method}.",
    )


def _number(request: HttpRequest) -> int:
    form = ConfirmForm(request.POST)
    if not form.is_valid():
        raise Http404("no such request")
    number: int = form.cleaned_data["number"]
    return number
