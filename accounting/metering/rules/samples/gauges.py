"""The samples of one metric for many GPUs (or instances), one row for each.

Of several scraper series the one with the most samples in a window counts there (rules.md N3);
of several samples of a scraper series at one time, one counts (`deduplicate.distinct`).
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

from accounting.core.arrays import Integers, Keys, joined_arrays
from accounting.core.interval import WINDOW_MS
from accounting.metering.rules.samples.deduplicate import DeduplicatedSeries, distinct
from accounting.metering.rules.samples.sample_coverage import (
    SampleCoverage,
    sample_coverage,
)
from accounting.metering.rules.samples.scraper_series import (
    ScrapeSteps,
    own_steps_at,
    steps_at,
)
from accounting.metering.rules.samples.series import (
    Reading,
    ScraperIdentity,
    Series,
    Times,
    Values,
)

_TrackName = tuple[ScraperIdentity, str]


@dataclass(frozen=True, slots=True)
class Samples:
    """The samples with data of numbered GPUs or instances, those of n at [first[n], first[n + 1]).

    Attributes:
        runs: an arbitrary number for the scraper series of each sample.
        steps: of each sample (N4).
    """

    first: Integers
    times: Times
    values: Values
    runs: Integers
    steps: Integers

    @property
    def owners(self) -> Integers:
        """The number of the GPU or instance of each sample."""
        owners: Integers = np.repeat(
            np.arange(len(self.first) - 1), np.diff(self.first)
        )
        return owners

    def only(self, good: NDArray[np.bool_]) -> "Samples":
        """The samples for which `good` is true."""
        counts = np.bincount(self.owners[good], minlength=len(self.first) - 1)
        return Samples(
            np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
            self.times[good],
            self.values[good],
            self.runs[good],
            self.steps[good],
        )

    def coverage(
        self, axis: Keys, amounts: Integers, changes: Sequence[Sequence[int]]
    ) -> SampleCoverage:
        """The time that each sample covers, with an integer for its value."""
        return sample_coverage(
            axis, self.first, self.times, amounts, self.steps, changes
        )


Thing = tuple[str, str]  # uuid, instance or ""


@dataclass(frozen=True, slots=True)
class GaugeSeries:
    """The series of all metrics, and their common steps.

    Attributes:
        series: by metric, and by GPU or instance.
        intervals: by metric, and by GPU or instance, as declared by the source of the first series.
        own_steps: of samples at the same times; None if other scraper series are needed.
    """

    series: dict[str, dict[Thing, list[Series]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )
    intervals: dict[tuple[str, Thing], int] = field(default_factory=dict)
    own_steps: dict[tuple[int | None, bytes], Integers | None] = field(
        default_factory=dict
    )

    @classmethod
    def of(
        cls, readings: Iterable[Reading], of_part: Set[str], of_gpu: Set[str]
    ) -> "GaugeSeries":
        """The series of metrics: each of a GPU or an instance, or of GPUs only."""
        found = cls()
        for reading in readings:
            for series in reading.series:
                metric, gpu = series.metric, series.gpu
                if gpu is None:
                    continue
                if metric in of_part:
                    thing = gpu.uuid, gpu.instance
                elif metric in of_gpu:
                    thing = gpu.uuid, ""
                else:
                    continue
                parts = found.series[metric][thing]
                if reading.interval_ms is not None and not parts:
                    found.intervals[metric, thing] = reading.interval_ms
                parts.append(series)
        return found

    def samples(self, metric: str, things: Sequence[Thing]) -> Samples:
        """The samples of each GPU or instance, by its number."""
        found = self.series[metric]
        parts_of = [found.get(thing, ()) for thing in things]
        merged, runs = _merged(parts_of)
        intervals = [self.intervals.get((metric, thing)) for thing in things]
        steps = self._steps(parts_of, intervals, merged)
        return Samples(merged.first, merged.times, merged.values, runs, steps)

    def _steps(
        self,
        parts_of: Sequence[Sequence[Series]],
        intervals: Sequence[int | None],
        merged: DeduplicatedSeries,
    ) -> Integers:
        """The step of each sample; samples that are taken together share the work."""
        is_same = merged.repeats()
        is_same[1:] &= np.array([a == b for a, b in pairwise(intervals)], bool)
        begin = np.flatnonzero(~is_same)
        several = np.diff(begin, append=len(parts_of)).tolist()
        found: list[Integers] = []
        for n, count in zip(begin.tolist(), several, strict=True):
            own = self._own_steps(merged.of(n)[0], intervals[n])
            if own is None:
                return _steps_of_nodes(parts_of, intervals, merged)
            found.append(np.tile(own, count))
        return joined_arrays(found)

    def _own_steps(self, at: Times, interval_ms: int | None) -> Integers | None:
        """The own step of samples at the given times, cached for other metrics."""
        key = (interval_ms, at.tobytes())
        if key not in self.own_steps:
            self.own_steps[key] = own_steps_at(at, interval_ms)
        return self.own_steps[key]


def _merged(
    parts_of: Sequence[Sequence[Series]],
) -> tuple[DeduplicatedSeries, Integers]:
    """The samples that count of each GPU or instance, and the run of each sample."""
    tracks = [_tracks_of(parts) for parts in parts_of]
    found = distinct(list(chain.from_iterable(tracks)), _names_workload)
    if all(len(one) == 1 for one in tracks):
        return found, np.zeros_like(found.times)
    number = 0
    merged: list[tuple[Times, Values, Integers]] = []
    for one in tracks:
        merged.append(_chosen([found.of(n) for n in range(number, number + len(one))]))
        number += len(one)
    first = np.zeros(len(parts_of) + 1, np.int64)
    np.cumsum([len(times) for times, _, _ in merged], out=first[1:])
    times, values, runs = (
        np.concatenate(column) for column in zip(*merged, strict=True)
    )
    return DeduplicatedSeries(first, times, values), runs


def _tracks_of(series: Sequence[Series]) -> list[Sequence[Series]]:
    """The series of one GPU or instance by scraper series, in order of scrapers."""
    if len(series) < 2 or len({(one.scraper, one.name) for one in series}) == 1:
        return [series]
    tracks: dict[_TrackName, list[Series]] = defaultdict(list)
    for one in series:
        tracks[one.scraper, one.name].append(one)
    return [tracks[name] for name in sorted(tracks)]


def _names_workload(part: Series) -> bool:
    gpu = part.gpu
    return gpu is not None and (gpu.exported is not None or gpu.plain is not None)


def _chosen(
    tracks: Sequence[tuple[Times, Values]],
) -> tuple[Times, Values, Integers]:
    """In each window the samples of the scraper series with most of them; ties go to the first."""
    if len(tracks) == 1:
        return *tracks[0], np.zeros(len(tracks[0][0]), np.int64)
    times = np.concatenate([track[0] for track in tracks])
    values = np.concatenate([track[1] for track in tracks])
    runs = np.repeat(np.arange(len(tracks)), [len(track[0]) for track in tracks])
    windows, window = np.unique(times // WINDOW_MS, return_inverse=True)
    counts = np.zeros((len(tracks), len(windows)), np.int64)
    np.add.at(counts, (runs, window), 1)
    kept = counts.argmax(axis=0)[window] == runs
    order = np.argsort(times[kept], kind="stable")
    return times[kept][order], values[kept][order], runs[kept][order]


def _steps_of_nodes(
    parts_of: Sequence[Sequence[Series]],
    intervals: Sequence[int | None],
    merged: DeduplicatedSeries,
) -> Integers:
    """The step of each sample; a scraper series with few samples uses the node's others (N4)."""
    by_node: dict[str, list[ScrapeSteps]] = defaultdict(list)
    chosen: list[tuple[ScrapeSteps, Times]] = []
    for n, parts in enumerate(parts_of):
        gpu = parts[0].gpu if parts else None
        if gpu is None:
            continue
        at = merged.of(n)[0]
        steps = ScrapeSteps(at.tolist(), intervals[n], by_node[gpu.node])
        by_node[gpu.node].append(steps)
        chosen.append((steps, at))
    return joined_arrays([steps_at(steps, at) for steps, at in chosen if len(at)])
