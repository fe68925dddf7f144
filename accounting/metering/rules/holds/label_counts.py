"""The number of samples that named a hold at each place, by hour, stored with it (rules.md N17).

A hold has the places that name it most often in its whole duration, but the labels of only a few
hours are loaded at a time. The count of an hour is replaced, never added to, when the labels of
that hour are loaded again: so the counts are a function of the samples, whatever the order and
pieces in which they were read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from accounting.core.interval import HOUR_MS, Interval
from accounting.metering.rules.holds.gpu_assignment import Place
from accounting.metering.rules.samples.series import Times

Counts = NDArray[np.int32]


def _nothing() -> Counts:
    return np.zeros((0, 0), np.int32)


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of distinct sample times.

    Attributes:
        places: ascending; each has at least one sample.
        first_ms: start of the first hour.
        counts: by place and hour; the first and the last hour have samples.
    """

    places: tuple[Place, ...] = ()
    first_ms: int = 0
    counts: Counts = field(default_factory=_nothing)

    @property
    def end_ms(self) -> int:
        """End of the last hour."""
        return self.first_ms + int(self.counts.shape[1]) * HOUR_MS

    def outside(self, hours: Interval) -> dict[Place, int]:
        """The samples of each place in all hours except those of a period; 0 if none."""
        sums = self.counts[:, ~self._inside([hours])].sum(axis=1).tolist()
        found = zip(self.places, sums, strict=True)
        return {place: count for place, count in found if count}

    def replaced(
        self, hours: Sequence[Interval], times: Mapping[Place, Times]
    ) -> "Tally":
        """The tally with the counts of some hours replaced.

        Args:
            hours: disjoint periods of whole hours.
            times: distinct sample times by place, ascending; those in `hours` count.
        """
        kept = self.counts.copy()
        kept[:, self._inside(hours)] = 0
        fresh = [_counted(times, period) for period in hours]
        return _joined([Tally(self.places, self.first_ms, kept), *fresh])

    def _inside(self, hours: Sequence[Interval]) -> NDArray[np.bool_]:
        """Which of its hours are in periods."""
        starts = self.first_ms + np.arange(self.counts.shape[1]) * HOUR_MS
        inside = np.zeros(len(starts), bool)
        for period in hours:
            inside |= (starts >= period.start_ms) & (starts < period.end_ms)
        return inside


def _counted(times: Mapping[Place, Times], hours: Interval) -> Tally:
    """The counts of samples in a period of whole hours."""
    inside: dict[Place, Times] = {}
    for place in sorted(times):
        found = times[place]
        low, high = np.searchsorted(found, [hours.start_ms, hours.end_ms])
        if high > low:
            inside[place] = found[int(low) : int(high)] // HOUR_MS
    if not inside:
        return Tally()
    first = min(int(found[0]) for found in inside.values())
    last = max(int(found[-1]) for found in inside.values())
    length = last + 1 - first
    counts = [np.bincount(found - first, minlength=length) for found in inside.values()]
    return Tally(tuple(inside), first * HOUR_MS, np.array(counts, np.int32))


def _joined(tallies: Sequence[Tally]) -> Tally:
    """Tallies of different hours as one, without empty places and empty hours at the ends."""
    some = [tally for tally in tallies if tally.counts.any()]
    if not some:
        return Tally()
    places = sorted({place for tally in some for place in tally.places})
    number = {place: n for n, place in enumerate(places)}
    first_ms = min(tally.first_ms for tally in some)
    length = (max(tally.end_ms for tally in some) - first_ms) // HOUR_MS
    counts = np.zeros((len(places), length), np.int32)
    for tally in some:
        low = (tally.first_ms - first_ms) // HOUR_MS
        rows = [number[place] for place in tally.places]
        counts[rows, low : low + tally.counts.shape[1]] += tally.counts
    named, hours = (np.flatnonzero(counts.any(axis=n)) for n in (1, 0))
    low, high = int(hours[0]), int(hours[-1]) + 1
    return Tally(
        tuple(places[n] for n in named.tolist()),
        first_ms + low * HOUR_MS,
        counts[named, low:high],
    )


def stale_hours(before: Interval, now: Interval) -> list[Interval]:
    """The hours in which the holds differ, in full: at both of their ends.

    Args:
        before: the hold when its samples were counted.
        now: the hold.
    """
    found: list[Interval] = []
    for low, high in (
        sorted((before.start_ms, now.start_ms)),
        sorted((before.end_ms, now.end_ms)),
    ):
        if low < high:
            found.append(whole_hours(Interval(low, high)))
    if len(found) == 2 and found[1].start_ms < found[0].end_ms:
        return [Interval(found[0].start_ms, max(part.end_ms for part in found))]
    return found


def whole_hours(period: Interval) -> Interval:
    """The hours that a period overlaps."""
    start = period.start_ms - period.start_ms % HOUR_MS
    return Interval(start, -(-period.end_ms // HOUR_MS) * HOUR_MS)


def without(hours: Sequence[Interval], hole: Interval) -> list[Interval]:
    """The parts of some periods that are outside another one."""
    found: list[Interval] = []
    for period in hours:
        if period.start_ms < min(period.end_ms, hole.start_ms):
            end = min(period.end_ms, hole.start_ms)
            found.append(Interval(period.start_ms, end))
        if max(period.start_ms, hole.end_ms) < period.end_ms:
            start = max(period.start_ms, hole.end_ms)
            found.append(Interval(start, period.end_ms))
    return found
