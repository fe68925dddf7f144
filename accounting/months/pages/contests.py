"""Contests of statements: the list, one contest with its answers, and their forms (M34)."""

from dataclasses import dataclass
from datetime import date
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from accounting.access.models.teams import Team
from accounting.access.rights import PERIODS
from accounting.kit.outcomes import Refused
from accounting.kit.pages.declared import button
from accounting.kit.pages.paging import paged
from accounting.kit.pages.permissions import FORM, Visitor, page, posted, visitor_of
from accounting.kit.reads.selection import SelectionError
from accounting.kit.resources.forms import form_of
from accounting.months.actions.contests import answer_contest, open_contest
from accounting.months.actions.entries import PreviewChanged
from accounting.months.models.contest import ContestState
from accounting.months.pages.contest_forms import ContestForm, answer_form, answer_of
from accounting.months.pages.period_forms import EntryAmountForm, PeriodReasonForm
from accounting.months.reads.contested import subjects
from accounting.months.reads.contests import ContestRow, contest_row, contest_rows
from accounting.months.reads.entry_effect import EntryEffect
from accounting.months.reads.lines import Booking, BookingError, booking_of
from accounting.months.reads.statement_document import document
from accounting.months.reads.statements import statement_row
from accounting.months.resource import ACCEPT, CONTESTS, REOPEN, WITHDRAW
from accounting.months.rules.contest_words import ANSWERS, TONES
from accounting.months.tasks.periods import PeriodError


@page(CONTESTS.right)
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
        "page": paged(rows, request.GET).drawn(_line),
        "chosen": state,  # `state` is that of the page's header
        "states": ContestState.choices,
        "may_answer": PERIODS.allows(visitor.scope),
    }
    return render(request, "months/contests.html", context)


def _line(row: ContestRow) -> dict[str, Any]:
    return {
        "row": row,
        "tone": TONES[row.state],
        "label": row.state_label,
        "first": date.fromisoformat(f"{row.period}-01"),
        "statement_url": _statement_url(row),
    }


def _statement_url(row: ContestRow) -> str:
    address = reverse("statement", args=[row.team, row.period])
    return f"{address}?{urlencode({'revision': row.revision})}"


@page(CONTESTS.right)
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
            (code, title.format(team=row.team_name)) for code, title in ANSWERS.items()
        ],
        "may_answer": is_open and PERIODS.allows(visitor.scope),
        "may_decide": is_answered and is_lead,
        "may_withdraw": is_open and is_lead,
        "answer": answer,
        "is_refused": status == 422,
        "reopen_form": form_of(REOPEN.takes)(),
        **forms,
    }
    return render(request, "months/contest.html", context, status=status)


def _today(visitor: Visitor) -> date:
    return visitor.now.astimezone(visitor.billing.zone).date()


def _row(visitor: Visitor, number: int) -> ContestRow:
    row = contest_row(visitor.scope, number)
    if row is None:
        raise Http404("no such contest")
    return row


@page(CONTESTS.right, FORM)
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
            made = open_contest(
                payer,
                period,
                form.cleaned_data["reason"],
                person,
                of=of,
                key=key,
                revision=booking.revision,
            )
        except Refused as error:
            form.add_error(None, error.sentence)
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
    return render(request, "months/contest_form.html", context, status=status)


def _booking(period: str, revision: str) -> Booking | None:
    try:
        return booking_of(period, int(revision) if revision.isdecimal() else None)
    except BookingError:
        return None


@posted(CONTESTS.right, belongs_to="contest")
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
    if isinstance(form, EntryAmountForm) and row.state == ContestState.OPEN:
        effect = form.previewed(Team.objects.get(pk=row.team_id))
        if effect is None or "confirm" not in request.POST:
            answer = _WrittenAnswer(chosen, form, effect)
            status = 422 if form.errors else 200
            return _contest(request, visitor, row, answer, status=status)
    person: Any = request.user
    try:
        seen = request.POST.get("seen", "")
        done = answer_contest(number, answer_of(form), person, seen=seen)
    except PeriodError as error:
        effect = None
        if isinstance(error, PreviewChanged) and isinstance(form, EntryAmountForm):
            effect = form.previewed(Team.objects.get(pk=row.team_id))
        form.add_error(None, error.sentence)
        answer = _WrittenAnswer(chosen, form, effect)
        return _contest(request, visitor, row, answer, status=422)
    except Refused as error:
        messages.error(request, error.sentence)  # answered or withdrawn meanwhile
    else:
        messages.success(request, done.text)
    return redirect("contest", number)


contest_accept = button(CONTESTS, ACCEPT, to="contest")
contest_withdraw = button(CONTESTS, WITHDRAW, to="contest")
contest_reopen = button(
    CONTESTS,
    REOPEN,
    to="contest",
    wrong=lambda request, row, form: _contest(
        request, visitor_of(request), row, status=422, reopen_form=form
    ),
)
