"""Cards of the overview that load by themselves."""

from typing import Any

from django.http import HttpRequest, HttpResponse

from accounting.access.reads.teams import visible_teams
from accounting.core.money import minor_places
from accounting.kit.cards import LateCard
from accounting.kit.pages.downloads import csv_answer
from accounting.kit.pages.filters import LABELS
from accounting.kit.pages.fragments import card_answer, is_fragment, linked_path
from accounting.kit.pages.permissions import signed_in
from accounting.kit.reads.file_names import period_part
from accounting.usage.pages import tables
from accounting.usage.pages.foreign_teams import leave_out_foreign
from accounting.usage.pages.page_state import PageState
from accounting.usage.pages.splits import filtering
from accounting.usage.reads.breakdown import totals
from accounting.usage.reads.coverage import covered_length_ms, day_coverage
from accounting.usage.reads.ranking import largest, moved_most

LISTED = 8  # rows
ALL = 1_000_000  # rows of a file

CHANGES = LateCard(
    route="overview-changes",
    title="Biggest changes",
    id="changes",
    template="portal/_changes_card.html",
    page="overview",
    label="Overview",
    css="s6",
    rows=LISTED,
)
IDLE = LateCard(
    route="overview-idle",
    title="Largest idle",
    id="idle",
    template="portal/_idle_card.html",
    page="overview",
    label="Overview",
    css="s12",
    rows=11,  # 8 of two lines
)


@signed_in
def overview_changes(request: HttpRequest) -> HttpResponse:
    """The families whose charge changed most against the compared period."""
    state, context = _opened(request, CHANGES)
    if "csv" in state.query:
        return changes_csv(state)
    coverage = day_coverage(state.days, state.zone, state.cluster)
    length = covered_length_ms(coverage)
    places = minor_places(state.currency)
    selection = state.selection()
    found = totals(
        selection, sides=state.sides(length), length_ms=length, places=places
    )
    movers = []
    if state.before_period is not None and found.has_before:
        movers = moved_most(selection, state.before_period, LISTED, places)
    context |= {
        "breakdown": found,
        "movers": tables.mover_lines(movers, context["teams"]),
    }
    return card_answer(request, CHANGES, context)


@signed_in
def overview_idle(request: HttpRequest) -> HttpResponse:
    """The families with the largest idle cost."""
    state, context = _opened(request, IDLE)
    places = minor_places(state.currency)
    found = largest(state.selection(), ("team", "family"), "idle", LISTED, places)
    context["idle"] = tables.idle_families(found.rows, context["teams"])
    return card_answer(request, IDLE, context)


def changes_csv(state: PageState) -> HttpResponse:
    """Every family whose charge changed, and the difference."""
    columns = ("team", "namespace", "family", "before", "after", "change", "currency")
    found = []
    if state.before_period is not None:
        places = minor_places(state.currency)
        found = moved_most(state.selection(), state.before_period, ALL, places)
    rows = [
        (
            one.team,
            one.namespace,
            one.family,
            one.change.before,
            one.change.after,
            one.change.difference,
            state.currency,
        )
        for one in found
    ]
    period = period_part(state.exact["from"], state.exact["to"])
    return csv_answer("spend-changes", columns, rows, period=period)


def _opened(request: HttpRequest, card: LateCard) -> tuple[PageState, dict[str, Any]]:
    """The state of the overview, and what each of its cards has; alone also its filters."""
    state = PageState(request, filters=LABELS, path=linked_path(request, card))
    teams = visible_teams(state.visitor.scope)
    leave_out_foreign(state, teams, "Your teams are shown instead." if teams else "")
    context = {"state": state, "teams": teams}
    if not is_fragment(request):
        context |= filtering(state, teams)
    return state, context
