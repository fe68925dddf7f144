"""The rule: one node in one window, segment by segment (rules.md N18-N22)."""

from collections import defaultdict
from collections.abc import Sequence

from accounting.core.interval import Interval
from accounting.core.issue import Issue
from accounting.core.ledger_line import PLATFORM
from accounting.metering.rules.attribution.activity import Share, plain
from accounting.metering.rules.attribution.gpu_totals import GpuSum, add
from accounting.metering.rules.attribution.held_intervals import (
    HeldInterval,
    HeldSegment,
    states_of,
)
from accounting.metering.rules.attribution.node_timeline import NodeTimeline
from accounting.metering.rules.attribution.pool_filling import (
    Order,
    holders_of,
    part_name,
    weighed,
)
from accounting.metering.rules.attribution.segment import Segment
from accounting.metering.rules.attribution.utilization import (
    GpuUtilization,
    WindowUtilization,
    window_utilization,
)
from accounting.metering.rules.intensity.stretches import GpuInterval
from accounting.metering.rules.samples.scraper_series import BILLION
from accounting.metering.rules.units.geometry import NO_INSTANCE, GpuPart


def node_window(
    timeline: NodeTimeline,
    utilizations: dict[GpuPart, GpuUtilization],
    window: Interval,
    stretches: list[GpuInterval],
) -> tuple[list[GpuSum], list[Issue]]:
    """The sums of each GPU of a node, in order of UUID.

    Args:
        timeline: of the node.
        utilizations: by part, for all sampled parts.
        window: of the ledger.
        stretches: the held intervals are appended, for the GPU activity.
    """
    segments = [
        (inside, segment)
        for segment in timeline.within(window)
        if (inside := segment.period.intersection(window)) is not None
    ]
    there = {part for _, segment in segments for part in segment.parts}
    known = {
        part: window_utilization(
            utilizations[part], window, timeline.changes.get(part, ())
        )
        for part in there
        if part in utilizations
    }
    busiest = _by_activity(timeline, known, segments)
    sums: dict[str, GpuSum] = {}
    issues: list[Issue] = []
    for period, segment in segments:
        holders, faults = holders_of(segment, busiest, timeline)
        issues.extend(faults)
        if segment.factors:
            segment, holders = weighed(segment, holders)  # noqa: PLW2901  # the weighed pair replaces the plain one
        for part, those in holders.items():
            total = sums.setdefault(part.uuid, GpuSum(part.uuid, timeline.node))
            share = Share(part, segment.parts[part], those)
            add(
                total,
                share,
                period,
                known.get(part, _NO_UTILIZATION),
                segment,
                timeline,
            )
        for uuid, left in segment.stranded.items():
            total = sums.setdefault(uuid, GpuSum(uuid, timeline.node))
            amount = plain(left * period.length_ms * BILLION)
            total.amounts[NO_INSTANCE, PLATFORM, "stranded"] += amount
            total.heads[NO_INSTANCE, PLATFORM]  # a line for which no sample is expected
        states = states_of(HeldSegment(period, segment, holders))
        for uuid, state in states.items():
            sums[uuid].present_ms += period.length_ms
            held = HeldInterval(uuid, period.start_ms, period.end_ms, state)
            stretches.append(held.on(timeline.node))
    for total in sums.values():
        issues.extend(_suspect(window, total, part) for part in total.suspects)
    return [sums[uuid] for uuid in sorted(sums)], issues


_NO_UTILIZATION = WindowUtilization()


def _by_activity(
    timeline: NodeTimeline,
    known: dict[GpuPart, WindowUtilization],
    segments: Sequence[tuple[Interval, Segment]],
) -> Order:
    """The order in which the GPUs and instances of a pool are filled (N18).

    Busy time in the window before any attribution, most first, then UUID and instance;
    placeholders last. All parts of one pool have the same share, so no weights are needed.
    """
    active: dict[GpuPart, int] = defaultdict(int)
    for period, segment in segments:
        for part in segment.parts:
            for piece in known.get(part, _NO_UTILIZATION).pieces:
                start = max(piece.start_ms, period.start_ms)
                end = min(piece.end_ms, period.end_ms)
                active[part] += max(0, end - start) * piece.utilization
    return {
        part: (part.uuid in timeline.placeholders, -amount, part)
        for part, amount in (
            (part, active[part]) for _, segment in segments for part in segment.parts
        )
    }


def _suspect(window: Interval, total: GpuSum, part: GpuPart) -> Issue:
    unknown = sum(
        amount
        for (instance, _, state), amount in total.amounts.items()
        if state == "unknown" and instance == part.instance
    )
    return Issue(
        code="suspect_silence",
        subject=part_name(part),
        message="Its metric reports only zeros, but utilization or power show activity.",
        advice="Restart the exporter, or check for another profiler on this node.",
        first_ms=window.start_ms,
        last_ms=window.end_ms,
        at_stake_ms=int(unknown // BILLION),
    )
