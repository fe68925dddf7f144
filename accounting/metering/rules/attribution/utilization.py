"""The utilization of every GPU: its scraper series, and which of them counts (N3, N7, N8, N21)."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from accounting.core.interval import Interval
from accounting.core.issue import Issue
from accounting.metering.rules.attribution.per_pod_values import PodValues, pod_values
from accounting.metering.rules.inventory.labels import Ownership
from accounting.metering.rules.samples.deduplicate import distinct
from accounting.metering.rules.samples.metric_scales import on_their_scale
from accounting.metering.rules.samples.scraper_series import (
    BILLION,
    ScraperSeries,
    ScrapeSteps,
    ValidInterval,
    believed,
    fill,
)
from accounting.metering.rules.samples.series import (
    Reading,
    ScraperIdentity,
    Series,
    Times,
    Values,
)
from accounting.metering.rules.samples.value_checks import (
    differing_samples,
    out_of_range,
)
from accounting.metering.rules.units.geometry import GpuPart, part_in
from accounting.metering.rules.units.gpu_units import is_partition

ENGINE, UTIL = "engine_active", "gpu_util"
POWERS = ("power_watts", "power_limit_watts")
METRIC_CODE = {ENGINE: 1, UTIL: 2}  # the two metrics of N7
SUSPECT_SAMPLES = 5  # N21
SUSPECT_UTIL = BILLION // 5  # N21: mean of GPU_UTIL of 0.2 or more


@dataclass(slots=True)
class GpuUtilization:
    """All scraper series of one GPU, by metric, and its power if that is scraped."""

    tracks: dict[str, list[ScraperSeries]] = field(
        default_factory=lambda: {ENGINE: [], UTIL: []}
    )
    power: list[Series] = field(default_factory=list)
    power_limit: list[Series] = field(default_factory=list)
    by_pod: dict[ScraperIdentity, PodValues] = field(default_factory=dict)
    has_util: bool = True  # False on a MIG instance, which has no utilization (N7)


@dataclass(frozen=True, slots=True)
class WindowUtilization:
    """The utilization of one GPU in one window.

    Attributes:
        pieces: the periods in which samples are valid, ascending and disjoint.
        metric: code of the metric that counts; 0 if none does.
        sample_times: of the scraper series that counts, in the window.
        step_ms: of the scraper series that counts; 0 without one.
        is_suspect: other metrics contradict its zeros (N21).
        by_pod: per-pod values, by scraper (N22).
    """

    pieces: tuple[ValidInterval, ...] = ()
    metric: int = 0
    sample_times: tuple[int, ...] = ()
    step_ms: int = 0
    is_suspect: bool = False
    by_pod: Mapping[ScraperIdentity, PodValues] = field(default_factory=dict)


def gpu_utilizations(
    readings: Sequence[Reading], period: Interval, whose: Ownership
) -> tuple[dict[GpuPart, GpuUtilization], list[Issue]]:
    """Scraper series by GPU or instance from all readings; values that are not valid as issues.

    Args:
        readings: of all sources.
        period: the windows.
        whose: which labels name the exporter's own pod, and what scales its values showed.
    """
    parts: dict[_TrackKey, list[Series]] = defaultdict(list)
    nodes: dict[_TrackKey, _Place] = {}
    utilizations: dict[GpuPart, GpuUtilization] = defaultdict(GpuUtilization)
    issues: list[Issue] = []
    for reading in readings:
        of_utilization = [one for one in reading.series if one.metric in METRIC_CODE]
        declared = reading.declared
        for series in on_their_scale(
            of_utilization, declared, period, issues, whose.scales
        ):
            gpu = series.gpu
            if gpu is None:
                continue
            part = part_in(gpu) if gpu.instance else GpuPart(gpu.uuid)
            key = (part, series.metric, series.scraper)
            parts[key].append(series)
            nodes[key] = (gpu.node, reading.interval_ms)
        _add_power(reading, utilizations)
    issues.extend(_build_tracks(parts, nodes, utilizations, period, whose))
    return dict(utilizations), issues


def _add_power(reading: Reading, utilizations: dict[GpuPart, GpuUtilization]) -> None:
    """Power of whole cards; exporters repeat it for each instance."""
    for series in [one for one in reading.series if one.metric in POWERS]:
        if series.gpu is None:
            continue
        if series.gpu.instance and part_in(series.gpu).instance >= 0:
            continue
        utilization = utilizations[GpuPart(series.gpu.uuid)]
        is_draw = series.metric == POWERS[0]
        (utilization.power if is_draw else utilization.power_limit).append(series)


_TrackKey = tuple[GpuPart, str, ScraperIdentity]  # part, metric, scraper
_Place = tuple[str, int | None]  # node, declared interval


def _build_tracks(
    parts: Mapping[_TrackKey, Sequence[Series]],
    nodes: Mapping[_TrackKey, _Place],
    utilizations: dict[GpuPart, GpuUtilization],
    period: Interval,
    whose: Ownership,
) -> list[Issue]:
    """Put the scraper series of all series into `utilizations`, in order of their scrapers."""
    keys = sorted(parts)
    tracks = [parts[key] for key in keys]
    issues: list[Issue] = []

    def cleaned(values: Values) -> Values:
        every = [series for track in tracks for series in track]
        issues.extend(out_of_range(every, values, period))
        return believed(values)

    merged = distinct(tracks, whose.names_workload, cleaned)
    amounts = np.rint(merged.values * BILLION).astype(np.int64)
    steps = _StepsOfNodes()
    ends, repeats = merged.first.tolist(), merged.repeats().tolist()
    for n, key in enumerate(keys):
        part, metric, scraper = key
        low, high = ends[n], ends[n + 1]
        times = merged.times[low:high]
        step = steps.of(nodes[key], metric, times, is_repeated=repeats[n])
        found = utilizations[part]
        found.tracks[metric].append(
            ScraperSeries(scraper, times, amounts[low:high], step)
        )
        found.has_util = part.instance < 0 or is_partition(part.kind)
        if metric == UTIL and len(tracks[n]) > 1:
            values = pod_values(tracks[n], whose)
            if values is not None:
                found.by_pod[scraper] = values
    for n, times in merged.differing.items():
        found_at = merged.of(n)[0]
        issues.extend(differing_samples(keys[n][0].uuid, found_at, times, period))
    return issues


@dataclass(slots=True)
class _StepsOfNodes:
    """The steps of scraper series: the GPUs of an exporter are sampled together and share them."""

    others: dict[tuple[str, str], list[ScrapeSteps]] = field(
        default_factory=lambda: defaultdict(list)
    )
    known: dict[tuple[_Place, str], ScrapeSteps] = field(default_factory=dict)

    def of(
        self, place: _Place, metric: str, times: Times, *, is_repeated: bool
    ) -> ScrapeSteps:
        if not is_repeated:
            self.known.clear()
        others = self.others[place[0], metric]
        steps = self.known.get((place, metric))
        if steps is None:
            steps = ScrapeSteps(times.tolist(), place[1], others)
            self.known[place, metric] = steps
        others.append(steps)
        return steps


def window_utilization(
    utilization: GpuUtilization, window: Interval, changes: Sequence[int]
) -> WindowUtilization:
    """Which metric and scraper series count in a window, and where they are valid (N3, N5-N7)."""
    metric = _choose(utilization, window, changes)
    if metric is None:
        return WindowUtilization()
    ordered = sorted(
        utilization.tracks[metric],
        key=lambda track: (-track.count(window), track.scraper),
    )
    pieces: list[ValidInterval] = []
    for track in ordered:
        pieces = fill(pieces, track.valid(window, changes))
    first = ordered[0]
    times = tuple(first.times[_in(window, first)].tolist())
    return WindowUtilization(
        pieces=tuple(pieces),
        metric=METRIC_CODE[metric],
        sample_times=times,
        step_ms=first.steps.at(window.start_ms),
        is_suspect=is_suspect(utilization, first, window),
        by_pod=utilization.by_pod,
    )


def _in(window: Interval, track: ScraperSeries) -> slice:
    """The index range of a scraper series' samples in a window."""
    low, high = np.searchsorted(track.times, [window.start_ms, window.end_ms])
    return slice(int(low), int(high))


