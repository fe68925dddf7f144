"""GPUs and nodes: the grid or the holders through time, and the table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import groupby
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from accounting.access.reads.teams import visible_teams
from accounting.core.interval import DAY_MS, Interval
from accounting.core.money import amount_of
from accounting.fleet.pages.free_gpus import free_table
from accounting.fleet.pages.gpu_line import GpuLine, Teams, held_text, line_of
from accounting.fleet.pages.holders import Timeline, timeline
from accounting.fleet.reads.fleet import GpuMoney, gpu_money, gpu_rows
from accounting.fleet.reads.fleet_count import fleet_count, node_offers
from accounting.fleet.reads.holders import gpus_held_by, held_in, holders_now
from accounting.fleet.reads.timeline import held_stretches, presences
from accounting.kit.cards import LateCard
from accounting.kit.pages.filters import facets
from accounting.kit.pages.fragments import card_answer, linked_path
from accounting.kit.pages.paging import ListPage, page_of, paged
from accounting.kit.pages.permissions import signed_in
from accounting.kit.reads.selection import Selection
from accounting.kit.texts import instant
from accounting.usage.pages import tables
from accounting.usage.pages.page_state import PageState
from accounting.usage.pages.spans import DAY, HOUR, SpanState
from accounting.usage.pages.splits import choices
from accounting.usage.reads.usage import usage_rows

LONGEST_MS = 7 * DAY_MS  # limit of a range: the cost grows with GPUs times windows
GRID_NODES = 128  # nodes that the grid shows at once, for fast rendering
MOST_PRICED = 512  # limit of GPUs whose money is computed for sorting
VIEWS = {"": "Grid", "timeline": "Timeline"}


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """The GPUs of one node."""

    cluster: str
    name: str
    model: str
    lines: tuple[GpuLine, ...]


TABLE = LateCard(
    route="gpu-table",
    title="Each GPU",
    id="table",
    template="fleet/_gpu_table.html",
    page="gpus",
    label="GPUs and nodes",
    css="s12",
    rows=30,
)
ASKED = ("q", "sort", "page", "rows", "view")
"""Who asks for rows of the table by one of these has it in the page."""


@dataclass(frozen=True, slots=True)
class _ShownTable:
    """The GPUs of a page: those that are there, and those of them that match the text."""

    state: SpanState
    teams: Teams
    selection: Selection
    there: Sequence[GpuLine]
    lines: Sequence[GpuLine]
    words: str

    @property
    def context(self) -> dict[str, Any]:
        """What the page and its table need."""
        state, teams = self.state, self.teams
        models = {line.model for line in self.there}
        models |= set(state.filters.get("model", ()))
        return {
            "state": state,
            "chips": state.filter_chips(teams),
            "facets": facets({"model": sorted(models)}, teams, state.filters),
            "period": state.shown,
            "since": instant(state.shown.start_ms),
            "until": instant(state.shown.end_ms),
            "is_partial": not self.selection.scope.sees_all,
            "is_unpriced_sort": _sorts_by_money(state)
            and len(self.lines) > MOST_PRICED,
            "most_priced": MOST_PRICED,
        }


def _shown(request: HttpRequest, path: str = "") -> _ShownTable:
    state = SpanState(
        request, (HOUR, DAY), longest_ms=LONGEST_MS, filters=("model",), path=path
    )
    teams = visible_teams(state.visitor.scope)
    selection = replace(state.selection(), period=state.shown)
    is_all = state.visitor.scope.sees_all
    there = _all(selection, teams) if is_all else _held(selection, teams)
    words = state.query.get("q", "").replace("\0", "").strip()
    lines = _searched(there, selection, words)
    return _ShownTable(state, teams, selection, there, lines, words)


@signed_in
def fleet(request: HttpRequest) -> HttpResponse:
    """Every GPU for finance and admins; for others those that their teams held."""
    found = _shown(request)
    state, teams, selection = found.state, found.teams, found.selection
    there, lines = found.there, found.lines
    is_timeline = state.query.get("view") == "timeline"
    is_asked = any(state.query.get(name) for name in ASKED)
    page = _table(lines, selection, teams, state) if is_asked else None
    nodes = _nodes(lines)
    context = found.context | {
        "views": choices(state, "view", VIEWS),
        "words": found.words,
        "clear_url": state.url(q="", page="", nodes=""),
        "nodes": nodes,
        "grid": page_of(nodes, state.query.get("nodes", ""), GRID_NODES),
        "timeline": _timeline(page, selection, teams, state)
        if page and is_timeline
        else None,
        "count": len(there),
        "shown": len(lines),
        "page": page,
    }
    if selection.scope.sees_all and there:
        clusters = selection.filters.get("cluster")
        offers = node_offers(clusters)
        context["fleet"] = fleet_count(offers)
        if state.is_newest and not is_timeline:
            context["free"] = free_table(lines, offers)
    return render(request, "fleet/gpus.html", context)


@signed_in
def gpu_table(request: HttpRequest) -> HttpResponse:
    """The table of the GPUs, with their holders and money."""
    found = _shown(request, linked_path(request, TABLE))
    page = _table(found.lines, found.selection, found.teams, found.state)
    return card_answer(request, TABLE, found.context | {"page": page})


def _searched(
    there: Sequence[GpuLine], selection: Selection, words: str
) -> list[GpuLine]:
    """The lines that match a search text, by their own values or by their holders."""
    if not words:
        return list(there)
    held = gpus_held_by(selection, words)
    sought = words.lower()
    return [
        line
        for line in there
        if (line.cluster, line.uuid) in held
        or any(
            sought in part.lower()
            for part in (line.node, line.uuid, line.model, line.driver, *line.errors)
        )
    ]


def _sorts_by_money(state: PageState) -> bool:
    return state.sort.lstrip("-") in ("earned", "capacity")


def _table(
    lines: Sequence[GpuLine], selection: Selection, teams: Teams, state: SpanState
) -> ListPage:
    """The page of the table, with details of its lines, or of all for sorting."""
    is_partial = not selection.scope.sees_all
    sort, query = state.sort, state.query.dict()
    if _sorts_by_money(state) and not is_partial:
        if len(lines) > MOST_PRICED:
            sort = ""
        else:
            lines = _priced(lines, selection)
    if sort.lstrip("-") == "holder" and not state.is_newest:
        lines = _with_holders(lines, selection, teams)
    page = paged(tables.ordered(lines, sort, GPU_COLUMNS, "node"), query)
    found = _with_holders(page.lines, selection, teams)
    return replace(
        page, lines=tuple(found if is_partial else _priced(found, selection))
    )


def _with_holders(
    lines: Sequence[GpuLine], selection: Selection, teams: Teams
) -> list[GpuLine]:
    """Lines with the holders of each GPU in the shown time."""
    wanted = [line.uuid for line in lines if line.held is None]
    found = held_in(selection, wanted)
    return [
        replace(
            line,
            held=line.held
            or held_text(found.get((line.cluster, line.uuid), ()), teams),
        )
        for line in lines
    ]


def _priced(lines: Sequence[GpuLine], selection: Selection) -> list[GpuLine]:
    wanted = [line.uuid for line in lines if line.money is None]
    if not wanted or selection.period is None or not selection.period.length_ms:
        return list(lines)
    found = gpu_money(selection, wanted)
    return [replace(line, money=line.money or found.get(line.uuid)) for line in lines]


def _timeline(
    page: ListPage, selection: Selection, teams: Teams, state: PageState
) -> Timeline:
    """The GPUs of the table's page through time."""
    uuids = list(dict.fromkeys(line.uuid for line in page.lines))
    period = selection.period or Interval(0, 0)
    cluster = {name: v for name, v in selection.filters.items() if name == "cluster"}
    chosen = replace(selection, filters={**cluster, "gpu": tuple(uuids)})
    is_some = bool(uuids and period.length_ms)
    there = presences(chosen) if is_some and selection.scope.sees_all else []
    found = held_stretches(chosen) if is_some else []
    return timeline(uuids, found, there, teams, period, state)


