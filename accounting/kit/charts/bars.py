"""Bars of states and spark lines: geometry for inline SVG, as values.

A missing value is None here and a gap on the page, never zero.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

Number = int | float | Decimal

GAP = 0.2  # percent of a bar's width, between its parts
STATE_GROUPS = {  # four groups that pages show, and the states in each
    "Busy": ("busy",),
    "Idle": ("idle",),
    "No data": ("unknown", "dark"),
    "Unallocated": ("free", "stranded", "stray"),
}
WORD_CLASS = {
    "Busy": "busy",
    "Idle": "idle",
    "No data": "unknown",
    "Unallocated": "rest",
}


@dataclass(frozen=True, slots=True)
class BarPart:
    """One part of a horizontal bar, in percent of its width."""

    kind: str  # busy, idle, unknown, rest
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Spark:
    """A line without axes: its segments between gaps, and its last point."""

    pieces: tuple[str, ...]  # "x,y x,y ...", for <polyline points>
    end: tuple[float, float] | None


def spark(values: Sequence[Number | None], width: int = 120, height: int = 32) -> Spark:
    """A spark line; a missing value is a gap.

    It shows shape, not size: its height is the range of the values, but at least 30% of
    the largest value, so that small variations stay small.
    """
    known = [float(v) for v in values if v is not None]
    if len(values) < 2 or not known:
        return Spark((), None)
    top = max(known) or 1.0
    low = min(min(known), 0.7 * top)
    step = width / (len(values) - 1)
    pieces: list[list[str]] = [[]]
    end = None
    for index, value in enumerate(values):
        if value is None:
            pieces.append([])
            continue
        part = (float(value) - low) / (top - low)
        x, y = index * step, height - 3 - (height - 6) * part
        end = (round(x, 1), round(y, 1))
        pieces[-1].append(f"{x:.1f},{y:.1f}")
    return Spark(tuple(" ".join(p) for p in pieces if len(p) > 1), end)


def by_state_group(milliseconds: Mapping[str, int]) -> dict[str, int]:
    """The seven states in the four groups; they sum to the same wall time."""
    return {
        group: sum(milliseconds.get(state, 0) for state in states)
        for group, states in STATE_GROUPS.items()
    }


def bar_parts(amounts: Mapping[str, Number], whole: Number) -> tuple[BarPart, ...]:
    """A bar of length `whole`: one part for each kind, in order, with gaps between them.

    A part above zero is at least 0.3 percent wide, so that it is visible.
    """
    parts, x = [], 0.0
    for kind, amount in amounts.items():
        if not amount or not whole:
            continue
        length = max(float(amount) / float(whole) * 100, 0.3)
        parts.append(BarPart(kind, round(x, 2), round(max(length - GAP, 0.1), 2)))
        x += length
    return tuple(parts)
