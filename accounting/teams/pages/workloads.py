"""The work of one team: its families, and their runs with pods."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from accounting.access.reads.teams import TeamRef
from accounting.core.money import minor_places
from accounting.kit.pages.addresses import Choice
from accounting.kit.pages.paging import paged
from accounting.kit.pages.permissions import signed_in
from accounting.teams.pages.of_a_team import OF_A_TEAM, team_of
from accounting.usage.pages import tables
from accounting.usage.pages.columns import (
    FAMILY_COLUMNS,
    HARD_COLUMNS,
    WORKLOAD_COLUMNS,
    column_choices,
)
from accounting.usage.pages.family_lines import family_table, matching, with_runs
from accounting.usage.pages.page_state import PageState
from accounting.usage.pages.splits import filtering
from accounting.usage.reads.breakdown import breakdown
from accounting.usage.reads.coverage import covered_length_ms, day_coverage
from accounting.usage.reads.intensity import with_intensity
from accounting.usage.reads.pods import PodStretch, pods_of_workload
from accounting.usage.reads.usage import usage_rows

OF_RUNS = ("open", "show", "only")
"""Parameters that only the list of runs has."""


@signed_in
def workloads(request: HttpRequest, slug: str) -> HttpResponse:
    """A team's families, or its workloads by GPU model with `?by=run`."""
    if request.GET.get("by") == "run" or any(request.GET.get(n) for n in OF_RUNS):
        return _runs(request, slug)
    return _families(request, slug)


def _context(state: PageState, ref: TeamRef, by: str = "") -> dict[str, Any]:
    """What both lists have."""
    without = (*OF_RUNS, "sort", "page", "hide")
    return {
        "state": state,
        "team": ref,
        "words": state.query.get("q", "").strip(),
        "clear_url": state.url(q="", page=""),
        "lists": [
            Choice(name, label, state.url(without=without, by=name), name == by)
            for name, label in (("", "Families"), ("run", "Runs"))
        ],
        **filtering(state, {ref.slug: ref}, team=ref.slug),
    }


def _families(request: HttpRequest, slug: str) -> HttpResponse:
    state = PageState(request, filters=OF_A_TEAM)
    ref = team_of(state, slug)
    selection = state.selection(team=slug)
    length = covered_length_ms(day_coverage(state.days, state.zone, state.cluster))
    sides = state.sides(length)
    found = breakdown(
        selection,
        "family",
        sides=sides,
        length_ms=length,
        places=minor_places(state.currency),
    )
    every = family_table(selection, found, ref, sides, state.sort)
    context = _context(state, ref)
    table = matching(every, found, sides, context["words"])
    page = paged(table.lines, state.query.dict())
    return render(
        request,
        "teams/families.html",
        context
        | {
            "breakdown": found,
            "table": table,
            "count": len(every.lines),
            "columns": column_choices(state, FAMILY_COLUMNS),
            "page": page,
            "lines": with_runs(selection, page.lines),
        },
    )


def _runs(request: HttpRequest, slug: str) -> HttpResponse:
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
    common = _context(state, ref, "run")
    words = common["words"].lower()
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
    context = common | {
        "no_match": "No run matches"
        if is_pointless
        else f"No name of a run contains “{common['words']}”",
        "columns": column_choices(
            state, WORKLOAD_COLUMNS | (HARD_COLUMNS if shows_hard else {})
        ),
        "shows_hard": shows_hard,
        "hard_url": state.url(by="run", show="" if shows_hard else "hard"),
        "is_pointless": is_pointless,
        "pointless_url": state.url(
            by="run", only="" if is_pointless else "pointless", show="hard", page=""
        ),
        "count": len(lines),
        "rounding": table.rounding,
        "total": table.total,
        "opened": opened(state, slug),
        "close_url": state.url(by="run", open=""),
        "page": paged(chosen, state.query.dict()),
    }
    return render(request, "teams/workloads.html", context)


@dataclass(frozen=True, slots=True)
class Opened:
    """The workload whose pods are shown, named as in the address."""

    key: str
    pods: tuple[PodStretch, ...]
    count: int


def opened(state: PageState, slug: str) -> Opened | None:
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