def _money(line: GpuLine, name: str) -> Decimal | None:
    return amount_of(getattr(line.money, name)) if line.money else None


def _holder(line: GpuLine) -> str | None:
    held = line.now or line.held
    return held.first.pod if held else None


GPU_COLUMNS: Mapping[str, tables.Sorter] = {
    "gpu": lambda line: line.uuid,
    "node": lambda line: (line.cluster, line.node, line.uuid),
    "model": lambda line: line.model,
    "holder": _holder,
    "driver": lambda line: (
        [(len(p), p) for p in line.driver.split(".")] if line.driver else None
    ),
    "allocated": lambda line: line.allocated,
    "busy": lambda line: line.busy,
    "errors": lambda line: len(line.errors),
    "earned": lambda line: _money(line, "earned"),
    "capacity": lambda line: _money(line, "capacity"),
}


def _all(selection: Selection, teams: Teams) -> list[GpuLine]:
    if selection.period is None or not selection.period.length_ms:
        return []
    return [line_of(row, teams) for row in gpu_rows(selection)]


def _held(selection: Selection, teams: Teams) -> list[GpuLine]:
    """The GPUs that the visitor's teams held; others are hidden."""
    lines: list[GpuLine] = []
    if selection.period is None or not selection.period.length_ms:
        return lines
    now = holders_now(selection.scope)
    for row in usage_rows(selection, ("cluster", "node", "gpu", "model")):
        key = row.key["cluster"], row.key["gpu"]
        lines.append(
            GpuLine(
                uuid=row.key["gpu"],
                cluster=row.key["cluster"],
                node=row.key["node"],
                model=row.key["model"],
                has_page=False,
                now=held_text(now.get(key, ()), teams),
                own_busy=row.efficiency,
                money=GpuMoney(row.charge, None, currencies=row.currencies),
            )
        )
    return lines


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
