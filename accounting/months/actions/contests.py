"""Contests of statements: leads contest, finance answers, leads accept (money.md M34).

open -> answered -> accepted, or open again; an open one can be withdrawn. Nothing is deleted.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import cast

from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError, transaction

from accounting.access.models.teams import Binding, Team
from accounting.access.scope import scope_of
from accounting.kit.audit import act
from accounting.kit.inputs import body, reason, value
from accounting.kit.outcomes import Done, RefusalCode, Refused
from accounting.months.actions.entries import add_entry, check_seen
from accounting.months.actions.periods import NotAllowed, check_right, reason_of
from accounting.months.models.contest import (
    UNSETTLED,
    AnswerKind,
    Contest,
    ContestAct,
    ContestState,
    ContestStep,
)
from accounting.months.models.entry import Entry, EntryKind
from accounting.months.reads.contested import subject_of
from accounting.months.reads.lines import booking_of
from accounting.months.reads.statements import statement_row

LONGEST_TITLE = 500


@body("ContestAnswer")
class AnswerContest:
    """What finance answers."""

    reason: str = reason()
    answer: str = value(choices=AnswerKind)
    amount: Decimal | None = value(
        "of an entry: a credit is below 0, other amounts are adjustments",
        size=(20, 4),
        default=None,
    )
    day: date | None = value(
        "of an entry: a day of a month that is not closed", default=None
    )
    rule: Binding | None = value(
        "of a mapping: the rule that was changed", default=None
    )

    def check(self) -> None:
        """Each kind of answer has its members."""
        needed = {AnswerKind.ENTRY: ("amount", "day"), AnswerKind.MAPPING: ("rule",)}
        for name in needed.get(AnswerKind(self.answer), ()):
            if getattr(self, name) is None:
                raise Refused("This answer needs it.", member=name)


@body("Reason")
class ReopenContest:
    """Why."""

    reason: str = reason()


@dataclass(frozen=True, slots=True)
class _Move:
    """A step of the team's leads: in which state, what it is, and the state after it."""

    before: str
    done: str
    after: str


_ACCEPT = _Move(ContestState.ANSWERED, ContestAct.ACCEPTED, ContestState.ACCEPTED)
_REOPEN = _Move(ContestState.ANSWERED, ContestAct.REOPENED, ContestState.OPEN)
_WITHDRAW = _Move(ContestState.OPEN, ContestAct.WITHDRAWN, ContestState.WITHDRAWN)


def open_contest(
    team: Team,
    period: str,
    reason: str,
    by: AbstractBaseUser,
    *,
    of: str = "statement",
    key: str = "",
    revision: int | None = None,
    now: datetime | None = None,
) -> Contest:
    """Contest a statement, one of its rows or one of its lines.

    Args:
        team: whose statement it is.
        period: YYYY-MM, closed or not.
        reason: 10 to 200 characters.
        by: a lead of the team.
        of: statement, row or line.
        key: of `months.reads.contested`: "" of a statement, of a row, the id of a line.
        revision: of the period; None for the latest.
        now: the time of the contest.

    Raises:
        Refused: there is no such row or line, or it is contested already.
        BookingError: the period, or this revision, is not booked.
        NotAllowed: the person does not lead the team.
    """
    _check_leads(by, team)
    text = reason_of(reason)
    booking = booking_of(period, revision)
    row = statement_row(booking, scope_of(by), team.slug)
    subject = subject_of(booking, row, of, key) if row else None
    if subject is None:
        raise Refused(
            f"the statement of {team.slug} for {period} has no such {of}: choose one of its rows, "
            "or the id of one of its lines",
            member=of,
        )
    with act(by, text):
        try:
            with transaction.atomic():
                made = Contest.objects.create(
                    team=team,
                    period=period,
                    revision=booking.revision,
                    of=of,
                    subject=key,
                    title=subject.title[:LONGEST_TITLE],
                    amount=subject.amount,
                    currency=booking.currency,
                )
        except IntegrityError:
            known = Contest.objects.get(
                team=team,
                period=period,
                revision=booking.revision,
                of=of,
                subject=key,
                state__in=UNSETTLED,
            )
            raise Refused(
                f"this is already contested: see contest {known.pk}",
                RefusalCode.CONFLICT,
            ) from None
        _step(made, ContestAct.CONTESTED, text, by, now)
        return made


