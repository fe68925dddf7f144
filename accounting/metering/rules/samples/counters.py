"""Energy from a counter: the consumption of each interval (trap T3).

A counter gives the energy between two samples, which is spread evenly over the time between
them. If the counter decreased, the driver was reloaded: its value since then is a lower bound.
Gaps longer than `LONGEST_GAP_MS` give no energy: a window must not depend on how much time
around it was read.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accounting.core.arrays import Integers, Keys, sums_before
from accounting.metering.rules.samples.gauges import Samples
from accounting.metering.rules.samples.scraper_series import MAX_STEP_MS

LONGEST_GAP_MS = 2 * MAX_STEP_MS
MAX_WATTS = 100_000  # no GPU draws that: the unit does not match the name


@dataclass(frozen=True, slots=True)
class Energy:
    """The energy of numbered GPUs.

    Attributes:
        keys: of each sample.
        first: index of the first sample of each GPU, and of the end.
        spent_mj: millijoules from each sample to the next one; 0 if not known.
        known_ms: milliseconds from each sample to the next one; 0 if not known.
        total_mj, total_ms, resets: sums of these (and of resets) before each sample.
        is_reset: the counter decreased after this sample.
        is_absurd: the increase after this sample is more than any GPU can draw.
    """

    axis: Keys
    keys: Integers
    first: Integers
    times: Integers
    spent_mj: Integers
    known_ms: Integers
    total_mj: Integers
    total_ms: Integers
    resets: Integers
    is_reset: NDArray[np.bool_]
    is_absurd: NDArray[np.bool_]

    @classmethod
    def of(cls, axis: Keys, samples: Samples) -> "Energy":
        """The energy from counters in joules."""
        times, counted = samples.times, np.rint(samples.values * 1000).astype(np.int64)
        owners = samples.owners
        risen, gap = np.zeros(len(times), np.int64), np.zeros(len(times), np.int64)
        is_reset = np.zeros(len(times), bool)
        if len(times) > 1:
            same = owners[1:] == owners[:-1]
            difference = counted[1:] - counted[:-1]
            went_back = same & (difference < 0)
            one_track = samples.runs[1:] == samples.runs[:-1]
            gap[:-1] = np.where(same, times[1:] - times[:-1], 0)
            is_reset[:-1] = went_back & one_track
            risen[:-1] = np.where(is_reset[:-1], counted[1:], np.maximum(difference, 0))
        near = (gap > 0) & (gap <= LONGEST_GAP_MS)
        is_absurd = near & (risen > gap * MAX_WATTS)  # watts x ms = millijoules
        known = near & ~is_absurd
        spent, length = np.where(known, risen, 0), np.where(known, gap, 0)
        is_reset &= known
        return cls(
            axis,
            axis.of(owners, times),
            samples.first,
            times,
            spent,
            length,
            sums_before(spent),
            sums_before(length),
            sums_before(is_reset),
            is_reset,
            is_absurd,
        )

    def upto(self, gpus: Integers, times: Integers) -> tuple[Integers, Integers]:
        """Millijoules and known milliseconds before instants; only differences are meaningful."""
        at, has = self._at(gpus, times)
        if not len(self.keys):
            return at, at
        first = self.first[gpus]
        length = self.known_ms[at]
        part = np.minimum(times - self.times[at], length)
        spent = self.spent_mj[at] * part // np.maximum(length, 1)
        return (
            np.where(has, self.total_mj[at] + spent, self.total_mj[first]),
            np.where(has, self.total_ms[at] + part, self.total_ms[first]),
        )

    def has_reset(
        self, gpus: Integers, start: Integers, end: Integers
    ) -> NDArray[np.bool_]:
        """True for the intervals in which a counter decreased."""
        low, has_low = self._at(gpus, start)
        high, has_high = self._at(gpus, end - 1)
        if not len(self.keys):
            return has_high
        low = np.where(has_low, low, self.first[gpus])
        found: NDArray[np.bool_] = has_high & (
            self.resets[np.where(has_high, high + 1, low)] > self.resets[low]
        )
        return found

    def _at(
        self, gpus: Integers, times: Integers
    ) -> tuple[Integers, NDArray[np.bool_]]:
        """The last sample at or before instants, and whether there is one."""
        at = np.searchsorted(self.keys, self.axis.of(gpus, times), "right") - 1
        has = at >= self.first[gpus]
        return np.maximum(at, 0).astype(np.int64), has
