"""GPUs and nodes: the grid or who held them through time, and the table."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import groupby

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from accounting.charts import grids
from accounting.domain.period import DAY_MS, HOUR_MS, Period, to_ms
from accounting.queries.fields import instant
from accounting.queries.gpu_time import held_stretches, presences
from accounting.queries.gpus import GpuMoney, GpuRow, Holding, gpu_money, gpu_rows
from accounting.queries.selection import Selection, stored_period
from accounting.queries.teams import TeamRef, team_named, visible_teams
from accounting.queries.usage import usage_rows
from accounting.views import tables
from accounting.views.address import Choice
from accounting.views.filters import facets
from accounting.views.gate import signed_in
from accounting.views.holders import Timeline, timeline
from accounting.views.pager import Page, page_of, paged
from accounting.views.splits import choices
from accounting.views.state import PageState

SPANS = {"hour": ("Last hour", HOUR_MS), "day": ("Last 24 hours", DAY_MS)}
LONGEST_MS = 7 * DAY_MS  # of the grid: what it reads grows with GPUs times windows
GRID_NODES = 128  # nodes that the grid shows at once: what a browser draws at ease
MOST_PRICED = 512  # GPUs whose money is worked out to sort by it
SHORT_UUID = 24  # characters; NVIDIA's have 40


@dataclass(frozen=True, slots=True)
class GpuLine:
    """One GPU in grid and table. Shares are None where nothing is known.

    `money` is there for the lines that are shown, and for all where they are sorted by it.
    """

    uuid: str
    cluster: str
    node: str
    model: str
    has_page: bool  # for those who see all
    busy: float | None
    allocated: float | None
    holders: tuple[Holding, ...]
    team: TeamRef | None
    look: str  # q0..q9 busy share, free, dark
    words: str
    is_present: bool = True  # there in the newest window
    driver: str = ""
    errors: tuple[str, ...] = ()
    money: GpuMoney | None = None

    @property
    def url(self) -> str:
        """Its own page, where the visitor may open it; worked out for what is shown."""
        return reverse("gpu", args=[self.uuid]) if self.has_page else ""

    @property
    def short(self) -> str:
        """Its UUID as far as people read it; the whole of it stands in a tooltip."""
        return self.uuid if len(self.uuid) <= SHORT_UUID else f"{self.uuid[:12]}…"


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """The GPUs of one node."""

    cluster: str
    name: str
    model: str
    lines: tuple[GpuLine, ...]


def _span(state: PageState) -> tuple[str, Period]:
    """Which time the grid shows: the newest hour or day, or the range at the top."""
    chosen = state.query.get("over", "day")
    until = state.chip.until
    if chosen == "range" or until is None:
        return "range", newest_facts(state.period, LONGEST_MS)
    name = chosen if chosen in SPANS else "day"
    end = to_ms(until)
    return name, Period(end - SPANS[name][1], end)


def newest_facts(period: Period, longest_ms: int) -> Period:
    """The newest part of a period that five-minute facts are there for; empty without any."""
    stored = stored_period()
    both = period.intersection(stored) if stored else None
    if both is None:
        return Period(period.end_ms, period.end_ms)
    return Period(max(both.start_ms, both.end_ms - longest_ms), both.end_ms)


VIEWS = {"": "Grid", "timeline": "Timeline"}


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
    state = PageState(request, compares=False, filters=("model",))
    chosen, period = _span(state)
    teams = visible_teams(state.visitor.scope)
    selection = replace(state.selection(), period=period)
    sees_everything = state.visitor.scope.sees_all
    there = _all(selection, teams) if sees_everything else _held(selection, teams)
    words = state.query.get("q", "").strip()
    lines = [line for line in there if words.lower() in _searched(line)]
    nodes = _nodes(lines)
    models = sorted(
        {line.model for line in there} | set(state.filters.get("model", ()))
    )
    is_timeline = state.query.get("view") == "timeline"
    page = _table(lines, selection, state)
    context = {
        "state": state,
        "chips": state.filter_chips(teams),
        "facets": facets({"model": models}, teams, state.filters),
        "is_cut": chosen == "range" and period.start_ms > state.elapsed.start_ms,
        "period": period,
        "since": instant(period.start_ms),
        "until": instant(period.end_ms),
        "free_blocks": _free_blocks(nodes) if sees_everything else [],
        "choices": _choices(state, chosen),
        "views": choices(state, "view", VIEWS),
        "span": chosen,
        "words": words,
        "nodes": nodes,
        "grid": page_of(nodes, state.query.get("nodes", ""), GRID_NODES),
        "timeline": _timeline(page, selection, teams, state) if is_timeline else None,
        "count": len(there),
        "shown": len(lines),
        "is_partial": not sees_everything,
        "is_unpriced_sort": _sorts_by_money(state) and len(lines) > MOST_PRICED,
        "most_priced": MOST_PRICED,
        "page": page,
    }
    return render(request, "accounting/gpus.html", context)


def _searched(line: GpuLine) -> str:
    """What a word in the search box is looked for in."""
    held = (f"{one.pod} {one.namespace}" for one in line.holders)
    team = line.team.name if line.team else ""
    parts = (line.node, line.uuid, line.model, line.driver, team, *held, *line.errors)
    return "\n".join(parts).lower()


def _sorts_by_money(state: PageState) -> bool:
    return state.sort.lstrip("-") in ("earned", "capacity")


def _table(lines: Sequence[GpuLine], selection: Selection, state: PageState) -> Page:
    """The page of the table, with money: of its lines, or of all to sort by it."""
    is_partial = not selection.scope.sees_all
    sort, query = state.sort, state.query.dict()
    if _sorts_by_money(state) and not is_partial:
        if len(lines) > MOST_PRICED:
            sort = ""
        else:
            lines = _priced(lines, selection)
    page = paged(tables.ordered(lines, sort, GPU_COLUMNS, "node"), query)
    if is_partial:
        return page
    return replace(page, lines=tuple(_priced(page.lines, selection)))


def _priced(lines: Sequence[GpuLine], selection: Selection) -> list[GpuLine]:
    wanted = [line.uuid for line in lines if line.money is None]
    if not wanted or selection.period is None or not selection.period.length_ms:
        return list(lines)
    found = gpu_money(selection, wanted)
    return [replace(line, money=line.money or found.get(line.uuid)) for line in lines]


def _timeline(
    page: Page, selection: Selection, teams: Mapping[str, TeamRef], state: PageState
) -> Timeline:
    """The GPUs of the table's page through time."""
    uuids = list(dict.fromkeys(line.uuid for line in page.lines))
    period = selection.period or Period(0, 0)
    cluster = {name: v for name, v in selection.filters.items() if name == "cluster"}
    chosen = replace(selection, filters={**cluster, "gpu": tuple(uuids)})
    is_some = bool(uuids and period.length_ms)
    there = presences(chosen) if is_some and selection.scope.sees_all else []
    found = held_stretches(chosen) if is_some else []
    return timeline(uuids, found, there, teams, period, state)


