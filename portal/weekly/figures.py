"""The figures of a weekly mail: those of the page of the team, asked as the person."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest, QueryDict
from django.urls import reverse
from django.utils import timezone

from accounting.access.reads.billing_settings import billing_remembered
from accounting.budgets.pages.budget_lines import MonthCard, month_card
from accounting.core.billing_calendar import DayRange
from accounting.core.money import minor_places
from accounting.core.read_once import reading
from accounting.kit.pages.permissions import visitor_of
from accounting.kit.tags import units
from accounting.notifications.rules import one_line
from accounting.teams.pages.of_a_team import OF_A_TEAM, team_of
from accounting.teams.pages.team_lede import team_lede
from accounting.usage.pages.family_lines import family_table
from accounting.usage.pages.page_state import PageState
from accounting.usage.reads.breakdown import Breakdown, breakdown
from accounting.usage.reads.coverage import (
    covered_length_ms,
    day_coverage,
    missing_days,
)
from accounting.usage.rules.sentence import Sentence
from accounting.usage.tags import (
    before_text,
    charge_round,
    idle_charge_round,
    moved,
    moved_points,
)
from portal.weekly import sections
from portal.weekly.sections import WeeklySection, link_to, plain
from scheduler_view.queues.tags import waiting_sentence


@dataclass(frozen=True, slots=True)
class WeeklyFact:
    """One large figure, with a line below it."""

    name: str
    value: str
    below: str = ""


@dataclass(frozen=True, slots=True)
class WeeklyMail:
    """All that a mail says, as text.

    Attributes:
        sentences: with their figures marked.
        budget: the month and its budget in words.
        why: the person gets it, or who does.
    """

    team: str
    subject: str
    week: str
    sentences: Sequence[Sentence]
    facts: tuple[WeeklyFact, ...]
    budget: str
    sections: tuple[WeeklySection, ...]
    zone: str
    team_url: str
    choices_url: str
    why: str


def weekly_mail(user: User, slug: str, week: DayRange) -> WeeklyMail | None:
    """The mail of a team's week for a person; None if the team held nothing in it.

    Raises:
        Http404: the person may not see the team.
    """
    with reading(), billing_remembered():
        request = team_request(user, slug, week)
        with timezone.override(visitor_of(request).zone):
            return mail_of(request, user, slug)


def team_request(user: User, slug: str, week: DayRange) -> HttpRequest:
    """The page of the team for a week, as the person would open it."""
    request = HttpRequest()
    request.method, request.user = "GET", user
    request.path = reverse("team", args=[slug])
    days = {"from": week.first.isoformat(), "to": week.after.isoformat()}
    request.GET = QueryDict(urlencode(days))
    request.META["HTTP_HOST"] = urlsplit(settings.PUBLIC_URL).netloc
    return request


def mail_of(request: HttpRequest, user: User, slug: str) -> WeeklyMail | None:
    """The same, for a request of the page of the team."""
    state = PageState(request, filters=OF_A_TEAM)
    team = team_of(state, slug)
    selection = state.selection(team=slug)
    coverage = day_coverage(state.days, state.zone, state.cluster)
    length = covered_length_ms(coverage)
    sides, places = state.sides(length), minor_places(state.currency)
    found = breakdown(selection, "family", sides=sides, length_ms=length, places=places)
    if not found.has_usage:
        return None
    missing = missing_days(coverage, *state.data_days)
    families = family_table(selection, found, team, sides, "-charge")
    month = month_card(request, team)
    told = team_lede(state, found, missing, families.lines, month, who=team.name)
    waits = plain(waiting_sentence({"state": state, "team": team}))
    idle, holders = sections.idle_now(state, team)
    every = (
        idle,
        sections.dearest_action(state, team, places),
        sections.changes(team, families, state.currency),
        sections.idle_last_week(state, team, places, holders),
        sections.for_you(state, team, (user.pk, user.get_username())),
        sections.pending_work(state, team),
    )
    return WeeklyMail(
        team=one_line(team.name),
        subject=_subject(team.name, found, state, is_whole=not missing),
        week=units.days(state.days),
        sentences=[*filter(None, told), ((waits, False),)],
        facts=_facts(found, state),
        budget=_budget(month),
        sections=tuple(one for one in every if one.rows),
        zone=str(state.visitor.zone),
        team_url=link_to(
            "team", slug, query=f"?from={state.days.first}&to={state.days.after}"
        ),
        choices_url=link_to("notifications"),
        why=_why(one_line(team.name), leads=team.id in state.visitor.scope.lead_of),
    )


def _why(team: str, *, leads: bool) -> str:
    """Why the person gets the mail; who gets it, for one who only looks at it."""
    if leads:
        return f"You get this on Mondays because you lead {team}."
    return f"Leads of {team} get this on Mondays."


def _subject(name: str, found: Breakdown, state: PageState, *, is_whole: bool) -> str:
    """`Vision: €19,869 last week, 14% up, 27% idle`; without what cannot be compared."""
    total, change = found.summary.total, found.summary.charge
    if total.charge is None or total.currencies:
        return f"{name}: {units.gpu_hours(total.allocated_ms)} GPU-h last week"
    parts = [f"{charge_round(total, state.currency)} last week"]
    is_told = change and not change.doubt and change.before > 0 and change.ratio
    if change and is_told and is_whole and not total.unpriced_ms:
        direction = "up" if change.difference > 0 else "down"
        parts.append(f"{abs(change.ratio or 0):,.0%} {direction}")
    if found.summary.idle_share is not None:
        parts.append(f"{found.summary.idle_share:.0%} idle")
    return f"{name}: {', '.join(parts)}"


def _facts(found: Breakdown, state: PageState) -> tuple[WeeklyFact, ...]:
    summary, total = found.summary, found.summary.total
    against = f" on {before_text(state)}" if summary.charge else ""
    average = ""
    if summary.average is not None:
        average = f"{units.average(summary.average)} GPUs on average"
    idle = ""
    if summary.idle_share is not None:
        idle = f"{units.percent(summary.idle_share)} of spend"
    return (
        WeeklyFact(
            "Spend",
            charge_round(total, state.currency),
            f"{moved(summary.charge)}{against}",
        ),
        WeeklyFact("Held GPU-h", units.gpu_hours(total.allocated_ms), average),
        WeeklyFact(
            "Busy share",
            units.percent(total.efficiency),
            moved_points(summary.efficiency),
        ),
        WeeklyFact("Idle cost", idle_charge_round(total, state.currency), idle),
    )


def _budget(month: MonthCard) -> str:
    """The card "Spend this month" in words."""
    return f"{month.outlook.period.first:%B}: {month.text}"
