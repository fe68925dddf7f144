"""Explore: held time and its money by any two groupings, compared and filtered."""

from collections.abc import Sequence
from datetime import date
from typing import Any, cast

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from accounting.core.money import amount_of, minor_places
from accounting.explore.pages.explore_chart import chart_by_name, chart_through_time
from accounting.explore.pages.explore_state import ExploreState
from accounting.explore.pages.rows import label_of, lines_of
from accounting.explore.pages.saved_views import add_url
from accounting.explore.reads.groupings import FILTERED, GROUPINGS
from accounting.explore.reads.table import ExploreTable, explored
from accounting.explore.reads.views import query_of, view_rows
from accounting.explore.rules import MEASURES
from accounting.kit.pages.filters import value_label, written
from accounting.kit.pages.permissions import signed_in
from accounting.kit.reads.dimensions import BY_NAME
from accounting.kit.reads.selection import SelectionError
from accounting.usage.pages.lede import spend_lede
from accounting.usage.pages.steps import steps_of
from accounting.usage.reads.breakdown import Breakdown, Sides, summarise
from accounting.usage.reads.coverage import (
    covered_length_ms,
    day_coverage,
    missing_days,
)
from accounting.usage.reads.facets import values_held
from accounting.usage.rules.comparison import change
from accounting.usage.rules.sentence import Sentence, SpendCause

SUGGESTED = ("team", "cluster", "namespace", "model", "lifecycle", "tier")
"""Dimensions with few values, which the field of the filter form offers."""


@signed_in
def explore(request: HttpRequest) -> HttpResponse:
    """Any two groupings with their chart, their table and the same rows over REST."""
    state = ExploreState(request)
    teams = state.teams
    context: dict[str, Any] = {
        "state": state,
        "chips": state.filter_chips(teams),
        "menus": _menus(state),
        "filterable": [(name, BY_NAME[name].label) for name in FILTERED],
        "by": ",".join(state.by),
        "fixed": state.closes.is_all or bool(state.named),
        "reopened": _not_in_effect(state),
        "views": view_rows(cast("User", request.user), state.visitor.scope),
        "shown_view": query_of(dict(request.GET.lists())),
        "save_url": add_url(request),
    }
    if not state.visitor.scope.sees_any:
        return render(request, "explore/explore.html", context)
    context["suggested"] = _suggested(state)
    try:
        context |= _found(state)
    except SelectionError as error:
        detail = str(error)
        context["refused"] = f"{detail[:1].upper()}{detail[1:]}."
        context["is_closed"] = bool(state.closes.inside) and not state.is_measured
    return render(request, "explore/explore.html", context)


def _found(state: ExploreState) -> dict[str, Any]:
    """What the selection is, drawn.

    Raises:
        SelectionError: stored time does not answer it.
    """
    places = minor_places(state.currency)
    coverage = day_coverage(state.days, state.zone, state.cluster)
    length = covered_length_ms(coverage)
    missing = [] if state.pinned else missing_days(coverage, *state.data_days)
    sides = _sides(state, length)
    refusal = sides.refusal if sides else ""
    before = None
    selection = state.selection_of()
    if sides is not None and not refusal and state.before is not None:
        try:
            before = state.selection_of(state.before)
        except SelectionError as error:
            refusal = str(error)
    table = explored(selection, state.by, state.rows_by, before, places)
    then = [table.before.total] if table.before and table.before.rows else []
    found = Breakdown(
        rows=tuple(table.now.rows),
        before={},
        by_step={},
        steps={},
        summary=summarise(table.now.total, then, sides, length),
        refusal=refusal or table.refusal,
    )
    chart = None
    if state.time and table.rows:
        steps = steps_of(state, missing, state.time)
        chart = chart_through_time(state, table, steps, places)
    elif len(state.by) > 1 and table.cells:
        chart = chart_by_name(state, table, places)
    return {
        "table": lines_of(state, table),
        "breakdown": found,
        "doubt": found.summary.allocated.doubt if found.summary.allocated else "",
        "chart": chart,
        "chart_title": state.chart_title,
        "missing_days": missing,
        "sentences": _sentences(state, found, missing, table),
    }


def _sides(state: ExploreState, length: int) -> Sides | None:
    """The comparison; what closes have booked does not depend on windows that may be gone."""
    if state.before is None or state.before_period is None:
        return None
    if state.pinned and state.is_before_closed:
        return Sides(state.before_period, None, None)
    return state.sides(length)


def _sentences(
    state: ExploreState, found: Breakdown, missing: Sequence[date], table: ExploreTable
) -> list[Sentence]:
    causes = []
    if table.has_changes:
        for row in table.rows:
            moved = row.before and change(
                amount_of(row.before.charge), amount_of(row.now.charge)
            )
            if moved:
                names = (
                    label_of(one, row.key[one.name], state.teams)
                    for one in state.listed
                )
                causes.append(SpendCause(", ".join(names), moved.difference))
    causes.sort(key=lambda one: (-abs(one.difference), one.name))
    who = "Teams" if state.visitor.scope.sees_all else "Your teams"
    return spend_lede(state, found, missing, "" if state.excludes else who, causes)


def _menus(state: ExploreState) -> list[tuple[str, str, list[tuple[str, str]], str]]:
    """The selects of the form: name, label, options, and the chosen one."""
    offered = [(one.name, one.label) for one in GROUPINGS]
    second = state.by[1] if len(state.by) > 1 else "none"
    measures = [(one.name, one.label) for one in MEASURES.values()]
    return [
        ("by", "Group by", offered, state.by[0]),
        ("then", "Then by", [("none", "Nothing else"), *offered], second),
        ("show", "Show", measures, state.measure.name),
    ]


def _suggested(state: ExploreState) -> list[tuple[str, str]]:
    """Values with usage in the range: as written in an address, and in words."""
    held = values_held(state.unfiltered(cluster=""), SUGGESTED)
    return [
        (
            written(value),
            f"{BY_NAME[name].label}: {value_label(name, value, state.teams)}",
        )
        for name, values in held.items()
        for value in values
    ]


def _not_in_effect(state: ExploreState) -> list[str]:
    """The named closes that were reopened since, or have been replaced."""
    now = {one.name for one in state.closes.inside}
    return [name for name in state.pinned if name not in now]
