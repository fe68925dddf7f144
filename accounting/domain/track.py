"""From samples to validity: tracks, their steps, and for how long a sample speaks.

Rules N2-N8 of the rule book. Times are integer milliseconds; duty is an integer in
billionths of one engine, so that milliseconds times duty stays exact.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from accounting.domain.period import WINDOW_MS, Period, window_of
from accounting.domain.series import Scraper, Series

BILLION = 1_000_000_000
STEP_LOOKBACK_MS = 900_000  # N4: 15 minutes before the window
DEFAULT_STEP_MS = 30_000  # N4: where no track tells
MAX_STEP_MS = 300_000  # N4
MAX_DUTY = 1.1  # N8: above it a value is no data
NOBODY = Scraper()

Times = list[int]


def lower_median_gap(times: Sequence[int], period: Period) -> int | None:
    """The lower median gap of the times in a period; None with fewer than three."""
    low = bisect_left(times, period.start_ms)
    high = bisect_left(times, period.end_ms)
    if high - low < 3:
        return None
    gaps = sorted(times[i + 1] - times[i] for i in range(low, high - 1))
    return min(gaps[(len(gaps) - 1) // 2], MAX_STEP_MS)


def step_period(instant_ms: int) -> Period:
    """The samples that decide the step of a sample at `instant_ms` (N4)."""
    window = window_of(instant_ms)
    return Period(window.start_ms - STEP_LOOKBACK_MS, window.end_ms)


def far_apart(gap_ms: int, step_ms: int) -> bool:
    """True when a gap is longer than 1.5 steps (N5)."""
    return 2 * gap_ms > 3 * step_ms


@dataclass(slots=True)
class Steps:
    """The step of one track, by window; remembers what it has computed.

    Attributes:
        times: all sample times, ascending and distinct.
        interval_ms: the source's declared interval, which rules where set.
        others: the node's other tracks of the metric, asked with fewer than three samples.
    """

    times: Times
    interval_ms: int | None = None
    others: "Sequence[Steps]" = ()
    _known: dict[int, int] = field(default_factory=dict)

    def at(self, instant_ms: int) -> int:
        """Step in milliseconds of a sample taken at `instant_ms` (N4)."""
        window_start = instant_ms - instant_ms % WINDOW_MS
        if window_start not in self._known:
            self._known[window_start] = self._find(window_start)
        return self._known[window_start]

    def own(self, window_start_ms: int) -> int | None:
        """The step from this track's samples alone; None with fewer than three."""
        return lower_median_gap(self.times, step_period(window_start_ms))

    def _find(self, window_start_ms: int) -> int:
        if self.interval_ms is not None:
            return min(self.interval_ms, MAX_STEP_MS)
        own = self.own(window_start_ms)
        if own is not None:
            return own
        found = sorted(
            step
            for other in self.others
            if (step := other.own(window_start_ms)) is not None
        )
        return found[(len(found) - 1) // 2] if found else DEFAULT_STEP_MS


def steps_at(steps: Steps, times: NDArray[np.int64]) -> NDArray[np.int64]:
    """The step of each of a track's samples: those of a window have one (N4)."""
    windows = times - times % WINDOW_MS
    is_new = np.diff(windows, prepend=windows[:1] - 1) > 0
    found = np.array([steps.at(at) for at in windows[is_new].tolist()], np.int64)
    every: NDArray[np.int64] = found[np.cumsum(is_new) - 1]
    return every


@dataclass(slots=True)
class Track:
    """The samples with data of one GPU (part) and metric from one scraper.

    Attributes:
        times: ascending and distinct; samples without data are not among them (N8).
        duty: integer billionths, 0 to 10**9, one for each time.
    """

    scraper: Scraper
    times: Times
    duty: list[int]
    steps: Steps

    def count(self, period: Period) -> int:
        """Samples in the period."""
        return bisect_left(self.times, period.end_ms) - bisect_left(
            self.times, period.start_ms
        )

    def valid(self, period: Period, changes: Sequence[int]) -> list["Valid"]:
        """Where samples speak within a period, in order and disjoint (N5, N6).

        Args:
            period: what is asked for.
            changes: instants at which the holders of the GPU change, ascending.
        """
        first = max(0, bisect_right(self.times, period.start_ms - 2 * MAX_STEP_MS) - 1)
        last = bisect_left(self.times, period.end_ms + 2 * MAX_STEP_MS)
        found: list[Valid] = []
        for i in range(first, last):
            start, end = self._validity(i, changes)
            start, end = max(start, period.start_ms), min(end, period.end_ms)
            if start < end:
                at, by = self.times[i], self.scraper
                found.append(Valid(start, end, self.duty[i], at, by))
        return found

    def _validity(self, i: int, changes: Sequence[int]) -> tuple[int, int]:
        at = self.times[i]
        step = self.steps.at(at)
        end = at + step
        if i + 1 < len(self.times) and not far_apart(self.times[i + 1] - at, step):
            end = self.times[i + 1]
        start = at
        before = bisect_right(changes, at)
        if before < len(changes):
            end = min(end, changes[before])
        if before:
            change = changes[before - 1]
            is_first = i == 0 or self.times[i - 1] < change
            if is_first and not far_apart(at - change, step):
                start = change
        return start, end


@dataclass(frozen=True, slots=True, order=True)
class Valid:
    """A stretch of time for which a sample speaks, and what it says in billionths."""

    start_ms: int
    end_ms: int
    duty: int
    at_ms: int = 0  # time of the sample, and who took it: for per-pod values (N22)
    scraper: Scraper = NOBODY


def fill(primary: list[Valid], secondary: Iterable[Valid]) -> list[Valid]:
    """`primary`, and what of `secondary` lies where it has nothing; both in order."""
    found: list[Valid] = []
    for piece in secondary:
        start = piece.start_ms
        for taken in primary:
            if taken.end_ms <= start or taken.start_ms >= piece.end_ms:
                continue
            if start < taken.start_ms:
                found.append(replace(piece, start_ms=start, end_ms=taken.start_ms))
            start = max(start, taken.end_ms)
        if start < piece.end_ms:
            found.append(replace(piece, start_ms=start))
    return sorted([*primary, *found]) if found else primary


def billionths(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Duty in integer billionths, half-even; -1 where a value is no data (N8)."""
    with np.errstate(invalid="ignore"):
        good = np.isfinite(values) & (values >= 0) & (values <= MAX_DUTY)
    safe = np.where(good, values, 0.0)
    scaled = np.rint(np.minimum(safe, 1.0) * BILLION).astype(np.int64)
    return np.where(good, scaled, -1)


def distinct(
    parts: Sequence[Series], names: Callable[[Series], bool] = lambda _: False
) -> tuple[Times, list[int], int]:
    """One value a time from the series of one track (N2, N3).

    Of several samples at one time a number counts before no data, the one without a
    workload before those with one, else the largest across series and the smaller within
    one series.

    Args:
        parts: of one GPU (part), metric and scraper.
        names: whether a series names a workload.

    Returns:
        times, duty in billionths, and at how many times one series disagreed with itself.
    """
    if len(parts) == 1:
        return _distinct_of_one(parts[0])
    times = np.concatenate([part.times_ms for part in parts])
    duty = np.concatenate([of_one_series(part) for part in parts])
    named = np.concatenate([np.full(len(part.times_ms), names(part)) for part in parts])
    good = duty >= 0
    times, duty, named = times[good], duty[good], named[good]
    order = np.lexsort((-duty, named, times))
    times, duty = times[order], duty[order]
    keep = np.ones(len(times), bool)
    keep[1:] = times[1:] != times[:-1]
    return times[keep].tolist(), duty[keep].tolist(), 0


def _distinct_of_one(part: Series) -> tuple[Times, list[int], int]:
    duty = billionths(part.values)
    good = duty >= 0
    times, duty = part.times_ms[good], duty[good]
    if len(times) < 2 or bool(np.all(times[1:] > times[:-1])):
        return times.tolist(), duty.tolist(), 0
    order = np.lexsort((duty, times))
    times, duty = times[order], duty[order]
    keep = np.ones(len(times), bool)
    keep[1:] = times[1:] != times[:-1]
    repeated = ~keep
    differing = int(np.count_nonzero(repeated & (duty != np.roll(duty, 1))))
    return times[keep].tolist(), duty[keep].tolist(), differing


def of_one_series(part: Series) -> NDArray[np.int64]:
    """Duty of one series, with all but the counting sample of a time marked no data."""
    duty = billionths(part.values)
    times = part.times_ms
    if len(times) < 2 or bool(np.all(times[1:] > times[:-1])):
        return duty
    rank = np.where(duty < 0, np.iinfo(np.int64).max, duty)
    order = np.lexsort((rank, times))
    ordered = times[order]
    repeated = np.zeros(len(times), bool)
    repeated[1:] = ordered[1:] == ordered[:-1]
    result = duty.copy()
    result[order[repeated]] = -1
    return result
