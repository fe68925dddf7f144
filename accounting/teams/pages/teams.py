"""Teams: the list, and a team's summary, workloads and rules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from accounting.access.reads.teams import visible_teams
from accounting.budgets.pages.budget_lines import month_card
from accounting.core.money import minor_places
from accounting.fleet.pages import timelines
from accounting.kit.charts import plots
from accounting.kit.pages.filters import LABELS
from accounting.kit.pages.paging import paged
from accounting.kit.pages.permissions import signed_in
from accounting.months.pages.month_totals import shown_month
from accounting.organization.reads.directory import binding_rows
from accounting.organization.reads.members import member_rows
from accounting.teams.pages.of_a_team import OF_A_TEAM, team_of
from accounting.usage.pages import figures, tables, team_tables
from accounting.usage.pages.columns import (
    HARD_COLUMNS,
    TEAM_COLUMNS,
    WORKLOAD_COLUMNS,
    column_choices,
)
from accounting.usage.pages.foreign_teams import leave_out_foreign
from accounting.usage.pages.page_state import PageState
from accounting.usage.pages.splits import choices, filtering, split_of
from accounting.usage.pages.steps import FREQUENCY, steps_of
from accounting.usage.reads.breakdown import (
    breakdown,
    breakdown_of_largest,
    workload_name,
)
from accounting.usage.reads.coverage import (
    covered_length_ms,
    day_coverage,
    missing_days,
)
from accounting.usage.reads.intensity import pointless_workloads, with_intensity
from accounting.usage.reads.pods import PodStretch, pods_of_workload
from accounting.usage.reads.ranking import largest
from accounting.usage.reads.series import use_by_step
from accounting.usage.reads.usage import usage_rows
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
    dearest = largest(selection, ("workload",), "charge", plots.NAMED_SERIES, places)
    found = breakdown_of_largest(
        selection,
        dearest.rows,
        dearest.count,
        sides=sides,
        length_ms=length,
        places=places,
        step=state.step,
    )
    steps = steps_of(state, missing)
    context = {
        "state": state,
        "team": ref,
        "tab": "summary",
        "month": month_card(request, ref),
        "frequency": FREQUENCY[state.step],
        "breakdown": found,
        "missing_days": missing,
        "sparks": figures.sparks(found, steps),
        "held": timelines.held_chart(
            use_by_step(selection, state.step), steps, ref.slot, state
        ),
        "spend": figures.spend_chart(
            found, steps, _workload_colours(found.rows, slug, state), state
        ),
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


def _workload_colours(
    rows: Sequence[UsageRow], slug: str, state: PageState
) -> Mapping[str, figures.Key]:
    """Colors of workloads, which have none of their own: the largest take the slots in order."""
    list_url = reverse("team-workloads", args=[slug])
    return {
        workload_name(row): figures.Key(
            row.key["workload"],
            slot,
            url=state.link(list_url, team="", q=row.key["workload"]),
        )
        for slot, row in enumerate(rows[: plots.NAMED_SERIES], start=1)
    }


@signed_in
def workloads(request: HttpRequest, slug: str) -> HttpResponse:
    """A team's workloads by GPU model."""
    state = PageState(request, compares=False, filters=OF_A_TEAM)
    ref = team_of(state, slug)
    selection = state.selection(team=slug)
    by = ("team", "workload", "model")
    rows = usage_rows(selection, by)
    shows_hard = state.query.get("show") == "hard"
    is_pointless = state.query.get("only") == "pointless"
    if shows_hard or is_pointless:
        rows = list(with_intensity(rows, selection, by))
    lines = tables.workload_lines(rows, {slug: ref})
    words = state.query.get("q", "").strip().lower()
    matching = [
        line
        for line in lines
        if words in f"{line.namespace}/{line.workload}".lower()
        and (line.row.is_pointless or not is_pointless)
    ]
    table = tables.workload_table(matching, minor_places(state.currency))
    chosen = tables.ordered(
        table.lines, state.sort, tables.WORKLOAD_COLUMNS, "-idle_charge"
    )
    context = {
        "state": state,
        "team": ref,
        "tab": "workloads",
        "words": words,
        "no_match": "No workload matches"
        if is_pointless
        else f"No workload name contains “{words}”",
        "columns": column_choices(
            state, WORKLOAD_COLUMNS | (HARD_COLUMNS if shows_hard else {})
        ),
        "shows_hard": shows_hard,
        "hard_url": state.url(show="" if shows_hard else "hard"),
        "is_pointless": is_pointless,
        "pointless_url": state.url(
            only="" if is_pointless else "pointless", show="hard", page=""
        ),
        "count": len(lines),
        "rounding": table.rounding,
        "total": table.total,
        "opened": _opened(state, slug),
        "close_url": state.url(open=""),
        "page": paged(chosen, state.query.dict()),
        **filtering(state, {slug: ref}, team=slug),
    }
    return render(request, "teams/workloads.html", context)


@dataclass(frozen=True, slots=True)
class Opened:
    """The workload whose pods are shown, named as in the address."""

    key: str
    pods: tuple[PodStretch, ...]
    count: int


def _opened(state: PageState, slug: str) -> Opened | None:
    """The pods of the workload in `?open=`; None if it names none."""
    key = state.query.get("open", "")
    parts = key.split("/", 3)
    if len(parts) < 4 or "\0" in key:  # namespace, kind, name, model
        return None
    namespace, kind, workload, model = parts
    pods, count = pods_of_workload(
        state.selection(team=slug), namespace, kind, workload, model
    )
    return Opened(key, tuple(pods), count)


@signed_in
def team_rules(request: HttpRequest, slug: str) -> HttpResponse:
    """The members of a team, and the rules that assign usage to it."""
    state = PageState(request, compares=False)
    ref = team_of(state, slug)
    context = {
        "state": None,
        "team": ref,
        "tab": "rules",
        "members": member_rows(ref.id),
        "rules": [row for row in binding_rows(state.visitor.scope) if row.team == slug],
    }
    return render(request, "teams/team_rules.html", context)
