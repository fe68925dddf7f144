"""Which time the samples of many GPUs cover, and with what values, as arrays (rules.md N4-N6).

Every GPU has a number; a number and an instant form one key, so that one sorted array is enough
for all GPUs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from accounting.core.arrays import Integers, Keys, joined_arrays, ranges, sums_before
from accounting.core.interval import WINDOW_MS
from accounting.metering.rules.samples.scraper_series import ScraperSeries
from accounting.metering.rules.samples.validity import validities


@dataclass(frozen=True, slots=True)
class SampleCoverage:
    """Which time the samples of one metric cover, and with what values.

    Attributes:
        keys: of each sample.
        start_keys: of the start of its validity.
        start_ms, length_ms: of its validity.
        utilization: its value, as an integer.
        first: index of the first sample of each GPU, and of the end.
        covered, active, shown: sums before each sample of milliseconds, of milliseconds x
            billionths, and of samples that are not zero. They may wrap; differences within
            a GPU do not (below 2**63).
    """

    axis: Keys
    keys: Integers
    start_keys: Integers
    start_ms: Integers
    length_ms: Integers
    utilization: Integers
    first: Integers
    covered: Integers
    active: Integers
    shown: Integers

    def count(self, gpus: Integers, times: Integers) -> Integers:
        """Samples before instants, including those of all previous GPUs: use differences."""
        return np.searchsorted(self.keys, self.axis.of(gpus, times)).astype(np.int64)

    def upto(self, gpus: Integers, times: Integers) -> tuple[Integers, Integers]:
        """Covered time and activity before instants; use differences within a GPU only."""
        if not len(self.keys):
            nothing = np.zeros(len(times), np.int64)
            return nothing, nothing
        first = self.first[gpus]
        at = np.searchsorted(self.start_keys, self.axis.of(gpus, times), "right") - 1
        is_valid = at >= first
        at = np.maximum(at, 0)
        part = np.minimum(times - self.start_ms[at], self.length_ms[at])
        covered = np.where(is_valid, self.covered[at] + part, self.covered[first])
        active = np.where(
            is_valid, self.active[at] + part * self.utilization[at], self.active[first]
        )
        return covered, active


def series_coverage(
    axis: Keys, tracks: Sequence[ScraperSeries | None], changes: Sequence[Sequence[int]]
) -> SampleCoverage:
    """The coverage of scraper series, with changes of holders at given instants.

    Args:
        axis: the keys.
        tracks: the scraper series of each GPU, by its number; None for a GPU without one.
        changes: instants at which the holders of each GPU change, ascending.
    """
    lengths = [0 if track is None else len(track.times) for track in tracks]
    first = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    some = [track for track in tracks if track is not None]
    times = joined_arrays([track.times for track in some])
    utilization = joined_arrays([track.utilization for track in some])
    return sample_coverage(axis, first, times, utilization, _steps(some), changes)


def sample_coverage(  # all inputs that determine what samples cover
    axis: Keys,
    first: Integers,
    times: Integers,
    utilization: Integers,
    steps: Integers,
    changes: Sequence[Sequence[int]],
) -> SampleCoverage:
    """The coverage of samples: those of number n are [first[n], first[n + 1]), by time.

    Args:
        axis: the keys.
        first: index of the first sample of each GPU, and of the end.
        times, utilization, steps: of each sample.
        changes: instants at which the holders of each GPU change, ascending.
    """
    gpus = np.repeat(np.arange(len(first) - 1), np.diff(first))
    keys = axis.of(gpus, times)
    start, end = validities(axis, first, times, steps, changes)
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


def _steps(tracks: Sequence[ScraperSeries]) -> Integers:
    """The step of each sample; all samples of a window have one (N4)."""
    # Series that share their steps have the same times: those that one exporter reports.
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
