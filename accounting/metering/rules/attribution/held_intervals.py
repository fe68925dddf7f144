"""Intervals of a GPU's time in which the holders of all of its parts stay the same."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from accounting.core.interval import Interval
from accounting.metering.rules.attribution.pool_filling import Holders
from accounting.metering.rules.attribution.segment import Segment
from accounting.metering.rules.intensity.stretches import GpuInterval, HeldPart
from accounting.metering.rules.units.geometry import GpuPart

_NOTHING = Fraction(0)


class HeldSegment(NamedTuple):
    """A segment within `period`, and the holders of its parts."""

    period: Interval
    segment: Segment
    holders: Mapping[GpuPart, Holders]


class PartInterval(NamedTuple):
    """A part of a GPU, its share of the GPU, and its holders."""

    part: GpuPart
    share: Fraction
    holders: Holders


class HeldState(NamedTuple):
    """The division of one GPU, and its holders.

    Attributes:
        is_seen: kube-state is seen.
        stranded: the share of the GPU that its instances leave unused.
        parts: of the GPU.
    """

    is_seen: bool
    stranded: Fraction
    parts: tuple[PartInterval, ...]


class HeldInterval(NamedTuple):
    """An interval of one GPU's time in which its state stays the same."""

    uuid: str
    start_ms: int
    end_ms: int
    state: HeldState

    def on(self, node: str) -> GpuInterval:
        """The interval in the form that GPU activity needs."""
        held = [
            HeldPart(uid, part.instance, *share.as_integer_ratio())
            for part, _, holders in self.state.parts
            for uid, share, _ in holders
        ]
        return GpuInterval(node, self.uuid, self.start_ms, self.end_ms, tuple(held))


def states_of(found: HeldSegment) -> dict[str, HeldState]:
    """The state of each GPU in a segment, by UUID."""
    segment, holders = found.segment, found.holders
    parts: dict[str, list[PartInterval]] = {uuid: [] for uuid in segment.stranded}
    for part, share in segment.parts.items():
        held = PartInterval(part, share, holders[part])
        if part.uuid in parts:
            parts[part.uuid].append(held)
        else:
            parts[part.uuid] = [held]
    left = segment.stranded
    return {
        uuid: HeldState(segment.is_seen, left.get(uuid, _NOTHING), tuple(of_gpu))
        for uuid, of_gpu in parts.items()
    }


def merged_intervals(segments: Iterable[HeldSegment]) -> Sequence[HeldInterval]:
    """The intervals of one node's GPUs, each as long as the state of its GPU stays the same.

    Args:
        segments: of the node, disjoint and ascending.
    """
    found: list[HeldInterval] = []
    last: dict[str, HeldInterval] = {}
    for segment in segments:
        start, end = segment.period.start_ms, segment.period.end_ms
        for uuid, state in states_of(segment).items():
            before = last.get(uuid)
            if before is not None:
                if before.end_ms == start and before.state == state:
                    last[uuid] = HeldInterval(uuid, before.start_ms, end, before.state)
                    continue
                found.append(before)
            last[uuid] = HeldInterval(uuid, start, end, state)
    return [*found, *last.values()]
