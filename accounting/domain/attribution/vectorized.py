"""Attribution of divided and shared GPUs, all at once (rules.md N18-N23).

As `whole`, for what is not whole: instances, replicas, pools with a choice, fractions. Shares
are brought to one denominator for each GPU, so that all amounts are integers and the result
is that of `attribution`, to the last millisecond (a test compares them). Per-pod values,
other shares than those of compute, several tracks of one metric and GPUs that moved go the
long way.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from accounting.domain.attribution.node_timeline import NodeTimeline
from accounting.domain.attribution.segment import Segment
from accounting.domain.attribution.utilization import GpuUtilization
from accounting.domain.attribution.vectorized_lines import Sums, lines_of
from accounting.domain.attribution.vectorized_work import (
    LARGEST,
    STAY,
    CollectedNodes,
    Held,
    PartInterval,
    denominators,
    rows_of,
)
from accounting.domain.attribution.window_utilization import (
    PlacedGpu,
    UtilizationTable,
    is_plain,
    measured,
)
from accounting.domain.core.interval import Interval
from accounting.domain.core.issue import Issue
from accounting.domain.core.ledger_line import LineTable
from accounting.domain.samples.scraper_series import BILLION
from accounting.domain.samples.validity import Integers
from accounting.domain.units.geometry import GpuPart

Order = dict[GpuPart, tuple[bool, int, GpuPart]]
HoldersOf = Callable[[Segment, Order, NodeTimeline], tuple[Held, list[Issue]]]


@dataclass(frozen=True, slots=True)
class VectorizedResult:
    """What the short way gives.

    Attributes:
        tables: the lines of each window.
        nodes: whose lines these are.
        told: who had what, for the second column.
        issues: by window.
    """

    tables: tuple[LineTable, ...]
    nodes: frozenset[str]
    told: tuple[PartInterval, ...]
    issues: tuple[tuple[Issue, ...], ...]


def shaped_nodes(
    timelines: Sequence[NodeTimeline],
    utilizations: Mapping[GpuPart, GpuUtilization],
    period: Interval,
) -> list[NodeTimeline]:
    """The nodes that can go this way."""
    nodes_of = Counter(uuid for timeline in timelines for uuid in timeline.presences)
    nothing = GpuUtilization()
    return [
        timeline
        for timeline in timelines
        if all(nodes_of[uuid] == 1 for uuid in timeline.presences)
        and not any(segment.factors for segment in timeline.within(period))
        and all(
            is_plain(utilization) and not utilization.by_pod
            for part in _parts_within(timeline, period)
            for utilization in (utilizations.get(part, nothing),)
        )
    ]


def _parts_within(timeline: NodeTimeline, period: Interval) -> list[GpuPart]:
    found = {part for segment in timeline.within(period) for part in segment.parts}
    return sorted(found)


def attribute_shaped(
    windows: Sequence[Interval],
    timelines: Sequence[NodeTimeline],
    utilizations: Mapping[GpuPart, GpuUtilization],
    holders_of: HoldersOf,
) -> VectorizedResult:
    """The lines of nodes with any shape of GPU.

    Args:
        windows: in order.
        timelines: of nodes that `shaped_nodes` gave.
        utilizations: by part.
        holders_of: who has which part in a segment, given the order to fill pools in.
    """
    period = Interval(windows[0].start_ms, windows[-1].end_ms)
    work = CollectedNodes()
    for timeline in timelines:
        for part in _parts_within(timeline, period):
            work.number[timeline.node, part] = len(work.parts)
            work.parts.append((timeline, part))
    gpus = [
        PlacedGpu(
            timeline.node,
            part.uuid,
            utilizations.get(part) or GpuUtilization(),
            timeline.changes.get(part, ()),
        )
        for timeline, part in work.parts
    ]
    utilization = UtilizationTable.of(windows, gpus)
    stays, told = _stays(windows, timelines, work)
    covered, active, samples = measured(stays, utilization)
    doubted = {gpus[n].node for n in utilization.doubtful(windows, gpus)}
    activity = np.zeros((len(gpus), len(windows)), np.int64)
    np.add.at(activity, (stays["gpu"], stays["window"]), active)
    found, issues = _told(told, work, activity, holders_of, len(windows))
    rows, uids = rows_of(stays, found)
    unit = denominators(stays, found, work)
    names = tuple(work.cards)
    doubted |= {names[n][0] for n in np.flatnonzero(unit > LARGEST).tolist()}
    used = _used(stays, utilization, active)
    sums = Sums(stays, rows, covered, active, used, samples)
    lines = lines_of(sums, found, work, utilization, unit)
    keep = np.array([node not in doubted for node, _ in names] or [True], bool)
    lines = lines[keep[lines["gpu"]]] if len(lines) else lines
    cuts = np.searchsorted(lines["window"], np.arange(len(windows) + 1))
    tables = tuple(
        LineTable(names, tuple(uids), lines[cuts[n] : cuts[n + 1]])
        for n in range(len(windows))
    )
    return VectorizedResult(
        tables,
        frozenset(t.node for t in timelines) - doubted,
        tuple(item for item in found if item.timeline.node not in doubted),
        tuple(
            tuple(issue for node, issue in some if node not in doubted)
            for some in issues
        ),
    )


def _stays(
    windows: Sequence[Interval], timelines: Sequence[NodeTimeline], work: CollectedNodes
) -> tuple["np.ndarray", list[PartInterval]]:
    """Each part in each stretch of time: in the order of `told`, then of its parts."""
    told: list[PartInterval] = []
    flat: list[tuple[int, int, int, int, int, int, int, int, int, bool]] = []
    for timeline in timelines:
        for w, window in enumerate(windows):
            for segment in timeline.within(window):
                period = segment.period.intersection(window)
                if period is None:
                    continue
                n = len(told)
                told.append(PartInterval(timeline, segment, w, period, {}))
                for part in segment.parts:
                    number = work.number[timeline.node, part]
                    card = work.card(timeline.node, part.uuid)
                    at = (period.start_ms, period.end_ms)
                    flat.append((w, number, *at, card, n, 1, 0, 0, segment.is_seen))
                for uuid in segment.stranded:
                    work.card(timeline.node, uuid)
    return np.array(flat, STAY), told


def _told(
    told: Sequence[PartInterval],
    work: CollectedNodes,
    activity: Integers,
    holders_of: HoldersOf,
    windows: int,
) -> tuple[list[PartInterval], list[list[tuple[str, Issue]]]]:
    """Who holds what, once the activity of every part and window is known."""
    issues: list[list[tuple[str, Issue]]] = [[] for _ in range(windows)]
    found: list[PartInterval] = []
    for item in told:
        timeline, segment = item.timeline, item.segment
        order: Order = {}
        if segment.pools:
            for part in segment.parts:
                amount = int(activity[work.number[timeline.node, part], item.window])
                order[part] = (part.uuid in timeline.placeholders, -amount, part)
        holders, faults = holders_of(segment, order, timeline)
        issues[item.window].extend((timeline.node, fault) for fault in faults)
        found.append(item._replace(holders=holders))
    return found, issues


def _used(
    stays: "np.ndarray", utilization: UtilizationTable, active: Integers
) -> Integers:
    """Activity up to what is held, in billionths of a ms over the part's denominator."""
    used: Integers = active * stays["own"]
    used[stays["held"] == 0] = 0
    some = np.flatnonzero((stays["held"] > 0) & (stays["held"] < stays["own"]))
    if not len(some):
        return used
    metric = utilization.metric[stays["gpu"][some], stays["window"][some]]
    used[some] = 0
    for code, said in enumerate(utilization.speeches, start=1):
        chosen = some[metric == code]
        if not len(chosen) or not len(said.keys):
            continue
        part = stays[chosen]
        first = said.first[part["gpu"]]
        low = np.searchsorted(
            said.piece_keys, said.axis.of(part["gpu"], part["start"]), "right"
        )
        low = np.maximum(low - 1, first)
        high = np.searchsorted(said.piece_keys, said.axis.of(part["gpu"], part["end"]))
        count = np.maximum(high - low, 0)
        owner = np.repeat(np.arange(len(chosen)), count)
        within = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
        piece = low[owner] + within
        start = np.maximum(said.start_ms[piece], part["start"][owner])
        stop = said.start_ms[piece] + said.length_ms[piece]
        length = np.maximum(np.minimum(stop, part["end"][owner]) - start, 0)
        limit = part["held"][owner] * BILLION
        amount = length * np.minimum(
            said.utilization[piece] * part["own"][owner], limit
        )
        total = np.zeros(len(chosen), np.int64)
        np.add.at(total, owner, amount)
        used[chosen] = total
    return used
