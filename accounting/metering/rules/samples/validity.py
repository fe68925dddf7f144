"""How long a sample is valid (rules.md N5, N6): the rule, and its array form.

A sample is valid until the next one if that comes within 1.5 steps, otherwise for one step.
It applies to the pods that held the GPU at its time: its validity ends where the holders
change, and the first sample after a change is valid back to the change if that is within 1.5
steps. A test compares `validity` and `validities` on random data.

Times are integer milliseconds, validity is half-open. The step is that of the sample's series
(`scraper_series`, N4).
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import chain
from typing import TypeVar

import numpy as np

from accounting.core.arrays import Integers, Keys

_NUMERATOR, _DENOMINATOR = 3, 2
LONGEST_GAP_STEPS = _NUMERATOR / _DENOMINATOR  # 1.5 (N5), for texts
_Milliseconds = TypeVar("_Milliseconds", int, Integers)


def longest_gap_ms(step_ms: _Milliseconds) -> _Milliseconds:
    """The longest gap between two samples without uncovered time: 1.5 steps (N5)."""
    return step_ms * _NUMERATOR // _DENOMINATOR


def far_apart(gap_ms: int, step_ms: int) -> bool:
    """True if a gap is longer than 1.5 steps (N5)."""
    return gap_ms > longest_gap_ms(step_ms)


def valid_until_ms(at_ms: int, following_ms: int | None, step_ms: int) -> int:
    """The end of a sample's validity, without changes of holders (N5).

    Args:
        at_ms: time of the sample.
        following_ms: of the next one of its series; None without one.
        step_ms: of the sample.
    """
    if following_ms is None or far_apart(following_ms - at_ms, step_ms):
        return at_ms + step_ms
    return following_ms


def validity(
    times: Sequence[int], i: int, step_ms: int, changes: Sequence[int]
) -> tuple[int, int]:
    """Start and end of the validity of the sample `times[i]` (N5, N6).

    Args:
        times: of all samples of the series, ascending.
        i: index of the sample.
        step_ms: of the sample.
        changes: instants at which the holders of the GPU change, ascending.
    """
    at = times[i]
    following = times[i + 1] if i + 1 < len(times) else None
    start, end = at, valid_until_ms(at, following, step_ms)
    before = bisect_right(changes, at)
    if before < len(changes):
        end = min(end, changes[before])
    if before:
        change = changes[before - 1]
        is_first = i == 0 or times[i - 1] < change
        if is_first and not far_apart(at - change, step_ms):
            start = change
    return start, end


def validities(  # all inputs that determine how long a sample is valid
    axis: Keys,
    first: Integers,
    times: Integers,
    steps: Integers,
    changes: Sequence[Sequence[int]],
) -> tuple[Integers, Integers]:
    """`validity` of all samples of many GPUs: those of n are [first[n], first[n + 1]).

    Args:
        axis: keys of (GPU, instant), which start near these times.
        first: index of the first sample of each GPU, and of the end.
        times, steps: of each sample, in milliseconds; times ascend within a GPU.
        changes: instants at which the holders of each GPU change, ascending.
    """
    gpus = np.repeat(np.arange(len(first) - 1), np.diff(first))
    following = np.append(times[1:], 0)
    before = np.concatenate(([0], times[:-1]))
    is_last, is_first = np.zeros(len(times), bool), np.zeros(len(times), bool)
    filled = first[:-1][np.diff(first) > 0]
    is_first[filled] = True
    is_last[first[1:][np.diff(first) > 0] - 1] = True
    near = ~is_last & (following - times <= longest_gap_ms(steps))
    end = np.where(near, following, times + steps)
    start = times.copy()
    counts = [len(found) for found in changes]
    at = _flat(changes)
    if len(at) and len(times):
        owner = np.repeat(np.arange(len(changes)), counts)
        after = np.searchsorted(axis.of(owner, at), axis.of(gpus, times), "right")
        upper = np.minimum(after, len(at) - 1)
        cuts = (after < len(at)) & (owner[upper] == gpus)
        end = np.where(cuts, np.minimum(end, at[upper]), end)
        lower = np.maximum(after - 1, 0)
        change = at[lower]
        opens = (after > 0) & (owner[lower] == gpus) & (is_first | (before < change))
        start = np.where(
            opens & (times - change <= longest_gap_ms(steps)), change, start
        )
    return start, end


def _flat(parts: Sequence[Sequence[int]]) -> Integers:
    count = sum(map(len, parts))
    return np.fromiter(chain.from_iterable(parts), np.int64, count)
