"""Small array operations that several packages need: keys, windows, ranges, groups, sums."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from accounting.core.interval import Interval

Integers = NDArray[np.int64]
_REACH_MS = 1 << 34  # half a year: more than is read at once


@dataclass(frozen=True, slots=True)
class Keys:
    """Keys of (GPU, instant), ascending by GPU and then by time."""

    base_ms: int

    def of(self, gpus: Integers | int, times: Integers) -> Integers:
        """The key of each pair."""
        return gpus * np.int64(_REACH_MS) + (times - self.base_ms + _REACH_MS // 2)


class WindowParts(NamedTuple):
    """Intervals cut at windows, in order of the intervals and then of the windows.

    Attributes:
        source: index of the interval that each part belongs to.
        window: index of its window.
        start, end: of the part, in milliseconds.
    """

    source: Integers
    window: Integers
    start: Integers
    end: Integers


def cut_at_windows(
    windows: Sequence[Interval], start: Integers, end: Integers
) -> WindowParts:
    """Cut intervals at adjoining windows; time outside the windows is dropped."""
    begins = np.array([window.start_ms for window in windows], np.int64)
    ends = np.array([window.end_ms for window in windows], np.int64)
    first = np.searchsorted(ends, start, "right")
    after = np.searchsorted(begins, end, "left")
    source, window = ranges(first, after - first)
    return WindowParts(
        source,
        window,
        np.maximum(start[source], begins[window]),
        np.minimum(end[source], ends[window]),
    )


def ranges(first: Integers, count: Integers) -> tuple[Integers, Integers]:
    """The integers [first[n], first[n] + count[n]) of every n, and the n of each.

    Returns:
        The n of each integer, and the integers; a negative count gives no integers.
    """
    count = np.maximum(count, 0)
    owner = np.repeat(np.arange(len(count)), count)
    before = sums_before(count)[:-1]
    return owner, np.arange(len(owner)) + (first - before)[owner]


def group_starts(rows: "np.ndarray", names: Sequence[str]) -> Integers:
    """Index of the first row of each group of equal columns, in sorted rows (at least one)."""
    is_new = np.zeros(len(rows), bool)
    is_new[0] = True
    for name in names:
        is_new[1:] |= rows[name][1:] != rows[name][:-1]
    return np.flatnonzero(is_new)


def sums_before(values: "np.ndarray") -> Integers:
    """The sum of all values before each one, and of all."""
    sums = np.zeros(len(values) + 1, np.int64)
    np.cumsum(values, out=sums[1:])
    return sums


def joined_arrays(parts: Sequence[Integers]) -> Integers:
    """Arrays, concatenated."""
    return np.concatenate(parts) if parts else np.empty(0, np.int64)