def answer_contest(
    number: int,
    given: AnswerContest,
    by: AbstractBaseUser,
    *,
    seen: str | None = None,
    now: datetime | None = None,
) -> Done:
    """Answer an open contest: with a credit or adjustment, a changed rule, or a reason.

    Args:
        number: of the contest.
        given: the answer.
        by: a person of finance or an administrator.
        seen: what a preview of the entry showed (`EntryEffect.seen`); None without a preview.
        now: of the answer.

    Raises:
        Refused: it is not open, the entry or the reason is not valid (M25), or the person may not;
            nothing was changed.
        PreviewChanged: the payables are others than the preview showed; nothing was changed.
    """
    check_right(by)
    text = reason_of(given.reason)
    with act(by, text):
        row = _locked(number, ContestState.OPEN)
        what: dict[str, object] = {"answer": given.answer}
        said = "Answered. The team can accept it or reopen the contest."
        if given.answer == AnswerKind.ENTRY:
            entry = _entry(row, given, text, by, seen)
            what["entry"] = entry
            said = (
                f"Answered with {entry.number}. Its statement has it as soon as "
                f"{entry.billing_on:%B %Y} is booked."
            )
        elif given.answer == AnswerKind.MAPPING:
            what["binding"] = given.rule
        row.state = ContestState.ANSWERED
        row.save(update_fields=["state"])
        _step(row, ContestAct.ANSWERED, text, by, now, **what)
    return Done(number, text=said)


def _entry(
    row: Contest,
    given: AnswerContest,
    text: str,
    by: AbstractBaseUser,
    seen: str | None,
) -> Entry:
    """The credit or adjustment of an answer; its twin is the platform's (M25)."""
    given.check()
    day, amount = cast("date", given.day), cast("Decimal", given.amount)
    kind = EntryKind.CREDIT if amount < 0 else EntryKind.ADJUSTMENT
    if seen is not None:
        check_seen(kind, row.team, day, amount, seen)
    return add_entry(kind, row.team, day, amount, text, by)


def accept_answer(
    number: int, by: AbstractBaseUser, *, now: datetime | None = None
) -> None:
    """Accept the answer: the contest is settled.

    Raises:
        Refused: it is not answered, or the person does not lead the team.
    """
    _move(number, _ACCEPT, "", by, now)


def reopen_contest(
    number: int,
    given: ReopenContest,
    by: AbstractBaseUser,
    *,
    now: datetime | None = None,
) -> None:
    """Open an answered contest again, with a reason.

    Raises:
        Refused: it is not answered, the reason is not valid, or the person does not lead the team.
    """
    _move(number, _REOPEN, reason_of(given.reason), by, now)


def withdraw_contest(
    number: int, by: AbstractBaseUser, *, now: datetime | None = None
) -> None:
    """Withdraw an open contest; it stays readable.

    Raises:
        Refused: it is not open, or the person does not lead the team.
    """
    _move(number, _WITHDRAW, "", by, now)


def _move(
    number: int,
    move: _Move,
    text: str,
    by: AbstractBaseUser,
    now: datetime | None,
) -> None:
    _check_leads(by, Team.objects.get(contests=number))
    with act(by, text or f"contest {number}: {move.done}"):
        row = _locked(number, move.before)
        row.state = move.after
        row.save(update_fields=["state"])
        _step(row, move.done, text, by, now)


def _check_leads(by: AbstractBaseUser, team: Team) -> None:
    if team.pk not in scope_of(by).lead_of:
        raise NotAllowed(
            f"{by.get_username()} may not do this: people who lead {team.slug} may",
            who=f"people who lead {team.name}",
        )


def _locked(number: int, state: str) -> Contest:
    row = Contest.objects.select_for_update().get(pk=number)
    if row.state != state:
        raise Refused(
            f"contest {row.pk} is {row.state}: this needs a contest that is {state}",
            RefusalCode.CONFLICT,
        )
    return row


def _step(
    contest: Contest,
    done: str,
    text: str,
    by: AbstractBaseUser,
    now: datetime | None,
    **answer: object,
) -> None:
    ContestStep.objects.create(
        contest=contest,
        act=done,
        text=text,
        by_id=by.pk,
        at=now or datetime.now(UTC),
        **answer,
    )
