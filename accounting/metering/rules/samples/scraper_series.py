"""Scraper series: their steps, and which time their samples cover.

rules.md N2-N8. Times are integer milliseconds; utilization is an integer in
billionths of one engine, so that milliseconds times utilization stays exact.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from accounting.core.arrays import Integers
from accounting.core.interval import WINDOW_MS, Interval, window_of
from accounting.metering.rules.samples.series import ScraperIdentity, Series, Values
from accounting.metering.rules.samples.validity import validity

BILLION = 1_000_000_000
STEP_LOOKBACK_MS = 900_000  # N4: 15 minutes before the window
DEFAULT_STEP_MS = 30_000  # N4: if no scraper series has one
MAX_STEP_MS = 300_000  # N4
MAX_UTILIZATION = 1.1  # N8: above it a value counts as no data
NOBODY = ScraperIdentity()


def lower_median_gap(times: Sequence[int], period: Interval) -> int | None:
    """The lower median gap of the times in a period; None with fewer than three."""
    low = bisect_left(times, period.start_ms)
    high = bisect_left(times, period.end_ms)
    if high - low < 3:
        return None
    gaps = sorted(times[i + 1] - times[i] for i in range(low, high - 1))
    return min(gaps[(len(gaps) - 1) // 2], MAX_STEP_MS)


def step_period(instant_ms: int) -> Interval:
    """The period whose samples determine the step of a sample at `instant_ms` (N4)."""
    window = window_of(instant_ms)
    return Interval(window.start_ms - STEP_LOOKBACK_MS, window.end_ms)


@dataclass(slots=True)
class ScrapeSteps:
    """The step of one scraper series, by window; caches computed steps.

    Attributes:
        times: all sample times, ascending and distinct.
        interval_ms: the source's declared interval, which overrides the samples if set.
        others: the node's other scraper series of the metric, used with fewer than three samples.
        last_known: used for a window in which those have no step either; for kube-state, whose
            restart does not reset the step of its job.
    """

    times: list[int]
    interval_ms: int | None = None
    others: "Sequence[ScrapeSteps]" = ()
    last_known: Callable[[int], int | None] | None = None
    _known: dict[int, int] = field(default_factory=dict)
    _known_before: dict[int, tuple[int, int] | None] = field(default_factory=dict)

    def at(self, instant_ms: int) -> int:
        """Step in milliseconds of a sample taken at `instant_ms` (N4)."""
        window_start = instant_ms - instant_ms % WINDOW_MS
        if window_start not in self._known:
            self._known[window_start] = self._find(window_start)
        return self._known[window_start]

    def own(self, window_start_ms: int) -> int | None:
        """The step from its own samples alone; None with fewer than three."""
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
        if found:
            return found[(len(found) - 1) // 2]
        last = None if self.last_known is None else self.last_known(window_start_ms)
        return DEFAULT_STEP_MS if last is None else last

    def own_before(self, window_start_ms: int) -> tuple[int, int] | None:
        """The last sample up to a window that has an own step: its time, and the step."""
        passed: list[int] = []
        found: tuple[int, int] | None = None
        i = bisect_left(self.times, window_start_ms + WINDOW_MS)
        while i and found is None:
            last = self.times[i - 1]
            window = last - last % WINDOW_MS
            if window in self._known_before:
                found = self._known_before[window]
                break
            passed.append(window)
            step = self.own(window)
            found = None if step is None else (last, step)
            i = bisect_left(self.times, window)
        self._known_before.update(dict.fromkeys(passed, found))
        return found


def steps_at(steps: ScrapeSteps, times: Integers) -> Integers:
    """The step of each sample of a scraper series: those of a window have one (N4)."""
    windows = times - times % WINDOW_MS
    is_new = np.diff(windows, prepend=windows[:1] - 1) > 0
    found = np.array([steps.at(at) for at in windows[is_new].tolist()], np.int64)
    every: Integers = found[np.cumsum(is_new) - 1]
    return every


def own_steps_at(times: Integers, interval_ms: int | None) -> Integers | None:
    """The own step of each sample; None if other scraper series are needed (N4)."""
    steps = ScrapeSteps(times.tolist(), interval_ms)
    if interval_ms is None:
        windows = np.unique(times - times % WINDOW_MS).tolist()
        if any(steps.own(window) is None for window in windows):
            return None
    return steps_at(steps, times)


@dataclass(slots=True)
class ScraperSeries:
    """The samples with data of one GPU (part) and metric from one scraper.

    Attributes:
        times: ascending and distinct; samples without data are not among them (N8).
        utilization: integer billionths, 0 to 10**9, one for each time.
    """

    scraper: ScraperIdentity
    times: Integers
    utilization: Integers
    steps: ScrapeSteps

    def count(self, period: Interval) -> int:
        """Samples in the period."""
        low, high = np.searchsorted(self.times, [period.start_ms, period.end_ms])
        return int(high - low)

    def valid(self, period: Interval, changes: Sequence[int]) -> list["ValidInterval"]:
        """When samples are valid within a period, ascending and disjoint (N5, N6).

        Args:
            period: to which the intervals are limited.
            changes: instants at which the holders of the GPU change, ascending.
        """
        times, utilization = self.times.tolist(), self.utilization.tolist()
        first = max(0, bisect_right(times, period.start_ms - 2 * MAX_STEP_MS) - 1)
        last = bisect_left(times, period.end_ms + 2 * MAX_STEP_MS)
        found: list[ValidInterval] = []
        for i in range(first, last):
            start, end = validity(times, i, self.steps.at(times[i]), changes)
            start, end = max(start, period.start_ms), min(end, period.end_ms)
            if start < end:
                found.append(
                    ValidInterval(start, end, utilization[i], times[i], self.scraper)
                )
        return found


@dataclass(frozen=True, slots=True, order=True)
class ValidInterval:
    """An interval in which a sample is valid, and its value in billionths."""

    start_ms: int
    end_ms: int
    utilization: int
    at_ms: int = 0  # time of the sample, and its scraper: for per-pod values (N22)
    scraper: ScraperIdentity = NOBODY


def fill(
    primary: list[ValidInterval], secondary: Iterable[ValidInterval]
) -> list[ValidInterval]:
    """`primary`, and the parts of `secondary` that it does not cover; both in order."""
    found: list[ValidInterval] = []
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


def believed(values: Values) -> Values:
    """Valid utilization: values up to 1.1 count as at most 1, others as NaN (N8)."""
    with np.errstate(invalid="ignore"):
        good = (values >= 0) & (values <= MAX_UTILIZATION)
    kept: Values = np.where(good, np.minimum(values, 1.0), np.nan)
    return kept


def billionths(values: Values) -> Integers:
    """Utilization in integer billionths, half-even; -1 if a value counts as no data (N8)."""
    kept = believed(values)
    good = ~np.isnan(kept)
    return np.where(good, np.rint(np.where(good, kept, 0.0) * BILLION), -1).astype(
        np.int64
    )


def of_one_series(part: Series) -> Integers:
    """Utilization of one series, with one value for each time; others are marked as no data."""
    utilization = billionths(part.values)
    times = part.times_ms
    if len(times) < 2 or bool(np.all(times[1:] > times[:-1])):
        return utilization
    rank = np.where(utilization < 0, np.iinfo(np.int64).max, utilization)
    order = np.lexsort((rank, times))
    ordered = times[order]
    repeated = np.zeros(len(times), bool)
    repeated[1:] = ordered[1:] == ordered[:-1]
    result = utilization.copy()
    result[order[repeated]] = -1
    return result
