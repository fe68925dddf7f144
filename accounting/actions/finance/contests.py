"""Contests of statements: leads contest, finance answers, leads accept (money.md M34).

open -> answered -> accepted, or open again; an open one can be withdrawn. Nothing is deleted.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal

from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError, transaction

from accounting.access import scope_of
from accounting.actions.finance.entries import add_entry, check_seen
from accounting.actions.finance.periods import NotAllowed, check_right, reason_of
from accounting.audit import act
from accounting.booking.periods import PeriodError
from accounting.models import (
    UNSETTLED,
    AnswerKind,
    Binding,
    Contest,
    ContestAct,
    ContestState,
    ContestStep,
    Entry,
    Team,
)
from accounting.queries.finance.months.contested import subject_of
from accounting.queries.finance.months.lines import booking_of
from accounting.queries.finance.months.statements import statement_row

LONGEST_TITLE = 500


class ContestError(PeriodError):
    """The state of a contest does not allow this, or the same is contested already."""


class SubjectError(PeriodError):
    """The statement has no such row or line."""


@dataclass(frozen=True, slots=True)
class EntryAnswer:
    """The credit or adjustment that answers a contest; its twin is the platform's (M25)."""

    kind: str
    billing_on: date
    amount: Decimal


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
        key: of `queries.finance.contested`: "" of a statement, of a row, the id of a line.
        revision: of the period; None for the latest.
        now: the time of the contest.

    Raises:
        SubjectError: there is no such row or line.
        ContestError: it is contested already.
        BookingError: the period, or this revision, is not booked.
        NotAllowed: the person does not lead the team.
    """
    _check_leads(by, team)
    text = reason_of(reason)
    booking = booking_of(period, revision)
    row = statement_row(booking, scope_of(by), team.slug)
    subject = subject_of(booking, row, of, key) if row else None
    if subject is None:
        raise SubjectError(
            f"the statement of {team.slug} for {period} has no such {of}: choose one of its rows, "
            "or the id of one of its lines"
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
            raise ContestError(
                f"this is contested already: see contest {known.pk}"
            ) from None
        _step(made, ContestAct.CONTESTED, text, by, now)
        return made


def answer_with_entry(
    contest: Contest,
    entry: EntryAnswer,
    reason: str,
    by: AbstractBaseUser,
    *,
    seen: str | None = None,
    now: datetime | None = None,
) -> Entry:
    """Answer an open contest with a credit or adjustment, in one transaction.

    Args:
        contest: the contest.
        entry: the credit or adjustment.
        reason: 10 to 200 characters.
        by: a person of finance or an administrator.
        seen: what a preview showed (`EntryEffect.seen`); None without a preview.
        now: of the answer.

    Raises:
        ContestError: it is not open.
        PreviewChanged: the payables are others than the preview showed; nothing was changed.
        PeriodError: the entry or the reason is not valid (M25); nothing was changed.
        NotAllowed: the person is neither finance nor an administrator.
    """
    with _answering(contest, reason, by) as (row, text):
        if seen is not None:
            check_seen(entry.kind, row.team, entry.billing_on, entry.amount, seen)
        made = add_entry(entry.kind, row.team, entry.billing_on, entry.amount, text, by)
        _answered(row, AnswerKind.ENTRY, text, by, now, entry=made)
        return made


def answer_with_rule(
    contest: Contest,
    rule: Binding,
    reason: str,
    by: AbstractBaseUser,
    *,
    now: datetime | None = None,
) -> Contest:
    """Answer an open contest with the rule that was changed, so that time moves to another team.

    Raises:
        ContestError: it is not open.
        PeriodError: the reason is too short or too long.
        NotAllowed: the person is neither finance nor an administrator.
    """
    with _answering(contest, reason, by) as (row, text):
        return _answered(row, AnswerKind.MAPPING, text, by, now, binding=rule)


def answer_with_reason(
    contest: Contest,
    reason: str,
    by: AbstractBaseUser,
    *,
    now: datetime | None = None,
) -> Contest:
    """Answer an open contest with the reason why the amount stays.

    Raises:
        ContestError: it is not open.
        PeriodError: the reason is too short or too long.
        NotAllowed: the person is neither finance nor an administrator.
    """
    with _answering(contest, reason, by) as (row, text):
        return _answered(row, AnswerKind.REASON, text, by, now)


@contextmanager
def _answering(
    contest: Contest, reason: str, by: AbstractBaseUser
) -> Iterator[tuple[Contest, str]]:
    """An open contest, locked, and the reason of the answer that finance gives to it."""
    check_right(by)
    text = reason_of(reason)
    with act(by, text):
        yield _locked(contest, ContestState.OPEN), text


def accept_answer(
    contest: Contest, by: AbstractBaseUser, *, now: datetime | None = None
) -> Contest:
    """Accept the answer: the contest is settled.

    Raises:
        ContestError: it is not answered.
        NotAllowed: the person does not lead the team.
    """
    return _move(contest, _ACCEPT, "", by, now)


def reopen_contest(
    contest: Contest, reason: str, by: AbstractBaseUser, *, now: datetime | None = None
) -> Contest:
    """Open an answered contest again, with a reason.

    Raises:
        ContestError: it is not answered.
        PeriodError: the reason is too short or too long.
        NotAllowed: the person does not lead the team.
    """
    return _move(contest, _REOPEN, reason_of(reason), by, now)


def withdraw_contest(
    contest: Contest, by: AbstractBaseUser, *, now: datetime | None = None
) -> Contest:
    """Withdraw an open contest; it stays readable.

    Raises:
        ContestError: it is not open.
        NotAllowed: the person does not lead the team.
    """
    return _move(contest, _WITHDRAW, "", by, now)


def _move(
    contest: Contest,
    move: _Move,
    text: str,
    by: AbstractBaseUser,
    now: datetime | None,
) -> Contest:
    _check_leads(by, contest.team)
    with act(by, text or f"contest {contest.pk}: {move.done}"):
        row = _locked(contest, move.before)
        row.state = move.after
        row.save(update_fields=["state"])
        _step(row, move.done, text, by, now)
        return row


def _check_leads(by: AbstractBaseUser, team: Team) -> None:
    if team.pk not in scope_of(by).lead_of:
        raise NotAllowed(
            f"{by.get_username()} may not do this: people who lead {team.slug} may"
        )


def _locked(contest: Contest, state: str) -> Contest:
    row = Contest.objects.select_for_update().get(pk=contest.pk)
    if row.state != state:
        raise ContestError(
            f"contest {row.pk} is {row.state}: this needs a contest that is {state}"
        )
    return row


def _answered(
    row: Contest,
    kind: str,
    text: str,
    by: AbstractBaseUser,
    now: datetime | None,
    **what: Entry | Binding,
) -> Contest:
    row.state = ContestState.ANSWERED
    row.save(update_fields=["state"])
    _step(row, ContestAct.ANSWERED, text, by, now, answer=kind, **what)
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
