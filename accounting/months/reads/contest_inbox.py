"""Contests that wait: open ones for finance, answered ones for the team (money.md M34)."""

from datetime import datetime

from django.db.models import Q

from accounting.access.scope import Scope
from accounting.kit.inbox import Asker, DoneRow, InboxRow, Kind
from accounting.months.models.contest import (
    ContestAct,
    ContestState,
    ContestStep,
)

CONTEST = "contest"


def _waiting(asker: Asker) -> list[InboxRow]:
    """The last step says since when and by whom; one query."""
    mine = Q(
        contest__state=ContestState.ANSWERED, contest__team__in=asker.scope.lead_of
    )
    if asker.scope.is_finance:
        mine |= Q(contest__state=ContestState.OPEN)
    last = ContestStep.objects.filter(mine).order_by("contest_id", "-id")
    steps = last.distinct("contest_id").select_related("contest__team", "by")
    return [_row(step) for step in steps]


def _row(step: ContestStep) -> InboxRow:
    contest = step.contest
    is_open = contest.state == ContestState.OPEN
    about = f"{contest.title}, {_month(contest.period)}"
    team = contest.team
    return InboxRow(
        kind=CONTEST,
        what=f"Answer the contest of {team.name}"
        if is_open
        else f"Contest of {team.name} is answered",
        about=f"{about}: {step.text}" if step.text else about,
        team=team.slug,
        amount=contest.amount,
        currency=contest.currency if contest.amount is not None else "",
        asked_by=step.by.get_username(),
        since=step.at,
        does="Answer" if is_open else "Read the answer",
        route="contest",
        args=(contest.pk,),
        teams=(team.slug,),
    )


def _done(scope: Scope, since: datetime) -> list[DoneRow]:
    steps = ContestStep.objects.filter(at__gte=since).exclude(act=ContestAct.CONTESTED)
    if not scope.sees_all:
        steps = steps.filter(contest__team__in=scope.lead_of)
    return [
        DoneRow(
            CONTEST,
            f"Contest of {one.contest.team.name}: {one.contest.title}",
            one.get_act_display().capitalize(),
            one.by.get_username(),
            one.at,
            "contest",
            (one.contest_id,),
            teams=(one.contest.team.slug,),
        )
        for one in steps.select_related("contest__team", "by")
    ]


def _month(period: str) -> str:
    return f"{datetime.strptime(period, '%Y-%m'):%B %Y}"  # noqa: DTZ007  # a month


CONTESTS = Kind(
    CONTEST,
    "Contest",
    "contests",
    lambda scope: scope.is_finance or bool(scope.lead_of),
    """SELECT count(*) FROM accounting_contest
       WHERE (%(finance)s AND state = 'open')
          OR (team_id = ANY(%(led)s) AND state = 'answered')""",
    _waiting,
    _done,
    is_of_teams=True,
)
