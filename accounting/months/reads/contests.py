"""Contests of statements with what was answered (money.md M34), within a person's teams."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from django.db.models import Case, IntegerField, QuerySet, Value, When

from accounting.access.scope import Scope
from accounting.core.money import Money
from accounting.kit.rows import TextOrNull, column, derived, listed
from accounting.months.models.contest import (
    AnswerKind,
    Contest,
    ContestAct,
    Contested,
    ContestState,
    ContestStep,
)
from accounting.months.models.entry import Entry
from accounting.months.rules.contest_words import ANSWERED


@dataclass(frozen=True, slots=True)
class AnswerEntry:
    """The credit or adjustment of an answer; below 0 the team pays less."""

    number: str
    billing_on: date
    amount: Money

    @property
    def is_credit(self) -> bool:
        """Whether the team pays less."""
        return self.amount.amount < 0

    @property
    def size(self) -> Money:
        """The amount without its sign, which is said in words."""
        return Money(abs(self.amount.amount), self.amount.currency)


@listed("ContestStep")
class ContestStepRow:
    """What one person did about a contest.

    Attributes:
        words: what `act` is called.
        answer: "" for other steps.
        rule: id of the changed rule; None for other answers. Pages name it by its position.
    """

    act: str = column(choices=ContestAct)
    text: TextOrNull = column(name="reason")
    by: str = column()
    at: datetime = column()
    answer: TextOrNull = column("entry, mapping or reason")
    entry_number = derived(str | None, "entry.number", name="entry")
    rule: int | None = column()
    words: str
    entry: AnswerEntry | None
    rule_position: int | None

    @property
    def answered(self) -> str:
        """What it was answered with, in words after its act; "" for other steps."""
        if self.entry is not None:
            return ANSWERED["credit" if self.entry.is_credit else "charge"]
        return ANSWERED.get(self.answer, "")


_ANSWERED = "of the latest answer; null without one"


@listed("Contest", detail="A contest with all its steps, the oldest first.")
class ContestRow:
    """A contest with its latest answer.

    Attributes:
        key: names which row or line.
        title, amount: as they were when it was contested; no amount without a price.
        steps: the oldest first; the first one is the contest itself.
    """

    id: int = column()
    team: str = column()
    period: str = column("YYYY-MM")
    revision: int = column()
    of: str = column(choices=Contested)
    key: TextOrNull = column(
        "JSON of a row's part and labels, or the id of a line; null of a whole statement",
        name="subject",
    )
    title: str = column("what was contested, in words", head="Contest")
    amount: Money | None = column("when it was contested", missing="No price")
    currency: str = column()
    state: str = column(choices=ContestState)
    reason = derived(str, "opened.text")
    contested_by = derived(str, "opened.by")
    contested_at = derived(datetime, "opened.at")
    answer_kind = derived(
        str | None, "answer.answer", _ANSWERED, name="answer", choices=AnswerKind
    )
    answer_reason = derived(str | None, "answer.text", _ANSWERED)
    answered_by = derived(str | None, "answer.by", _ANSWERED)
    answered_at = derived(datetime | None, "answer.at", _ANSWERED)
    entry = derived(
        str | None, "answer.entry.number", "number of the credit or adjustment"
    )
    rule = derived(int | None, "answer.rule", "id of the changed rule")
    steps: tuple[ContestStepRow, ...] = column(is_detail=True)
    team_id: int
    team_name: str

    @property
    def statement(self) -> str:
        """`2026-10-vision-r1`: the number of the statement, once it is closed."""
        return f"{self.period}-{self.team}-r{self.revision}"

    @property
    def opened(self) -> ContestStepRow:
        """Who contested it, when and why."""
        return self.steps[0]

    @property
    def answer(self) -> ContestStepRow | None:
        """The latest answer; None before the first one."""
        found = (one for one in reversed(self.steps) if one.act == ContestAct.ANSWERED)
        return next(found, None)

    @property
    def state_label(self) -> str:
        """`Open`, `Answered`, `Accepted`, `Withdrawn`."""
        return ContestState(self.state).label

    @property
    def waits_since(self) -> datetime:
        """When its last step was."""
        return self.steps[-1].at


def contest_rows(
    scope: Scope,
    *,
    states: Sequence[str] = (),
    teams: Sequence[str] = (),
    periods: Sequence[str] = (),
) -> list[ContestRow]:
    """Contests of all teams, or of those that one leads: open first, then the newest.

    Args:
        scope: of the reader.
        states, teams, periods: only these; none: all.
    """
    found = _readable(scope)
    if states:
        found = found.filter(state__in=states)
    if teams:
        found = found.filter(team__slug__in=teams)
    if periods:
        found = found.filter(period__in=periods)
    order = [ContestState.OPEN, ContestState.ANSWERED]
    rank = Case(
        *(When(state=state, then=Value(at)) for at, state in enumerate(order)),
        default=Value(len(order)),
        output_field=IntegerField(),
    )
    return [_row(one) for one in found.order_by(rank, "-pk")]


def contests_of(scope: Scope, team: str, period: str) -> list[ContestRow]:
    """The contests of one statement, of all revisions of its period; the oldest first."""
    found = contest_rows(scope, teams=[team], periods=[period])
    return sorted(found, key=lambda one: one.id)


def contest_row(scope: Scope, number: int) -> ContestRow | None:
    """One of them; None if it does not exist or may not be read."""
    found = _readable(scope).filter(pk=number).first()
    return _row(found) if found else None


def _readable(scope: Scope) -> QuerySet[Contest]:
    found = Contest.objects.select_related("team").prefetch_related(
        "steps__by", "steps__entry", "steps__binding"
    )
    return found if scope.sees_all else found.filter(team_id__in=scope.lead_of)


def _row(one: Contest) -> ContestRow:
    return ContestRow(
        id=one.pk,
        team_id=one.team_id,
        team=one.team.slug,
        team_name=one.team.name,
        period=one.period,
        revision=one.revision,
        of=one.of,
        key=one.subject,
        title=one.title,
        amount=_money(one.amount, one.currency),
        currency=one.currency,
        state=one.state,
        steps=tuple(_step(step) for step in one.steps.all()),
    )


def _money(amount: Decimal | None, currency: str) -> Money | None:
    return None if amount is None else Money(amount, currency)


def _step(one: ContestStep) -> ContestStepRow:
    return ContestStepRow(
        act=one.act,
        words=one.get_act_display(),
        text=one.text,
        by=one.by.get_username(),
        at=one.at,
        answer=one.answer,
        entry=_entry(one.entry) if one.entry else None,
        rule=one.binding_id,
        rule_position=one.binding.position if one.binding else None,
    )


def _entry(one: Entry) -> AnswerEntry:
    return AnswerEntry(one.number, one.billing_on, Money(one.amount, one.currency))
