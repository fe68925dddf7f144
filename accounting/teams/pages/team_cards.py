"""Cards of a team's page that load by themselves."""

from typing import Any

from django.http import HttpRequest, HttpResponse

from accounting.access.reads.teams import TeamRef
from accounting.core.money import minor_places
from accounting.kit.cards import LateCard
from accounting.kit.pages.fragments import card_answer, is_fragment, linked_path
from accounting.kit.pages.permissions import signed_in
from accounting.teams.pages.of_a_team import OF_A_TEAM, team_of
from accounting.usage.pages import shapes, tables
from accounting.usage.pages.page_state import PageState
from accounting.usage.pages.splits import filtering
from accounting.usage.reads.ranking import largest
from accounting.usage.reads.series import week_hours

LISTED = 10  # families in the list of idle ones

IDLE = LateCard(
    route="team-idle",
    title="Largest idle",
    id="idle",
    template="teams/_idle_card.html",
    page="team",
    label="Team",
    css="s5",
    rows=LISTED,
    args=("slug",),
)
WEEK = LateCard(
    route="team-week",
    title="When it is busy",
    id="week",
    template="teams/_week_card.html",
    page="team",
    label="Team",
    css="s7",
    rows=6,
    args=("slug",),
)


@signed_in
def team_idle(request: HttpRequest, slug: str) -> HttpResponse:
    """The families of a team with the largest idle cost."""
    state, ref, context = opened_card(request, IDLE, slug)
    by = ("team", "family")
    places = minor_places(state.currency)
    found = largest(state.selection(team=slug), by, "idle", LISTED, places)
    context["idle"] = tables.idle_families(found.rows, {slug: ref})
    return card_answer(request, IDLE, context)


@signed_in
def team_week(request: HttpRequest, slug: str) -> HttpResponse:
    """The busy share of a team by hour of the week."""
    state, _, context = opened_card(request, WEEK, slug)
    hours = week_hours(state.selection(team=slug), state.visitor.zone, state.elapsed)
    context["week"] = shapes.week_grid(hours)
    return card_answer(request, WEEK, context)


def opened_card(
    request: HttpRequest, card: LateCard, slug: str
) -> tuple[PageState, TeamRef, dict[str, Any]]:
    """The state of a team's page, and what each of its cards has; alone also its filters.

    Raises:
        Http404: the reader may not see the team.
    """
    path = linked_path(request, card)
    state = PageState(request, filters=OF_A_TEAM, path=path)
    ref = team_of(state, slug)
    context: dict[str, Any] = {"state": state, "team": ref}
    if not is_fragment(request):
        context |= filtering(state, {slug: ref}, team=slug)
    return state, ref, context
