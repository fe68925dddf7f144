"""The activity of a part of a GPU, divided over its holders (rules.md N22)."""

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from accounting.core.interval import Interval
from accounting.core.rounding import Exact
from accounting.metering.rules.attribution.node_timeline import NodeTimeline
from accounting.metering.rules.attribution.pool_filling import Holders
from accounting.metering.rules.attribution.utilization import WindowUtilization
from accounting.metering.rules.samples.scraper_series import BILLION
from accounting.metering.rules.units.geometry import GpuPart


class Share(NamedTuple):
    """A part of a GPU: its share, and its holders."""

    part: GpuPart
    own: Fraction
    holders: Holders


@dataclass(slots=True)
class _Measured:
    """The measured time of a part, in billionths of a millisecond of its GPU.

    Attributes:
        covered: time with a valid sample, in milliseconds.
        busy: of each holder.
        excess: activity above the shares of the holders, and how much of it is stray while
            kube-state is seen.
        is_estimated: some of it was divided without per-pod values.
    """

    covered: int
    busy: list[Exact]
    excess: Exact = 0
    stray: Exact = 0
    is_estimated: bool = False


def measure(
    share: Share,
    period: Interval,
    utilization: WindowUtilization,
    timeline: NodeTimeline,
) -> _Measured:
    """Activity of a part, divided over its holders (N22)."""
    own, holders = share.own, share.holders
    held = sum((holder.share for holder in holders), Fraction(0))
    names = [(h.uid, timeline.pods.get(h.uid, ("", ""))) for h in holders]
    found = _Measured(0, [0] * len(holders))
    even: Exact = 0  # of all holders, to be divided by their shares
    for piece in utilization.pieces:
        length = min(piece.end_ms, period.end_ms) - max(piece.start_ms, period.start_ms)
        if length <= 0:
            continue
        found.covered += length
        active = plain(piece.utilization * own)
        values = utilization.by_pod.get(piece.scraper) if holders else None
        weights = values.weights(piece.at_ms, names) if values else None
        if weights is None:
            used = min(active, plain(held * BILLION)) if held < own else active
            even += length * used
            beyond = active - used
            found.is_estimated = True
        else:
            parts = [Fraction(active * weight, sum(weights)) for weight in weights]
            booked = [
                min(p, h.share * BILLION) for p, h in zip(parts, holders, strict=True)
            ]
            for n, amount in enumerate(booked):
                found.busy[n] += length * amount
            beyond = active - sum(booked)
        found.excess += length * beyond
        found.stray += length * min(beyond, (own - held) * BILLION)
    if even:
        for n, holder in enumerate(holders):
            found.busy[n] += even * holder.share / held
    return found


def plain(value: Exact) -> Exact:
    """A whole number as int: equal, and faster."""
    if isinstance(value, Fraction) and value.denominator == 1:
        return value.numerator
    return value
