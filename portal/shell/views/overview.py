"""The overview: spend, by team, and changes."""

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from accounting.access.reads.teams import TeamRef, visible_teams
from accounting.core.ledger_line import PLATFORM_STATES
from accounting.core.money import Money, minor_places
from accounting.kit.charts.plots import NAMED_SERIES
from accounting.kit.pages.filters import LABELS
from accounting.kit.pages.permissions import signed_in
from accounting.kit.reads.dimensions import LEDGER_DIMENSIONS
from accounting.months.pages.month_totals import shown_month
from accounting.usage.pages import figures, shapes, tables, team_tables
from accounting.usage.pages.foreign_teams import (
    foreign_note,
    foreign_teams,
    leave_out_foreign,
)
from accounting.usage.pages.lede import causes_of, spend_lede
from accounting.usage.pages.page_state import PageState
from accounting.usage.pages.splits import filtering, split_of
from accounting.usage.pages.steps import FREQUENCY, ChartStep, steps_of
from accounting.usage.reads.breakdown import Breakdown, breakdown
from accounting.usage.reads.coverage import (
    covered_length_ms,
    day_coverage,
    missing_days,
)
from accounting.usage.reads.ledger import ledger_days, ledger_rows
from portal.shell.views.overview_cards import changes_csv


@signed_in
def overview(request: HttpRequest) -> HttpResponse:
    """Use and cost of GPU-hours; a person with one team is redirected to that team."""
    state = PageState(request, filters=LABELS)
    teams = visible_teams(state.visitor.scope)
    if "csv" in state.query:
        return changes_csv(state)
    if not state.visitor.scope.sees_all and len(teams) == 1:
        return _only_team(request, state, next(iter(teams.values())))
    leave_out_foreign(state, teams, "Your teams are shown instead." if teams else "")
    selection = state.selection()
    coverage = day_coverage(state.days, state.zone, state.cluster)
    length = covered_length_ms(coverage)
    sides = state.sides(length)
    places = minor_places(state.currency)
    found = breakdown(
        selection,
        "team",
        sides=sides,
        length_ms=length,
        places=places,
        step=state.step,
        named=NAMED_SERIES,
    )
    missing = missing_days(coverage, *state.data_days)
    steps = steps_of(state, missing)
    lines = team_tables.team_lines(found, teams, sides, length)
    context: dict[str, Any] = {
        "state": state,
        "breakdown": found,
        "missing_days": missing,
        "sentences": spend_lede(
            state,
            found,
            missing,
            "Teams" if state.visitor.scope.sees_all else "Your teams",
            causes_of(lines),
        ),
        "frequency": FREQUENCY[state.step],
        "sparks": figures.sparks(found, steps),
        "spend": figures.spend_chart(found, steps, _keys(lines, found, state), state),
        "bars": team_tables.largest_teams(lines, found, sides, "-allocated"),
        "teams": team_tables.largest_teams(lines, found, sides, state.sort),
        "split": split_of(state, selection, teams, places),
        "shown_month": shown_month(state),
        **filtering(state, teams),
    }
    if state.visitor.scope.sees_all and not set(state.filters).difference(
        LEDGER_DIMENSIONS
    ):
        context |= _capacity(state, steps, length, places)
        context["with_unallocated"] = _with_unallocated(found, context.get("platform"))
    return render(request, "portal/overview.html", context)


def _keys(
    lines: Sequence[team_tables.TeamLine], found: Breakdown, state: PageState
) -> dict[str, figures.Key]:
    """Name, color and link of each team that is drawn in the chart."""
    return {
        line.key: figures.Key(
            line.name, line.slot, "busy", state.with_filter("team", line.key)
        )
        for line in lines
        if line.key in found.by_step
    }


def _only_team(request: HttpRequest, state: PageState, team: TeamRef) -> HttpResponse:
    """Redirect to the visitor's only team, with a warning if the link names another one."""
    if foreign := foreign_teams(state, {team.slug}):
        messages.warning(
            request, foreign_note(foreign, f"{team.name} is shown instead.")
        )
    leave_out_foreign(state, {team.slug}, "")
    return redirect(state.link(tables.team_url(team), team=""))


def _with_unallocated(found: Breakdown, platform: Money | None) -> Money | None:
    """What teams and the platform's line come to; None if one of them has no amount."""
    charge = found.summary.total.charge
    if charge is None or platform is None or charge.currency != platform.currency:
        return None
    return charge + platform


def _capacity(
    state: PageState, steps: Sequence[ChartStep], length_ms: int, places: int
) -> dict[str, Any]:
    """The whole fleet: only for people who see every team."""
    selection = state.selection()
    rows, total = ledger_days(selection)
    if not total.wall_ms:
        return {}
    if state.step_dimension != "day":
        rows = ledger_rows(selection, (state.step_dimension,))
    return {
        "ledger": shapes.capacity(total, length_ms, places),
        "platform": total.charge_of(PLATFORM_STATES),
        "ledger_spark": figures.ledger_spark(rows, steps, state),
    }
