"""Samples and holds into the milliseconds of the seven states (rules.md N18-N23).

The one formula of the product. `exact` is the rule; `vectorized` gives the same result as arrays
for the nodes that it supports. For every GPU and window the lines add up to its presence: all
values are exact (integers and fractions of a billionth of a millisecond) and are rounded once,
by largest remainder.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from accounting.core.interval import Interval
from accounting.core.issue import Issue
from accounting.core.ledger_line import LedgerLine, LineTable
from accounting.metering.rules.attribution.exact import node_window
from accounting.metering.rules.attribution.gpu_totals import GpuSum, rounded
from accounting.metering.rules.attribution.node_timeline import NodeTimeline
from accounting.metering.rules.attribution.utilization import gpu_utilizations
from accounting.metering.rules.attribution.vectorized import attribute_vectorized
from accounting.metering.rules.intensity.compute import intensities
from accounting.metering.rules.intensity.measures import NOTHING, IntensityTable
from accounting.metering.rules.intensity.stretches import GpuInterval
from accounting.metering.rules.inventory.labels import Ownership
from accounting.metering.rules.samples.series import Reading


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
        """All lines, one by one: for small results only."""
        return (*self.singles, *self.table.lines())

    @property
    def missed_ms(self) -> int:
        """Unknown and dark time of its GPUs, in share-weighted milliseconds."""
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
        windows: adjoining and ascending.
        readings: with samples from 30 min before the first to 10 min after the last window.
        timelines: of all nodes with a GPU in those windows.
        one_by_one: use the exact path for every node; the result is the same.

    Returns:
        One WindowLedger for each window.
    """
    if not windows:
        return []
    ordered = [timeline for _, timeline in sorted(timelines.items())]
    ledgers, held = attribute_states(windows, readings, ordered, one_by_one=one_by_one)
    return _with_intensity(ledgers, readings, held, ordered)


def attribute_states(
    windows: Sequence[Interval],
    readings: Sequence[Reading],
    timelines: Sequence[NodeTimeline],
    *,
    one_by_one: bool = False,
) -> tuple[list[WindowLedger], list[GpuInterval]]:
    """The ledgers without GPU activity, and the held intervals; `timelines` in order of node."""
    whole = Interval(windows[0].start_ms, windows[-1].end_ms)
    whose = next((t.whose for t in timelines), Ownership())
    utilizations, issues = gpu_utilizations(readings, whole, whose)
    many = [] if one_by_one else timelines
    found = attribute_vectorized(windows, many, utilizations)
    rest = [timeline for timeline in timelines if timeline.node not in found.nodes]
    stretches = list(found.intervals)
    ledgers: list[WindowLedger] = []
    for n, window in enumerate(windows):
        issues.extend(found.issues[n])
        sums: dict[str, list[GpuSum]] = defaultdict(list)
        for timeline in rest:
            parts, faults = node_window(timeline, utilizations, window, stretches)
            issues.extend(faults)
            for part in parts:
                sums[part.uuid].append(part)
        ledgers.append(_ledger(window, sums, found.tables[n], issues))
        issues = []
    return ledgers, stretches


def _with_intensity(
    ledgers: Sequence[WindowLedger],
    readings: Sequence[Reading],
    stretches: Sequence[GpuInterval],
    timelines: Sequence[NodeTimeline],
) -> list[WindowLedger]:
    """The ledgers with the GPU activity of their lines."""
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
