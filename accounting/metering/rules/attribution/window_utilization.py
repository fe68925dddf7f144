"""The utilization of many GPUs in many windows, as arrays: which metric counts, and its values.

The array form of `utilization.window_utilization`, for GPUs with one scraper series for each
metric (rules.md N4-N7, N21).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from accounting.core.arrays import Integers, Keys
from accounting.core.interval import Interval
from accounting.metering.rules.attribution.utilization import (
    ENGINE,
    METRIC_CODE,
    SUSPECT_SAMPLES,
    UTIL,
    GpuUtilization,
    is_suspect,
)
from accounting.metering.rules.samples.sample_coverage import (
    SampleCoverage,
    series_coverage,
)
from accounting.metering.rules.samples.scraper_series import (
    DEFAULT_STEP_MS,
    ScraperSeries,
)


class PlacedGpu(NamedTuple):
    """A GPU on a node, its utilization, and the instants at which its holders change."""

    node: str
    uuid: str
    utilization: GpuUtilization
    changes: Sequence[int]


def is_plain(utilization: GpuUtilization) -> bool:
    """True if a GPU has at most one scraper series for each metric."""
    tracks = utilization.tracks
    return len(tracks[ENGINE]) < 2 and len(tracks[UTIL]) < 2


@dataclass(frozen=True, slots=True)
class UtilizationTable:
    """By (GPU, window): the metric that counts (0: none; N7), its samples and step."""

    coverages: tuple[SampleCoverage, SampleCoverage]  # engine, util
    metric: Integers
    samples: Integers
    is_silent: NDArray[np.bool_]
    step_ms: Integers
    default_ms: int = DEFAULT_STEP_MS

    @classmethod
    def of(
        cls, windows: Sequence[Interval], gpus: Sequence[PlacedGpu]
    ) -> "UtilizationTable":
        """The table of GPUs (or parts) with one scraper series for each metric."""
        axis = Keys(windows[0].start_ms)
        changes = [gpu.changes for gpu in gpus]
        tracks: dict[str, list[ScraperSeries | None]] = {
            name: [
                found[0]
                if (found := gpu.utilization.tracks[name])
                and (name == ENGINE or gpu.utilization.has_util)
                else None
                for gpu in gpus
            ]
            for name in (ENGINE, UTIL)
        }
        engine, util = (
            series_coverage(axis, found, changes) for found in tracks.values()
        )
        counts, shown, covered = [], [], []
        for coverage in (engine, util):
            ends = _window_ends(coverage, windows, len(gpus))
            counts.append(ends[0])
            shown.append(ends[1])
            covered.append(ends[2] > 0)
        some = (counts[0] > 0) | (counts[1] > 0)
        metric = np.where(some, np.where(2 * counts[0] >= counts[1], 1, 2), 0)
        metric[~some & covered[1]] = METRIC_CODE[UTIL]
        metric[~some & covered[0]] = METRIC_CODE[ENGINE]
        samples = np.choose(metric, [np.zeros_like(metric), *counts])
        silent = np.choose(metric, [np.ones_like(metric), *shown]) == 0
        steps = np.full(metric.shape, DEFAULT_STEP_MS)
        for code, every in enumerate(tracks.values(), start=1):
            those = np.flatnonzero((metric == code).any(axis=1))
            if len(those):
                own = _steps([every[n] for n in those.tolist()], windows)
                steps[those] = np.where(metric[those] == code, own, steps[those])
        return cls((engine, util), metric, samples, silent, steps)

    def doubtful(
        self, windows: Sequence[Interval], gpus: Sequence[PlacedGpu]
    ) -> frozenset[int]:
        """GPUs with a window in which other metrics contradict their zeros."""
        found: set[int] = set()
        asked = self.is_silent & (self.samples >= SUSPECT_SAMPLES)
        for n, w in zip(*(part.tolist() for part in np.nonzero(asked)), strict=True):
            utilization = gpus[n].utilization
            if n not in found and (utilization.tracks[UTIL] or utilization.power):
                name = ENGINE if self.metric[n, w] == METRIC_CODE[ENGINE] else UTIL
                if is_suspect(utilization, utilization.tracks[name][0], windows[w]):
                    found.add(n)
        return frozenset(found)


def _steps(
    tracks: Sequence[ScraperSeries | None], windows: Sequence[Interval]
) -> Integers:
    """The step of each scraper series in each window; many series share one."""
    row: dict[int, int] = {}
    table: list[list[int]] = []
    rows: list[int] = []
    for track in tracks:
        assert track is not None  # noqa: S101  # a metric that counts has a track
        steps = track.steps
        if id(steps) not in row:
            row[id(steps)] = len(table)
            table.append([steps.at(window.start_ms) for window in windows])
        rows.append(row[id(steps)])
    found: Integers = np.array(table, np.int64)[rows]
    return found


def _window_ends(
    coverage: SampleCoverage, windows: Sequence[Interval], gpus: int
) -> tuple[Integers, Integers, Integers]:
    """Samples, samples that are not zero and covered time, by (GPU, window)."""
    numbers = np.repeat(np.arange(gpus), len(windows))
    start = np.tile(np.array([w.start_ms for w in windows], np.int64), gpus)
    end = np.tile(np.array([w.end_ms for w in windows], np.int64), gpus)
    low, high = coverage.count(numbers, start), coverage.count(numbers, end)
    covered = coverage.upto(numbers, end)[0] - coverage.upto(numbers, start)[0]
    shape = (gpus, len(windows))
    shown = coverage.shown[high] - coverage.shown[low]
    return (
        (high - low).reshape(shape),
        shown.reshape(shape),
        covered.reshape(shape),
    )


def measured(
    parts: "np.ndarray", utilization: UtilizationTable
) -> tuple[Integers, Integers, Integers]:
    """Covered time, activity and samples of each part, by the metric that counts.

    Args:
        parts: with `part`, `window`, `start` and `end`.
        utilization: of those parts (GPUs or instances) and windows.
    """
    metric = utilization.metric[parts["part"], parts["window"]]
    covered, active, samples = (np.zeros(len(parts), np.int64) for _ in range(3))
    for code, coverage in enumerate(utilization.coverages, start=1):
        chosen = np.flatnonzero(metric == code)
        part = parts[chosen]
        before = coverage.upto(part["part"], part["start"])
        after = coverage.upto(part["part"], part["end"])
        covered[chosen], active[chosen] = after[0] - before[0], after[1] - before[1]
        samples[chosen] = coverage.count(part["part"], part["end"]) - coverage.count(
            part["part"], part["start"]
        )
    return covered, active, samples