def _money(line: GpuLine, name: str) -> Decimal | None:
    amount: Decimal | None = getattr(line.money, name) if line.money else None
    return amount


GPU_COLUMNS: Mapping[str, tables.Sorter] = {
    "gpu": lambda line: line.uuid,
    "node": lambda line: (line.cluster, line.node, line.uuid),
    "model": lambda line: line.model,
    "holder": lambda line: line.holders[0].pod if line.holders else None,
    "driver": lambda line: (
        [(len(p), p) for p in line.driver.split(".")] if line.driver else None
    ),
    "allocated": lambda line: line.allocated,
    "busy": lambda line: line.busy,
    "errors": lambda line: len(line.errors),
    "earned": lambda line: _money(line, "earned"),
    "capacity": lambda line: _money(line, "capacity"),
}


def _all(selection: Selection, teams: Mapping[str, TeamRef]) -> list[GpuLine]:
    return [line_of(row, teams) for row in gpu_rows(selection)]


def line_of(row: GpuRow, teams: Mapping[str, TeamRef]) -> GpuLine:
    """One GPU as grid and table show it; its money comes later."""
    holder = row.holders[0] if row.holders else None
    busy, allocated = row.busy_share, row.allocated_share
    look, words = _look(busy, allocated)
    return GpuLine(
        uuid=row.uuid,
        cluster=row.cluster,
        node=row.node,
        model=row.model,
        has_page=True,
        busy=busy,
        allocated=allocated,
        holders=row.holders,
        team=team_named(dict(teams), holder.team) if holder else None,
        look=look,
        words=words + (f", held by {holder.pod}" if holder else ", held by nobody now"),
        is_present=row.is_present,
        driver=row.driver,
        errors=row.errors,
    )


def _held(selection: Selection, teams: Mapping[str, TeamRef]) -> list[GpuLine]:
    """The GPUs that the visitor's teams held; others stay unseen."""
    lines: list[GpuLine] = []
    if selection.period is None or not selection.period.length_ms:
        return lines
    for row in usage_rows(selection, ("cluster", "node", "gpu", "model", "team")):
        look, words = _look(row.efficiency, 1.0)
        lines.append(
            GpuLine(
                uuid=row.key["gpu"],
                cluster=row.key["cluster"],
                node=row.key["node"],
                model=row.key["model"],
                has_page=False,
                busy=row.efficiency,
                allocated=None,
                holders=(),
                team=team_named(dict(teams), row.key["team"]),
                look=look,
                words=words,
                money=GpuMoney(row.charge, None, row.currency),
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


@dataclass(frozen=True, slots=True)
class FreeBlock:
    """How many nodes have just so many GPUs that nobody holds now."""

    size: int
    nodes: int
    share: float  # of the nodes with any


def _free_blocks(nodes: Sequence[NodeGroup]) -> list[FreeBlock]:
    """Free GPUs by node: what the next pod with many GPUs can hope for."""
    sizes = Counter(
        sum(1 for line in node.lines if line.is_present and not line.holders)
        for node in nodes
    )
    sizes.pop(0, None)
    largest = max(sizes.values(), default=1)
    return [
        FreeBlock(size, count, count / largest)
        for size, count in sorted(sizes.items(), reverse=True)
    ]
