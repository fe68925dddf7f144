"""Which nodes go the short way of `whole`, and the cells of their time."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Protocol

from accounting.domain.attribution.node_timeline import NodeTimeline
from accounting.domain.attribution.segment import Segment
from accounting.domain.attribution.utilization import GpuUtilization
from accounting.domain.attribution.whole import SoleHolding
from accounting.domain.attribution.window_utilization import PlacedGpu, is_plain
from accounting.domain.core.interval import Interval
from accounting.domain.units.geometry import GpuPart
from accounting.domain.units.gpu_units import WHOLE


class SegmentHolding(Protocol):
    """Who has which part of a GPU in a segment."""

    @property
    def uid(self) -> str:
        """Of the pod."""

    @property
    def share(self) -> Fraction:
        """Of the GPU."""

    @property
    def flags(self) -> int:
        """How that is known."""


Holders = Callable[[Segment, NodeTimeline], Mapping[GpuPart, Sequence[SegmentHolding]]]


def plain_nodes(
    timelines: Sequence[NodeTimeline],
    utilizations: Mapping[GpuPart, GpuUtilization],
    period: Interval,
    holders_of: Holders,
) -> tuple[list[PlacedGpu], list[SoleHolding]]:
    """The GPUs of all nodes where nothing is shared, doubled or chosen, and their cells.

    Args:
        timelines: of all nodes.
        utilizations: by UUID.
        period: from the first to the last window.
        holders_of: who has which part of each GPU of a node in a segment.
    """
    nodes_of = Counter(uuid for timeline in timelines for uuid in timeline.presences)
    gpus: list[PlacedGpu] = []
    cells: list[SoleHolding] = []
    for timeline in timelines:
        here = sorted(timeline.presences)
        if not all(
            nodes_of[uuid] == 1
            and is_plain(utilizations.get(GpuPart(uuid)) or GpuUtilization())
            for uuid in here
        ):
            continue
        number = {uuid: len(gpus) + n for n, uuid in enumerate(here)}
        found = _cells(timeline, period, number, holders_of)
        if found is None:
            continue
        cells.extend(found)
        gpus.extend(
            PlacedGpu(
                timeline.node,
                uuid,
                utilizations.get(GpuPart(uuid)) or GpuUtilization(),
                timeline.changes.get(GpuPart(uuid), ()),
            )
            for uuid in here
        )
    return gpus, cells


def _cells(
    timeline: NodeTimeline,
    period: Interval,
    number: Mapping[str, int],
    holders_of: Holders,
) -> list[SoleHolding] | None:
    """The cells of a node; None where a GPU is shared or one of several must be chosen."""
    last: dict[str, SoleHolding] = {}
    found: list[SoleHolding] = []
    for segment in timeline.within(period):
        part = segment.period.intersection(period)
        if part is None:
            continue
        if not _is_simple(segment):
            return None
        for (uuid, _, _), holders in holders_of(segment, timeline).items():
            if len(holders) > 1 or any(holder.share != 1 for holder in holders):
                return None
            uid, flags = (holders[0].uid, holders[0].flags) if holders else ("", 0)
            cell = SoleHolding(
                number[uuid], part.start_ms, part.end_ms, uid, flags, segment.is_seen
            )
            before = last.get(uuid)
            if before is not None and _continues(before, cell):
                cell = cell._replace(start_ms=before.start_ms)
            elif before is not None:
                found.append(before)
            last[uuid] = cell
    found.extend(last.values())
    return found


def _is_simple(segment: Segment) -> bool:
    """True where nothing is divided, and one hold at most has all GPUs with room."""
    if any(part.kind for part in segment.parts) or segment.stranded:
        return False
    pools = segment.pools
    if not pools:
        return True
    pool = pools.get(WHOLE, ())
    if len(pools) > 1 or len(pool) != 1:
        return False
    return pool[0].weight == sum(segment.rooms().values())


def _continues(before: SoleHolding, cell: SoleHolding) -> bool:
    return (
        before.end_ms == cell.start_ms
        and before.uid == cell.uid
        and before.flags == cell.flags
        and before.is_seen == cell.is_seen
    )
