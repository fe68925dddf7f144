"""One value for each time, for many scraper series at once (rules.md N2, N3).

If a scraper series has several samples at one time, a number counts before no data, a sample
without a workload before those with one, else the largest across series and the smaller within
one: a value that an exporter repeats for each pod, container or instance is counted once (traps
T10, T22).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from accounting.core.arrays import Integers
from accounting.metering.rules.samples.series import Series, Times, Values

Names = Callable[[Series], bool]


@dataclass(frozen=True, slots=True)
class DeduplicatedSeries:
    """The samples with data of numbered scraper series, those of n at [first[n], first[n + 1]).

    Attributes:
        first: index of the first sample of each scraper series, and of the end.
        times: ascending and distinct within a scraper series.
        values: one for each time.
        differing: by scraper series, the times at which one of its series has different values;
            only for those that have any.
    """

    first: Integers
    times: Times
    values: Values
    differing: dict[int, Times] = field(default_factory=dict)

    def repeats(self) -> NDArray[np.bool_]:
        """Whether each scraper series has the same times as the one before it, and at least one."""
        counts = np.diff(self.first)
        same = np.zeros(len(counts), bool)
        same[1:] = (counts[1:] == counts[:-1]) & (counts[1:] > 0)
        back = np.repeat(np.where(same, counts, 0), counts)
        differs = self.times != self.times[np.arange(len(self.times)) - back]
        same[np.repeat(np.arange(len(counts)), counts)[differs]] = False
        return same

    def of(self, track: int) -> tuple[Times, Values]:
        """Times and values of one scraper series."""
        low, high = int(self.first[track]), int(self.first[track + 1])
        return self.times[low:high], self.values[low:high]


def distinct(
    tracks: Sequence[Sequence[Series]],
    names_workload: Names,
    clean: Callable[[Values], Values] = lambda values: values,
) -> DeduplicatedSeries:
    """The samples that count of each scraper series.

    Args:
        tracks: the series of each scraper series: of one GPU (part), metric and scraper.
        names_workload: whether a series names a workload.
        clean: the values of all series; NaN if one counts as no data.
    """
    every = [part for parts in tracks for part in parts]
    if not every:
        return DeduplicatedSeries(
            np.zeros(len(tracks) + 1, np.int64), np.empty(0, np.int64), np.empty(0)
        )
    lengths = [len(part.times_ms) for part in every]
    counts = [len(parts) for parts in tracks]
    found = _Samples(
        times=np.concatenate([part.times_ms for part in every]),
        values=clean(np.concatenate([part.values for part in every])),
        series=np.repeat(np.arange(len(every)), lengths),
        track=np.repeat(np.repeat(np.arange(len(tracks)), counts), lengths),
    )
    good = ~np.isnan(found.values)
    if not good.all():
        found = found.at(good)
    found, differing = _once_in_a_series(found)
    if len(every) > len(tracks) - counts.count(0):
        is_shared = np.array(counts) > 1
        named = np.repeat(is_shared, counts)
        those = [part for parts in tracks if len(parts) > 1 for part in parts]
        named[named] = [names_workload(part) for part in those]
        found = _once_in_a_track(found, named, is_shared)
    first = np.zeros(len(tracks) + 1, np.int64)
    np.cumsum(np.bincount(found.track, minlength=len(tracks)), out=first[1:])
    return DeduplicatedSeries(first, found.times, found.values, differing)


@dataclass(frozen=True, slots=True)
class _Samples:
    """Samples of all series, in order of their series, and so of their scraper series."""

    times: Times
    values: Values
    series: Integers
    track: Integers

    def at(self, where: Integers | NDArray[np.bool_]) -> "_Samples":
        return _Samples(
            self.times[where],
            self.values[where],
            self.series[where],
            self.track[where],
        )


def _once_in_a_series(found: _Samples) -> tuple[_Samples, dict[int, Times]]:
    """The smaller value if a series has several at one time, and when they differed (N2)."""
    together = found.series[1:] == found.series[:-1]
    if not (together & (found.times[1:] <= found.times[:-1])).any():
        return found, {}
    ordered = found.at(np.lexsort((found.values, found.times, found.series)))
    again = np.zeros(len(ordered.times), bool)
    again[1:] = ordered.times[1:] == ordered.times[:-1]
    again[1:] &= ordered.series[1:] == ordered.series[:-1]
    differs = again.copy()
    differs[1:] &= ordered.values[1:] != ordered.values[:-1]
    odd = ordered.at(differs)
    if not len(odd.times):
        return ordered.at(~again), {}
    tracks, starts = np.unique(odd.track, return_index=True)
    parts = np.split(odd.times, starts[1:])
    return ordered.at(~again), dict(zip(tracks.tolist(), parts, strict=True))


def _once_in_a_track(
    found: _Samples, named: NDArray[np.bool_], is_shared: NDArray[np.bool_]
) -> _Samples:
    """One value for each time of scraper series with several series.

    Samples without a workload come first, then the largest value.

    Args:
        found: one value for each time of each series.
        named: whether a series names a workload.
        is_shared: whether a scraper series has several series.
    """
    asked = np.flatnonzero(is_shared[found.track])
    those = found.at(asked)
    order = np.lexsort((those.times, those.track))
    again = _is_repeated(those, order)
    if again.any():  # values break ties: sorting by them costs most
        order = np.lexsort(
            (-those.values, named[those.series], those.times, those.track)
        )
        again = _is_repeated(those, order)
    which = np.arange(len(found.times))
    which[asked] = asked[order]
    keep = np.ones(len(which), bool)
    keep[asked] = ~again
    return found.at(which[keep])


def _is_repeated(found: _Samples, order: Integers) -> NDArray[np.bool_]:
    """Whether a sample, in this order, has the time and scraper series of the one before it."""
    times, track = found.times[order], found.track[order]
    again = np.zeros(len(order), bool)
    again[1:] = (times[1:] == times[:-1]) & (track[1:] == track[:-1])
    return again
