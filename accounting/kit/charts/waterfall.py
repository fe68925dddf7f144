"""Waterfalls: steps that add up, and sums between them, as geometry for inline SVG."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from accounting.kit.charts.bars import BarPart

NARROWEST = 0.3  # percent of the width: a step above zero is visible


@dataclass(frozen=True, slots=True)
class WaterfallStep:
    """One step, or the sum of all steps before it.

    Attributes:
        amount: what it adds, or takes where it is below 0; ignored for a sum.
        kind: the class of its bar, `s-KIND`.
    """

    amount: Decimal
    kind: str
    is_sum: bool = False


@dataclass(frozen=True, slots=True)
class WaterfallBar:
    """The bar of a step; `total` is what all steps up to it come to."""

    part: BarPart
    total: Decimal


def waterfall(steps: Sequence[WaterfallStep]) -> list[WaterfallBar]:
    """A bar for each step, from the sum before it to the sum after it; one of a sum is from 0.

    All are on one scale, from the lowest sum, at most 0, to the highest.
    """
    sums = _sums(steps)
    low, high = min([Decimal(0), *sums]), max([Decimal(0), *sums])
    whole = (high - low) or Decimal(1)
    before, bars = Decimal(0), []
    for step, total in zip(steps, sums, strict=True):
        start = Decimal(0) if step.is_sum else before
        left, right = min(start, total), max(start, total)
        width = max(float((right - left) / whole) * 100, NARROWEST)
        x = min(float((left - low) / whole) * 100, 100 - width)
        bars.append(
            WaterfallBar(BarPart(step.kind, round(x, 2), round(width, 2)), total)
        )
        before = total
    return bars


def _sums(steps: Sequence[WaterfallStep]) -> list[Decimal]:
    total, sums = Decimal(0), []
    for step in steps:
        if not step.is_sum:
            total += step.amount
        sums.append(total)
    return sums
