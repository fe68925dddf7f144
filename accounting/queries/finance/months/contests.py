"""Contests of statements with what was answered (money.md M34), within a person's teams."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from django.db.models import Case, IntegerField, QuerySet, Value, When

from accounting.access import Scope
from accounting.domain.core.money import Money
from accounting.models import (
    Contest,
    ContestAct,
    ContestState,
    ContestStep,
    Entry,
)


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


@dataclass(frozen=True, slots=True)
class ContestStepRow:
    """What one person did about a contest.

    Attributes:
        act: `contested`, `answered`, `accepted`, `reopened`, `withdrawn`; `words` says it.
        answer: `entry`, `mapping` or `reason`; "" for other steps.
        rule: id of the changed rule; None for other answers. Pages name it by its position.
    """

    act: str
    words: str
    text: str
    by: str
    at: datetime
    answer: str
    entry: AnswerEntry | None
    rule: int | None
    rule_position: int | None


@dataclass(frozen=True, slots=True)
class ContestRow:
    """One contest.

    Attributes:
        of: statement, row or line; `key` names which one.
        title, amount: as they were when it was contested; no amount without a price.
        steps: the oldest first; the first one is the contest itself.
    """

    id: int
    team_id: int
    team: str
    team_name: str
    period: str
    revision: int
    of: str
    key: str
    title: str
    amount: Money | None
    currency: str
    state: str
    steps: tuple[ContestStepRow, ...]

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
