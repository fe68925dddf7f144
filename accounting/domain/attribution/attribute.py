"""Samples and holds into the milliseconds of the seven states (rules.md N18-N23).

The one formula of the product. For every GPU and window the lines sum to the time it was
there: everything is exact (integers and fractions of a billionth of a millisecond) and is
rounded once, by largest remainder.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from accounting.domain.attribution.exact import node_window, stretches_of
from accounting.domain.attribution.gpu_totals import GpuSum, rounded
from accounting.domain.attribution.node_timeline import NodeTimeline
from accounting.domain.attribution.plain import plain_nodes
from accounting.domain.attribution.pool_filling import Holders, holders_of
from accounting.domain.attribution.segment import Segment
from accounting.domain.attribution.utilization import GpuUtilization, gpu_utilizations
from accounting.domain.attribution.vectorized import (
    VectorizedResult,
    attribute_shaped,
    shaped_nodes,
)
from accounting.domain.attribution.whole import attribute_whole
from accounting.domain.core.interval import Interval
from accounting.domain.core.issue import Issue
from accounting.domain.core.ledger_line import NO_LINES, LedgerLine, LineTable, joined
from accounting.domain.intensity.compute import intensities
from accounting.domain.intensity.measures import NOTHING, IntensityTable
from accounting.domain.intensity.stretches import GpuInterval, HeldPart
from accounting.domain.inventory.labels import Ownership
from accounting.domain.samples.series import Reading
from accounting.domain.units.geometry import NO_INSTANCE, GpuPart


@dataclass(frozen=True, slots=True)
class WindowLedger:
    """The facts of one window."""

    window: Interval
    singles: tuple[LedgerLine, ...]
    table: LineTable
    issues: tuple[Issue, ...]
    samples_expected: int
    samples_seen: int
    intensity: IntensityTable = NOTHING

    @property
    def lines(self) -> tuple[LedgerLine, ...]:
        """Every line, one by one: for few only."""
        return (*self.singles, *self.table.lines())

    @property
    def missed_ms(self) -> int:
        """What is unknown or dark of its GPUs' time."""
        rows = self.table.rows
        found = int(rows["unknown_ms"].sum()) + int(rows["dark_ms"].sum())
        return found + sum(line.unknown_ms + line.dark_ms for line in self.singles)


def attribute(
    windows: Sequence[Interval],
    readings: Sequence[Reading],
    timelines: dict[str, NodeTimeline],
    *,
    one_by_one: bool = False,
) -> list[WindowLedger]:
    """The ledger of adjoining windows.

    Args:
        windows: adjoining and in order.
        readings: with samples from 30 min before the first to 10 min after the last window.
        timelines: of every node with a GPU in those windows.
        one_by_one: go the long way for every node; the result is the same.

    Returns:
        One WindowLedger for each window.
    """
    if not windows:
        return []
    whole = Interval(windows[0].start_ms, windows[-1].end_ms)
    whose = next((t.whose for t in timelines.values()), Ownership())
    utilizations, issues = gpu_utilizations(readings, whole, whose)
    ordered = [timeline for _, timeline in sorted(timelines.items())]
    stretches: list[GpuInterval] = []
    few = [] if one_by_one else ordered
    tables, done = _whole(windows, few, utilizations, stretches)
    rest = [timeline for timeline in few if timeline.node not in done]
    shaped = _shaped(windows, rest, utilizations, stretches)
    done |= shaped.nodes
    ledgers: list[WindowLedger] = []
    for n, window in enumerate(windows):
        table = joined([tables[n], shaped.tables[n]])
        issues.extend(shaped.issues[n])
        sums: dict[str, list[GpuSum]] = defaultdict(list)
        for timeline in ordered:
            if timeline.node in done:
                continue
            parts, faults = node_window(timeline, utilizations, window, stretches)
            issues.extend(faults)
            for part in parts:
                sums[part.uuid].append(part)
        ledgers.append(_ledger(window, sums, table, issues))
        issues = []
    return _with_intensity(ledgers, readings, stretches, ordered)


def _with_intensity(
    ledgers: Sequence[WindowLedger],
    readings: Sequence[Reading],
    stretches: Sequence[GpuInterval],
    timelines: Sequence[NodeTimeline],
) -> list[WindowLedger]:
    """The same ledgers with the second column of their lines."""
    changes = {
        (timeline.node, part.uuid, part.instance): at
        for timeline in timelines
        for part, at in timeline.changes.items()
    }
    tables, issues = intensities(
        [ledger.window for ledger in ledgers], readings, stretches, changes
    )
    first = replace(ledgers[0], issues=(*ledgers[0].issues, *issues))
    return [
        replace(ledger, intensity=table)
        for ledger, table in zip([first, *ledgers[1:]], tables, strict=True)
    ]


def _whole(
    windows: Sequence[Interval],
    timelines: Sequence[NodeTimeline],
    utilizations: dict[GpuPart, GpuUtilization],
    stretches: list[GpuInterval],
) -> tuple[list[LineTable], set[str]]:
    """The lines of nodes where nothing is shared, by window, and which nodes these are."""
    period = Interval(windows[0].start_ms, windows[-1].end_ms)
    gpus, cells = plain_nodes(timelines, utilizations, period, _undisputed)
    if not gpus:
        return [NO_LINES for _ in windows], set()
    whole = attribute_whole(windows, gpus, cells)
    doubted = {gpus[n].node for n in whole.doubtful}
    void = frozenset(n for n, gpu in enumerate(gpus) if gpu.node in doubted)
    tables = [table.without(void) if void else table for table in whole.tables]
    stretches.extend(
        GpuInterval(
            gpus[cell.gpu].node,
            gpus[cell.gpu].uuid,
            cell.start_ms,
            cell.end_ms,
            (HeldPart(cell.uid, NO_INSTANCE, 1, 1),) if cell.uid else (),
        )
        for cell in cells
        if cell.gpu not in void
    )
    return tables, {gpu.node for gpu in gpus} - doubted


def _shaped(
    windows: Sequence[Interval],
    timelines: Sequence[NodeTimeline],
    utilizations: dict[GpuPart, GpuUtilization],
    stretches: list[GpuInterval],
) -> VectorizedResult:
    """The lines of nodes with divided or shared GPUs that need no second look."""
    period = Interval(windows[0].start_ms, windows[-1].end_ms)
    those = shaped_nodes(timelines, utilizations, period)
    if not those:
        nothing = tuple(NO_LINES for _ in windows)
        return VectorizedResult(nothing, frozenset(), (), tuple(() for _ in windows))
    found = attribute_shaped(windows, those, utilizations, holders_of)
    for told in found.told:
        node, holders = told.timeline.node, told.holders
        stretches.extend(stretches_of(node, told.period, told.segment, holders))
    return found


def _undisputed(segment: Segment, timeline: NodeTimeline) -> dict[GpuPart, Holders]:
    """Holders of a segment in which the order of GPUs does not matter."""
    order = {part: (False, 0, part) for part in segment.parts}
    return holders_of(segment, order, timeline)[0]


def _ledger(
    window: Interval,
    sums: dict[str, list[GpuSum]],
    table: LineTable,
    issues: list[Issue],
) -> WindowLedger:
    lines = [line for parts in sums.values() for line in rounded(parts)]
    expected, used = (
        sum(getattr(line, name) for line in lines) + int(table.rows[name].sum())
        for name in ("samples_expected", "samples_used")
    )
    ordered = sorted(
        issues, key=lambda issue: (issue.code, issue.subject, issue.first_ms)
    )
    return WindowLedger(window, tuple(lines), table, tuple(ordered), expected, used)
