"""GPUs and nodes: the grid, the table, and one GPU."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from accounting.charts import grids
from accounting.domain.period import DAY_MS, HOUR_MS, Period, to_ms
from accounting.domain.stretch import stretches
from accounting.queries.gpus import GpuRow, Holding, gpu_rows, gpu_slices
from accounting.queries.selection import Selection
from accounting.queries.teams import TeamRef, team_named, visible_teams
from accounting.queries.usage import usage_rows
from accounting.views import figures, shapes, tables, timelines
from accounting.views.address import Choice
from accounting.views.gate import sees_all, signed_in
from accounting.views.state import PageState

SPANS = {"hour": ("Last hour", HOUR_MS), "day": ("Last 24 hours", DAY_MS)}
GPU_SPAN_MS = 3 * DAY_MS  # one GPU's page: three days of windows are 864 lines


@dataclass(frozen=True, slots=True)
class GpuLine:
    """One GPU in grid and table. Shares are None where nothing is known."""

    uuid: str
    cluster: str
    node: str
    model: str
    url: str
    busy: float | None
    allocated: float | None
    holders: tuple[Holding, ...]
    team: TeamRef | None
    look: str  # q0..q9 busy share, free, dark
    words: str


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """The GPUs of one node."""

    cluster: str
    name: str
    model: str
    lines: tuple[GpuLine, ...]


def _span(state: PageState) -> tuple[str, Period | None]:
    """Which time the grid shows: the newest hour or day, or the range at the top."""
    chosen = state.query.get("over", "day")
    until = state.chip.until
    if chosen == "range" or until is None:
        return "range", state.period
    name = chosen if chosen in SPANS else "day"
    end = to_ms(until)
    return name, Period(end - SPANS[name][1], end)


def _choices(state: PageState, chosen: str) -> list[Choice]:
    labels = {name: label for name, (label, _) in SPANS.items()} | {"range": "Range"}
    return [
        Choice(
            name, label, state.url(over="" if name == "day" else name), name == chosen
        )
        for name, label in labels.items()
    ]


@signed_in
def fleet(request: HttpRequest) -> HttpResponse:
    """Every GPU for finance and admins; for others those that their teams held."""
    state = PageState(request, compares=False)
    chosen, period = _span(state)
    teams = visible_teams(state.visitor.scope)
    selection = replace(state.selection(), period=period)
    sees_everything = state.visitor.scope.sees_all
    lines = _all(selection, teams) if sees_everything else _held(selection, teams)
    context = {
        "state": state,
        "choices": _choices(state, chosen),
        "span": chosen,
        "nodes": _nodes(lines),
        "count": len(lines),
        "free": sum(1 for line in lines if not line.holders and line.look == "free"),
        "is_partial": not sees_everything,
        "page": tables.paged(
            tables.ordered(lines, state.sort, GPU_COLUMNS, "node"), state.query.dict()
        ),
    }
    return render(request, "accounting/gpus.html", context)


GPU_COLUMNS: Mapping[str, tables.Sorter] = {
    "gpu": lambda line: line.uuid,
    "node": lambda line: (line.cluster, line.node, line.uuid),
    "model": lambda line: line.model,
    "holder": lambda line: line.holders[0].pod if line.holders else None,
    "allocated": lambda line: line.allocated,
    "busy": lambda line: line.busy,
}


def _all(selection: Selection, teams: Mapping[str, TeamRef]) -> list[GpuLine]:
    return [_line(row, teams) for row in gpu_rows(selection)]


def _line(row: GpuRow, teams: Mapping[str, TeamRef]) -> GpuLine:
    holder = row.holders[0] if row.holders else None
    look, words = _look(row.busy_share, row.allocated_share)
    return GpuLine(
        uuid=row.uuid,
        cluster=row.cluster,
        node=row.node,
        model=row.model,
        url=reverse("gpu", args=[row.uuid]),
        busy=row.busy_share,
        allocated=row.allocated_share,
        holders=row.holders,
        team=team_named(dict(teams), holder.team) if holder else None,
        look=look,
        words=words + (f", held by {holder.pod}" if holder else ", held by nobody now"),
    )


def _held(selection: Selection, teams: Mapping[str, TeamRef]) -> list[GpuLine]:
    """The GPUs that the visitor's teams held; others stay unseen."""
    lines = []
    for row in usage_rows(selection, ("cluster", "node", "gpu", "model", "team")):
        look, words = _look(row.efficiency, 1.0)
        lines.append(
            GpuLine(
                uuid=row.key["gpu"],
                cluster=row.key["cluster"],
                node=row.key["node"],
                model=row.key["model"],
                url="",
                busy=row.efficiency,
                allocated=None,
                holders=(),
                team=team_named(dict(teams), row.key["team"]),
                look=look,
                words=words,
            )
        )
    return lines


def _look(busy: float | None, allocated: float | None) -> tuple[str, str]:
    """How a cell looks, and what it says."""
    if allocated is None:
        return "dark", "no data"
    if not allocated:
        return "free", "unallocated"
    step = grids.heat_step(busy)
    if step is None:
        return "dark", "held, no data"
    return f"q{step}", f"{busy:.0%} busy"


def _nodes(lines: Sequence[GpuLine]) -> list[NodeGroup]:
    ordered = sorted(
        lines, key=lambda line: (line.cluster, line.model, line.node, line.uuid)
    )
    return [
        NodeGroup(cluster, node, model, tuple(found))
        for (cluster, model, node), found in groupby(
            ordered, key=lambda line: (line.cluster, line.model, line.node)
        )
    ]


@sees_all
def gpu(request: HttpRequest, uuid: str) -> HttpResponse:
    """One GPU: who held it, and what it did in each hour."""
    state = PageState(request, compares=False)
    until = state.chip.until
    end = (
        state.period.end_ms if until is None else min(state.period.end_ms, to_ms(until))
    )
    start = max(state.period.start_ms, end - GPU_SPAN_MS)
    period = Period(min(start, end), end)
    selection = replace(state.selection(), period=period)
    rows = gpu_rows(selection, uuid=uuid)
    if not rows:
        raise Http404("no such GPU in this range")
    slices = gpu_slices(selection, uuid)
    teams = visible_teams(state.visitor.scope)
    context = {
        "state": state,
        "gpu": _line(rows[0], teams),
        "row": rows[0],
        "period": period,
        "is_cut": start > state.period.start_ms,
        "hours": timelines.minutes_by_hour(slices, state),
        "capacity": shapes.capacity(
            rows[0].ledger, period.length_ms, figures.places_of(state.currency)
        )
        if rows[0].ledger
        else None,
        "stretches": list(reversed(stretches(slices)))[:50],
        "used": sum(one.samples_used for one in slices),
        "expected": sum(one.samples_expected for one in slices),
    }
    return render(request, "accounting/gpu.html", context)