def _choose(
    utilization: GpuUtilization, window: Interval, changes: Sequence[int]
) -> str | None:
    engine = sum(t.count(window) for t in utilization.tracks[ENGINE])
    utils = utilization.tracks[UTIL] if utilization.has_util else []
    util = sum(t.count(window) for t in utils)
    if engine or util:
        return ENGINE if 2 * engine >= util else UTIL
    for metric, tracks in ((ENGINE, utilization.tracks[ENGINE]), (UTIL, utils)):
        if any(track.valid(window, changes) for track in tracks):
            return metric
    return None


def is_suspect(
    utilization: GpuUtilization, chosen: ScraperSeries, window: Interval
) -> bool:
    """True for zeros that other metrics contradict (N21).

    The mean of `GPU_UTIL` is over the samples of all scrapers, also on a MIG instance, which has no
    power measurement.
    """
    values = chosen.utilization[_in(window, chosen)]
    if len(values) < SUSPECT_SAMPLES or values.any():
        return False
    parts = [
        track.utilization[_in(window, track)] for track in utilization.tracks[UTIL]
    ]
    count = sum(map(len, parts))
    if count and sum(int(part.sum()) for part in parts) >= SUSPECT_UTIL * count:
        return True
    power, limit = (
        _mean(utilization.power, window),
        _mean(utilization.power_limit, window),
    )
    return power is not None and limit is not None and power > limit / 2


def _mean(parts: Sequence[Series], window: Interval) -> float | None:
    values = []
    for part in parts:
        low, high = np.searchsorted(part.times_ms, [window.start_ms, window.end_ms])
        values.extend(part.values[int(low) : int(high)].tolist())
    good = [value for value in values if not math.isnan(value)]
    return sum(good) / len(good) if good else None
