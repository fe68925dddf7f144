"""Attribution of many GPUs at once, as arrays (rules.md N18-N23).

The result equals that of `exact`, to the last millisecond (a test compares them). `exact` handles
the nodes that need more than integers over a small denominator: several scraper series of one
metric, GPUs that moved between nodes, shares other than those of compute, per-pod values of
shared GPUs, and zeros that other metrics contradict.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter

import numpy as np

from accounting.core.arrays import Integers, cut_at_windows
from accounting.core.interval import Interval
from accounting.core.issue import Issue
from accounting.core.ledger_line import LineTable
from accounting.metering.rules.attribution.held_intervals import (
    HeldInterval,
    HeldSegment,
    merged_intervals,
)
from accounting.metering.rules.attribution.node_timeline import NodeTimeline
from accounting.metering.rules.attribution.pool_filling import (
    Order,
    has_choice,
    holders_of,
)
from accounting.metering.rules.attribution.segment import Segment
from accounting.metering.rules.attribution.utilization import GpuUtilization
from accounting.metering.rules.attribution.vectorized_intervals import CellBuilder
from accounting.metering.rules.attribution.vectorized_lines import lines_of
from accounting.metering.rules.attribution.window_utilization import (
    PlacedGpu,
    UtilizationTable,
    is_plain,
    measured,
)
from accounting.metering.rules.intensity.stretches import GpuInterval
from accounting.metering.rules.units.geometry import GpuPart

_NO_UTILIZATION = GpuUtilization()
_start_ms, _end_ms = attrgetter("start_ms"), attrgetter("end_ms")
_PART_INTERVAL = np.dtype([(n, "i8") for n in ("window", "part", "start", "end")])


@dataclass(frozen=True, slots=True)
class VectorizedResult:
    """The lines of the nodes that could be computed as arrays.

    Attributes:
        tables: the lines of each window.
        nodes: to which the lines belong.
        intervals: the held intervals, for the GPU activity.
        issues: of each window.
    """

    tables: tuple[LineTable, ...]
    nodes: frozenset[str]
    intervals: tuple[GpuInterval, ...]
    issues: tuple[tuple[Issue, ...], ...]


def attribute_vectorized(
    windows: Sequence[Interval],
    timelines: Sequence[NodeTimeline],
    utilizations: Mapping[GpuPart, GpuUtilization],
) -> VectorizedResult:
    """The lines of all nodes that do not need the exact path.

    Args:
        windows: adjoining and in order.
        timelines: of the nodes.
        utilizations: by part.
    """
    fleet = _Fleet.of(windows, timelines, utilizations)
    divided = {part for part, found in utilizations.items() if found.by_pod}
    builder = CellBuilder(windows, fleet.number)
    intervals: list[GpuInterval] = []
    nodes: set[str] = set()
    issues: list[list[Issue]] = [[] for _ in windows]
    for timeline in fleet.timelines:
        faults: list[tuple[int, Issue]] = []
        held = merged_intervals(fleet.segments(timeline, faults))
        if _is_shared(held, divided) or not builder.add(timeline.node, held):
            continue
        nodes.add(timeline.node)
        intervals.extend(one.on(timeline.node) for one in held)
        for window, issue in faults:
            issues[window].append(issue)
    table = builder.table()
    lines = lines_of(table, fleet.utilization)
    cuts = np.searchsorted(lines["window"], np.arange(len(windows) + 1))
    tables = tuple(
        LineTable(table.gpus, table.uids, lines[cuts[n] : cuts[n + 1]])
        for n in range(len(windows))
    )
    every = tuple(map(tuple, issues))
    return VectorizedResult(tables, frozenset(nodes), tuple(intervals), every)


def _is_shared(held: Sequence[HeldInterval], parts: set[GpuPart]) -> bool:
    """Whether one of those parts has several holders at some time."""
    return bool(parts) and any(
        len(part.holders) > 1 and part.part in parts
        for interval in held
        for part in interval.state.parts
    )


@dataclass(frozen=True, slots=True)
class _Fleet:
    """The nodes that are computed as arrays, and the utilization of all their parts.

    Attributes:
        period: from the first to the last window.
        number: index of each part in `utilization` and `activity`.
        activity: by part and window, of parts on nodes with a pool: milliseconds x billionths.
    """

    windows: Sequence[Interval]
    period: Interval
    timelines: Sequence[NodeTimeline]
    number: Mapping[GpuPart, int]
    utilization: UtilizationTable
    activity: Integers

    @classmethod
    def of(
        cls,
        windows: Sequence[Interval],
        timelines: Sequence[NodeTimeline],
        utilizations: Mapping[GpuPart, GpuUtilization],
    ) -> "_Fleet":
        """The fleet of those nodes whose samples allow it."""
        period = Interval(windows[0].start_ms, windows[-1].end_ms)
        eligible = _eligible(timelines, utilizations, period)
        placed: list[PlacedGpu] = []
        number: dict[GpuPart, int] = {}
        for timeline, parts in eligible:
            for part in parts:
                number[part] = len(placed)
                utilization_of = utilizations.get(part, _NO_UTILIZATION)
                changes = timeline.changes.get(part, ())
                placed.append(
                    PlacedGpu(timeline.node, part.uuid, utilization_of, changes)
                )
        utilization = UtilizationTable.of(windows, placed)
        suspect = {placed[n].node for n in utilization.doubtful(windows, placed)}
        chosen = [timeline for timeline, _ in eligible if timeline.node not in suspect]
        activity = np.zeros((len(placed), len(windows)), np.int64)
        rows = _pooled(windows, chosen, number, period)
        np.add.at(
            activity, (rows["part"], rows["window"]), measured(rows, utilization)[1]
        )
        return cls(windows, period, chosen, number, utilization, activity)

    def segments(
        self, timeline: NodeTimeline, issues: list[tuple[int, Issue]]
    ) -> Iterator[HeldSegment]:
        """The holders of a node's GPUs, segment by segment.

        Args:
            timeline: of the node.
            issues: found issues are appended, with the index of their window.
        """
        for segment in timeline.within(self.period):
            inside = segment.period.intersection(self.period)
            if inside is None:
                continue
            touched = self._touched(inside)
            if has_choice(segment, timeline):
                for n in touched:
                    order = self._order(timeline, segment, n)
                    holders, found = holders_of(segment, order, timeline)
                    part = inside.intersection(self.windows[n])
                    if part is not None:
                        yield HeldSegment(part, segment, holders)
                    issues.extend((n, issue) for issue in found)
            else:
                holders, found = holders_of(segment, {}, timeline)
                yield HeldSegment(inside, segment, holders)
                issues.extend((n, issue) for n in touched for issue in found)

    def _touched(self, inside: Interval) -> range:
        """The windows that overlap a part of the period."""
        return range(
            bisect_right(self.windows, inside.start_ms, key=_end_ms),
            bisect_left(self.windows, inside.end_ms, key=_start_ms),
        )

    def _order(self, timeline: NodeTimeline, segment: Segment, window: int) -> Order:
        """The same order as in `exact` (N18): by activity in the window, most first."""
        return {
            part: (
                part.uuid in timeline.placeholders,
                -int(self.activity[self.number[part], window]),
                part,
            )
            for part in segment.parts
        }


def _eligible(
    timelines: Sequence[NodeTimeline],
    utilizations: Mapping[GpuPart, GpuUtilization],
    period: Interval,
) -> list[tuple[NodeTimeline, list[GpuPart]]]:
    """The nodes whose samples can be read as arrays, and their parts in a period."""
    nodes_of = Counter(uuid for timeline in timelines for uuid in timeline.presences)
    several = {part for part, found in utilizations.items() if not is_plain(found)}
    eligible = []
    for timeline in timelines:
        segments = timeline.within(period)
        parts = dict.fromkeys(chain.from_iterable(one.parts for one in segments))
        if (
            several.isdisjoint(parts)
            and all(nodes_of[uuid] == 1 for uuid in timeline.presences)
            and not any(segment.factors for segment in segments)
        ):
            eligible.append((timeline, [*parts]))
    return eligible


def _pooled(
    windows: Sequence[Interval],
    timelines: Sequence[NodeTimeline],
    number: Mapping[GpuPart, int],
    period: Interval,
) -> "np.ndarray":
    """When each part of a node with a pool is present, cut at the windows."""
    flat = [
        (number[part], segment.period.start_ms, segment.period.end_ms)
        for timeline in timelines
        for segments in (timeline.within(period),)
        if any(segment.pools for segment in segments)
        for segment in segments
        for part in segment.parts
    ]
    table = np.array(flat, np.int64).reshape(-1, 3)
    parts = cut_at_windows(windows, table[:, 1], table[:, 2])
    rows = np.zeros(len(parts.source), _PART_INTERVAL)
    rows["part"], rows["window"] = table[parts.source, 0], parts.window
    rows["start"], rows["end"] = parts.start, parts.end
    return rows
