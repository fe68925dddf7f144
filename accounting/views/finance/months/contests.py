"""Contests of statements: the list, one contest with its answers, and their forms (M34)."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from accounting.actions.finance import contests as actions
from accounting.actions.finance.entries import PreviewChanged
from accounting.booking.periods import PeriodError
from accounting.models import Contest, ContestState, Team
from accounting.queries.finance.months.contested import subjects
from accounting.queries.finance.months.contests import (
    ContestRow,
    contest_row,
    contest_rows,
)
from accounting.queries.finance.months.entry_effect import EntryEffect
from accounting.queries.finance.months.lines import Booking, BookingError, booking_of
from accounting.queries.finance.months.statement_document import document
from accounting.queries.finance.months.statements import statement_row
from accounting.queries.selection import SelectionError
from accounting.rights import CONTESTS, PERIODS
from accounting.views.finance.months.contest_forms import (
    ANSWERS,
    ContestForm,
    RuleAnswerForm,
    answer_form,
)
from accounting.views.finance.months.period_forms import (
    EntryAmountForm,
    PeriodReasonForm,
)
from accounting.web.finance.contests import CONTEST_TONES
from accounting.web.paging import paged
from accounting.web.permissions import FORM, Visitor, page, posted, visitor_of


@page(CONTESTS)
def contest_list(request: HttpRequest) -> HttpResponse:
    """Contests that the visitor may read: open ones first."""
    visitor = visitor_of(request)
    state = request.GET.get("state", "")
    if state and state not in ContestState.values:
        raise SelectionError(
            f"state={state!r} is not one of {', '.join(ContestState.values)}"
        )
    rows = contest_rows(visitor.scope, states=[state] if state else ())
    context = {
        "page": paged([_line(row) for row in rows], request.GET),
        "chosen": state,  # `state` is that of the page's header
        "states": ContestState.choices,
        "may_answer": PERIODS.allows(visitor.scope),
    }
    return render(request, "accounting/contests.html", context)


def _line(row: ContestRow) -> dict[str, Any]:
    return {
        "row": row,
        "tone": CONTEST_TONES[row.state],
        "label": row.state_label,
        "first": date.fromisoformat(f"{row.period}-01"),
        "statement_url": _statement_url(row),
    }


def _statement_url(row: ContestRow) -> str:
    address = reverse("statement", args=[row.team, row.period])
    return f"{address}?{urlencode({'revision': row.revision})}"


@page(CONTESTS)
def contest(request: HttpRequest, number: int) -> HttpResponse:
    """One contest: what was said, and what may be done now."""
    visitor = visitor_of(request)
    return _contest(request, visitor, _row(visitor, number))


@dataclass(frozen=True, slots=True)
class _WrittenAnswer:
    """An answer that is being written: which one, its form, and what its entry would do."""

    chosen: str
    form: PeriodReasonForm | None = None
    effect: EntryEffect | None = None

    @property
    def is_entry(self) -> bool:
        """Whether it has an amount, which is previewed before it is sent."""
        return isinstance(self.form, EntryAmountForm)


def _contest(
    request: HttpRequest,
    visitor: Visitor,
    row: ContestRow,
    answer: _WrittenAnswer | None = None,
    *,
    status: int = 200,
    **forms: Any,
) -> HttpResponse:
    is_lead = row.team_id in visitor.scope.lead_of
    is_open, is_answered = row.state == "open", row.state == "answered"
    if answer is None:
        chosen = request.GET.get("answer", "")
        answer = _WrittenAnswer(chosen, answer_form(chosen, None, _today(visitor)))
    context = {
        **_line(row),
        "answers": [
            (code, title.format(team=row.team_name))
            for code, (title, _) in ANSWERS.items()
        ],
        "may_answer": is_open and PERIODS.allows(visitor.scope),
        "may_decide": is_answered and is_lead,
        "may_withdraw": is_open and is_lead,
        "answer": answer,
        "is_refused": status == 422,
        "reopen_form": PeriodReasonForm(),
        **forms,
    }
    return render(request, "accounting/contest.html", context, status=status)


def _today(visitor: Visitor) -> date:
    return visitor.now.astimezone(visitor.billing.zone).date()


def _row(visitor: Visitor, number: int) -> ContestRow:
    row = contest_row(visitor.scope, number)
    if row is None:
        raise Http404("no such contest")
    return row


def _own_row(visitor: Visitor, number: int) -> ContestRow:
    """A contest of a team that the visitor leads."""
    row = _row(visitor, number)
    if row.team_id not in visitor.scope.lead_of:
        raise PermissionDenied(f"people who lead {row.team_name}")
    return row


@page(CONTESTS, FORM)
def contest_add(request: HttpRequest, team: str, period: str) -> HttpResponse:
    """Contest a statement or a part of it."""
    visitor = visitor_of(request)
    booking = _booking(period, request.GET.get("revision", ""))
    row = statement_row(booking, visitor.scope, team) if booking else None
    payer = Team.objects.filter(slug=team).first()
    if booking is None or row is None or payer is None:
        raise Http404("no such statement")
    if payer.pk not in visitor.scope.lead_of:
        raise PermissionDenied(f"people who lead {payer.name}")
    form = ContestForm(
        request.POST or None,
        subjects=subjects(row, document(booking, row)),
        currency=booking.currency,
        initial={"what": request.GET.get("what", "")},
    )
    if request.method == "POST" and form.is_valid():
        of, key = form.subject
        person: Any = request.user
        try:
            made = actions.open_contest(
                payer,
                period,
                form.cleaned_data["reason"],
                person,
                of=of,
                key=key,
                revision=booking.revision,
            )
        except PeriodError as error:
            form.add_error(None, _sentence(error))
        else:
            messages.success(request, "Finance sees your contest and answers it here.")
            return redirect("contest", made.pk)
    context = {
        "form": form,
        "row": row,
        "booking": booking,
        "first": date.fromisoformat(f"{period}-01"),
    }
    status = 422 if request.method == "POST" else 200
    return render(request, "accounting/contest_form.html", context, status=status)


def _booking(period: str, revision: str) -> Booking | None:
    try:
        return booking_of(period, int(revision) if revision.isdecimal() else None)
    except BookingError:
        return None


@posted(CONTESTS, belongs_to="contest")
def contest_answer(request: HttpRequest, number: int) -> HttpResponse:
    """Answer an open contest. A credit or an extra charge is shown before it is sent."""
    visitor = visitor_of(request)
    row = _row(visitor, number)
    if not PERIODS.allows(visitor.scope):
        raise PermissionDenied(PERIODS.who)
    chosen = request.POST.get("answer", "")
    form = answer_form(chosen, request.POST, _today(visitor))
    if form is None or not form.is_valid():
        return _contest(request, visitor, row, _WrittenAnswer(chosen, form), status=422)
    asked = Contest.objects.get(pk=number)
    if isinstance(form, EntryAmountForm) and row.state == ContestState.OPEN:
        effect = form.previewed(asked.team)
        if effect is None or "confirm" not in request.POST:
            answer = _WrittenAnswer(chosen, form, effect)
            status = 422 if form.errors else 200
            return _contest(request, visitor, row, answer, status=status)
    try:
        text = _sent(asked, form, request.user, request.POST.get("seen", ""))
    except actions.ContestError as error:
        # answered or withdrawn meanwhile: there is no form
        messages.error(request, _sentence(error))
        return redirect("contest", number)
    except PeriodError as error:
        effect = None
        if isinstance(error, PreviewChanged) and isinstance(form, EntryAmountForm):
            effect = form.previewed(asked.team)
        form.add_error(None, _sentence(error))
        answer = _WrittenAnswer(chosen, form, effect)
        return _contest(request, visitor, row, answer, status=422)
    messages.success(request, text)
    return redirect("contest", number)


def _sent(asked: Contest, form: PeriodReasonForm, person: Any, seen: str) -> str:
    """Answer as chosen; returns what was done."""
    chosen = form.cleaned_data
    reason = chosen["reason"]
    if isinstance(form, EntryAmountForm):
        kind, amount = form.signed
        entry = actions.EntryAnswer(kind, chosen["billing_on"], amount)
        made = actions.answer_with_entry(asked, entry, reason, person, seen=seen)
        month = f"{chosen['billing_on']:%B %Y}"
        return f"Answered with {made.number}. Its statement has it as soon as {month} is booked."
    if isinstance(form, RuleAnswerForm):
        actions.answer_with_rule(asked, chosen["rule"], reason, person)
    else:
        actions.answer_with_reason(asked, reason, person)
    return "Answered. The team accepts it or opens the contest again."


@posted(CONTESTS, belongs_to="contest")
def contest_accept(request: HttpRequest, number: int) -> HttpResponse:
    """Accept the answer."""
    return _done(request, number, actions.accept_answer, "The answer is accepted.")


@posted(CONTESTS, belongs_to="contest")
def contest_withdraw(request: HttpRequest, number: int) -> HttpResponse:
    """Withdraw an open contest."""
    return _done(request, number, actions.withdraw_contest, "The contest is withdrawn.")


@posted(CONTESTS, belongs_to="contest")
def contest_reopen(request: HttpRequest, number: int) -> HttpResponse:
    """Open an answered contest again."""
    visitor = visitor_of(request)
    row = _own_row(visitor, number)
    form = PeriodReasonForm(request.POST)
    if not form.is_valid():
        return _contest(request, visitor, row, status=422, reopen_form=form)

    def reopen(asked: Contest, person: Any) -> object:
        return actions.reopen_contest(asked, form.cleaned_data["reason"], person)

    return _done(request, number, reopen, "The contest is open again.")


def _done(
    request: HttpRequest,
    number: int,
    step: Callable[[Contest, Any], object],
    text: str,
) -> HttpResponse:
    """A step of the team's leads; back to the contest, with what was done or why not."""
    _own_row(visitor_of(request), number)
    try:
        step(Contest.objects.get(pk=number), request.user)
    except PeriodError as error:
        messages.error(request, _sentence(error))
    else:
        messages.success(request, text)
    return redirect("contest", number)


def _sentence(error: PeriodError) -> str:
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}."
