"""For how long samples speak, for the tracks of a whole cluster at once (rules.md N4-N6).

The same as `scraper_series.Track.valid`, with arrays over all samples of all GPUs. Every GPU has a
number; a number and an instant make one key, so that one sorted array serves all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from accounting.domain.core.arrays import Integers, joined_arrays, ranges, sums_before
from accounting.domain.core.interval import WINDOW_MS
from accounting.domain.samples.scraper_series import ScraperSeries

_REACH_MS = 1 << 34  # half a year: more than is ever read at once


@dataclass(frozen=True, slots=True)
class Keys:
    """Keys of (GPU, instant), ascending by GPU and then by time."""

    base_ms: int

    def of(self, gpus: Integers | int, times: Integers) -> Integers:
        """The key of each pair."""
        return gpus * np.int64(_REACH_MS) + (times - self.base_ms + _REACH_MS // 2)


@dataclass(frozen=True, slots=True)
class SampleCoverage:
    """What the tracks of one metric say.

    Attributes:
        keys: of each sample.
        start_ms, length_ms: of the time for which it speaks.
        first: index of the first sample of each GPU, and of the end.
        covered, active, shown: sums before each sample of milliseconds, of milliseconds x
            billionths, and of samples that are not zero. They may wrap; differences within
            a GPU do not (below 2**63).
    """

    axis: Keys
    keys: Integers
    piece_keys: Integers
    start_ms: Integers
    length_ms: Integers
    utilization: Integers
    first: Integers
    covered: Integers
    active: Integers
    shown: Integers

    def count(self, gpus: Integers, times: Integers) -> Integers:
        """Samples of GPUs (of all before, too) before instants: differences count."""
        return np.searchsorted(self.keys, self.axis.of(gpus, times)).astype(np.int64)

    def upto(self, gpus: Integers, times: Integers) -> tuple[Integers, Integers]:
        """Covered time and activity before instants: differences within a GPU count."""
        if not len(self.keys):
            nothing = np.zeros(len(times), np.int64)
            return nothing, nothing
        first = self.first[gpus]
        at = np.searchsorted(self.piece_keys, self.axis.of(gpus, times), "right") - 1
        speaks = at >= first
        at = np.maximum(at, 0)
        part = np.minimum(times - self.start_ms[at], self.length_ms[at])
        covered = np.where(speaks, self.covered[at] + part, self.covered[first])
        active = np.where(
            speaks, self.active[at] + part * self.utilization[at], self.active[first]
        )
        return covered, active


def speech(
    axis: Keys, tracks: Sequence[ScraperSeries | None], changes: Sequence[Sequence[int]]
) -> SampleCoverage:
    """What tracks say, where holders change at given instants.

    Args:
        axis: the keys.
        tracks: of each GPU, by its number; None for one without a track.
        changes: instants at which the holders of each GPU change, ascending.
    """
    lengths = [0 if track is None else len(track.times) for track in tracks]
    first = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    some = [track for track in tracks if track is not None]
    times = joined_arrays([track.times for track in some])
    utilization = joined_arrays([track.utilization for track in some])
    return spoken(axis, first, times, utilization, _steps(some), changes)


def spoken(  # all that decides what samples say
    axis: Keys,
    first: Integers,
    times: Integers,
    utilization: Integers,
    steps: Integers,
    changes: Sequence[Sequence[int]],
) -> SampleCoverage:
    """What samples say: those of number n are [first[n], first[n + 1]), in order of time.

    Args:
        axis: the keys.
        first: index of the first sample of each GPU, and of the end.
        times, utilization, steps: of each sample.
        changes: instants at which the holders of each GPU change, ascending.
    """
    gpus = np.repeat(np.arange(len(first) - 1), np.diff(first))
    keys = axis.of(gpus, times)
    start, end = _validity(axis, first, gpus, times, steps, changes)
    length = end - start
    return SampleCoverage(
        axis,
        keys,
        axis.of(gpus, start),
        start,
        length,
        utilization,
        first,
        sums_before(length),
        sums_before(length * utilization),
        sums_before(utilization > 0),
    )


def _flat(parts: Sequence[Sequence[int]]) -> Integers:
    count = sum(map(len, parts))
    return np.fromiter(chain.from_iterable(parts), np.int64, count)


def _steps(tracks: Sequence[ScraperSeries]) -> Integers:
    """The step of each sample; all samples of a window have one (N4)."""
    # Series that share their steps have the same times: what one exporter shows of its GPUs.
    number: dict[int, int] = {}
    for track in tracks:
        number.setdefault(id(track.steps), len(number))
    chosen = list({id(track.steps): track for track in tracks}.values())
    counts = np.array([len(track.times) for track in chosen], np.int64)
    owner = np.repeat(np.arange(len(chosen)), counts)
    windows = joined_arrays([track.times for track in chosen]) // WINDOW_MS
    is_new = np.ones(len(owner), bool)
    is_new[1:] = (owner[1:] != owner[:-1]) | (windows[1:] != windows[:-1])
    at = zip(owner[is_new].tolist(), windows[is_new].tolist(), strict=True)
    found = [chosen[n].steps.at(window * WINDOW_MS) for n, window in at]
    every: Integers = np.array(found, np.int64)[np.cumsum(is_new) - 1]
    first = sums_before(counts)
    of = np.array([number[id(track.steps)] for track in tracks], np.int64)
    return every[ranges(first[of], counts[of])[1]]


def _validity(  # all that decides how long a sample speaks
    axis: Keys,
    first: Integers,
    gpus: Integers,
    times: Integers,
    steps: Integers,
    changes: Sequence[Sequence[int]],
) -> tuple[Integers, Integers]:
    """Start and end of each sample's time, as in `scraper_series.Track`."""
    following = np.append(times[1:], 0)
    before = np.concatenate(([0], times[:-1]))
    is_last, is_first = np.zeros(len(times), bool), np.zeros(len(times), bool)
    filled = first[:-1][np.diff(first) > 0]
    is_first[filled] = True
    is_last[first[1:][np.diff(first) > 0] - 1] = True
    near = ~is_last & (2 * (following - times) <= 3 * steps)
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
        start = np.where(opens & (2 * (times - change) <= 3 * steps), change, start)
    return start, end
