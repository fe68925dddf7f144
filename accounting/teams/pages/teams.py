"""Teams: the list, and a team's summary and rules."""

from collections.abc import Mapping

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from accounting.access.reads.teams import visible_teams
from accounting.budgets.pages.budget_lines import month_card
from accounting.core.money import minor_places
from accounting.fleet.pages import timelines
from accounting.kit.charts import plots
from accounting.kit.family_address import family_url
from accounting.kit.pages.filters import LABELS
from accounting.kit.pages.permissions import signed_in
from accounting.months.pages.month_totals import shown_month
from accounting.organization.reads.directory import binding_rows
from accounting.organization.reads.members import member_rows
from accounting.teams.pages.of_a_team import OF_A_TEAM, team_of
from accounting.teams.pages.team_lede import team_lede
from accounting.usage.pages import figures, team_tables
from accounting.usage.pages.columns import TEAM_COLUMNS, column_choices
from accounting.usage.pages.family_lines import (
    NO_FAMILY,
    family_table,
    largest_families,
    with_runs,
)
from accounting.usage.pages.foreign_teams import leave_out_foreign
from accounting.usage.pages.page_state import PageState
from accounting.usage.pages.splits import choices, filtering, split_of
from accounting.usage.pages.steps import FREQUENCY, steps_of
from accounting.usage.reads.breakdown import Breakdown, breakdown, row_name
from accounting.usage.reads.coverage import (
    covered_length_ms,
    day_coverage,
    missing_days,
)
from accounting.usage.reads.intensity import pointless_workloads
from accounting.usage.reads.series import use_by_step
from accounting.usage.rules.rows import UsageRow

GROUPS = {"": "By department", "none": "Flat"}


@signed_in
def team_list(request: HttpRequest) -> HttpResponse:
    """Every team that the visitor may read, with its usage."""
    state = PageState(request, filters=LABELS)
    teams = visible_teams(state.visitor.scope)
    leave_out_foreign(state, teams, "Your teams are shown instead." if teams else "")
    coverage = day_coverage(state.days, state.zone, state.cluster)
    length = covered_length_ms(coverage)
    sides = state.sides(length)
    found = breakdown(
        state.selection(),
        "team",
        sides=sides,
        length_ms=length,
        places=minor_places(state.currency),
    )
    lines = team_tables.team_lines(found, teams, sides, length)
    table = team_tables.team_table(lines, found, state.sort)
    if state.query.get("group", "") != "none":
        table = team_tables.by_department(table, found, sides, state.sort)
    context = {
        "state": state,
        "breakdown": found,
        "teams": team_tables.on_page(table, state.query.dict()),
        "groups": choices(state, "group", GROUPS),
        "columns": column_choices(state, TEAM_COLUMNS),
        "quiet": team_tables.quiet_teams(lines, teams),
        "missing_days": missing_days(coverage, *state.data_days),
        "shown_month": shown_month(state),
        **filtering(state, teams),
    }
    return render(request, "teams/teams.html", context)


@signed_in
def team(request: HttpRequest, slug: str) -> HttpResponse:
    """A team's held time, busy share and cost."""
    state = PageState(request, filters=OF_A_TEAM)
    ref = team_of(state, slug)
    selection = state.selection(team=slug)
    coverage = day_coverage(state.days, state.zone, state.cluster)
    length = covered_length_ms(coverage)
    sides = state.sides(length)
    missing = missing_days(coverage, *state.data_days)
    places = minor_places(state.currency)
    found = breakdown(
        selection,
        "family",
        sides=sides,
        length_ms=length,
        places=places,
        step=state.step,
        named=plots.NAMED_SERIES,
    )
    every = family_table(selection, found, ref, sides, state.sort)
    families = largest_families(every, found, sides)
    steps, month = steps_of(state, missing), month_card(request, ref)
    context = {
        "state": state,
        "team": ref,
        "month": month,
        "sentences": team_lede(state, found, missing, every.lines, month, who=ref.name),
        "frequency": FREQUENCY[state.step],
        "breakdown": found,
        "missing_days": missing,
        "sparks": figures.sparks(found, steps),
        "held": timelines.held_chart(
            use_by_step(selection, state.step), steps, ref.slot, state
        ),
        "spend": figures.spend_chart(
            found, steps, _family_colours(found, slug, state), state
        ),
        "families": families,
        "family_rows": with_runs(selection, families.lines),
        "columns": {},
        "split": split_of(state, selection, {slug: ref}, places),
        "pointless": pointless_workloads(selection),
        "pointless_url": state.link(
            reverse("team-workloads", args=[slug]),
            team="",
            only="pointless",
            show="hard",
        ),
        **filtering(state, {slug: ref}, team=slug),
    }
    return render(request, "teams/team.html", context)


def _family_colours(
    found: Breakdown, slug: str, state: PageState
) -> Mapping[str, figures.Key]:
    """Colors of families, which have none of their own: the largest take the slots in order."""
    return {
        row_name(row, "family"): figures.Key(
            row.key["family"] or NO_FAMILY,
            slot,
            url=_family_link(slug, row, state),
        )
        for slot, row in enumerate(found.rows[: plots.NAMED_SERIES], start=1)
    }


def _family_link(slug: str, row: UsageRow, state: PageState) -> str:
    url = family_url(slug, row.key["namespace"], row.key["family"])
    return state.link(url) if url else ""


@signed_in
def team_rules(request: HttpRequest, slug: str) -> HttpResponse:
    """The members of a team, and the rules that assign usage to it."""
    state = PageState(request, compares=False)
    ref = team_of(state, slug)
    context = {
        "state": None,
        "team": ref,
        "members": member_rows(ref.id),
        "rules": [row for row in binding_rows(state.visitor.scope) if row.team == slug],
    }
    return render(request, "teams/team_rules.html", context)
