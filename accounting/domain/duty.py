"""The duty of every GPU: its tracks, and which of them counts in a window (N3, N7, N8, N21)."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from accounting.domain.distinct import distinct
from accounting.domain.geometry import Part, part_in
from accounting.domain.issue import Issue
from accounting.domain.label import Ownership
from accounting.domain.period import WINDOW_MS, Period
from accounting.domain.pod_value import PodValues, pod_values
from accounting.domain.series import Reading, Scraper, Series, Times
from accounting.domain.track import (
    BILLION,
    DEFAULT_STEP_MS,
    MAX_DUTY,
    Steps,
    Track,
    Valid,
    believed,
    fill,
    lower_median_gap,
)
from accounting.domain.unit import is_partition

ENGINE, UTIL = "duty_engine", "duty_util"
POWERS = ("power_watts", "power_limit_watts")
METRIC_CODE = {ENGINE: 1, UTIL: 2}  # the rungs of N7
SUSPECT_SAMPLES = 5  # N21
SUSPECT_UTIL = BILLION // 5  # N21: mean of GPU_UTIL of 0.2 or more


@dataclass(slots=True)
class GpuDuty:
    """All tracks of one GPU, by metric, and its power where that is scraped."""

    tracks: dict[str, list[Track]] = field(
        default_factory=lambda: {ENGINE: [], UTIL: []}
    )
    power: list[Series] = field(default_factory=list)
    power_limit: list[Series] = field(default_factory=list)
    by_pod: dict[Scraper, PodValues] = field(default_factory=dict)
    has_util: bool = True  # False on a MIG instance, which has no utilisation (N7)


@dataclass(frozen=True, slots=True)
class WindowDuty:
    """What is known of one GPU in one window.

    Attributes:
        pieces: where samples speak, in order and disjoint.
        metric: code of the metric that counts; 0 where there is none.
        sample_times: of the counting track, in the window.
        step_ms: of the counting track; 0 without one.
        is_suspect: its zeros are not believed (N21).
        by_pod: per-pod values, by scraper (N22).
    """

    pieces: tuple[Valid, ...] = ()
    metric: int = 0
    sample_times: tuple[int, ...] = ()
    step_ms: int = 0
    is_suspect: bool = False
    by_pod: Mapping[Scraper, PodValues] = field(default_factory=dict)


def gpu_duties(
    readings: Sequence[Reading], period: Period, whose: Ownership
) -> tuple[dict[Part, GpuDuty], list[Issue]]:
    """Tracks by GPU or instance from all readings; faults of values as issues.

    Args:
        readings: of all sources.
        period: the windows.
        whose: which labels are an exporter's own.
    """
    parts: dict[_TrackKey, list[Series]] = defaultdict(list)
    nodes: dict[_TrackKey, _Place] = {}
    duties: dict[Part, GpuDuty] = defaultdict(GpuDuty)
    issues: list[Issue] = []
    for reading in readings:
        rejected = _wrong_scales(reading, period, issues)
        for series in reading.series:
            gpu = series.gpu
            if gpu is None:
                continue
            if series.metric in (ENGINE, UTIL):
                part = part_in(gpu) if gpu.instance else Part(gpu.uuid)
                key = (part, series.metric, series.scraper)
                parts[key].append(
                    _without(series, rejected.get(series.name, ()))
                    if rejected
                    else series
                )
                nodes[key] = (gpu.node, reading.interval_ms)
            elif series.metric not in POWERS:
                continue
            elif gpu.instance and part_in(gpu).instance >= 0:
                continue  # power is the whole card's, repeated for each instance
            elif series.metric == POWERS[0]:
                duties[Part(gpu.uuid)].power.append(series)
            else:
                duties[Part(gpu.uuid)].power_limit.append(series)
    issues.extend(_out_of_range(list(chain.from_iterable(parts.values())), period))
    issues.extend(_build_tracks(parts, nodes, duties, period, whose))
    return dict(duties), issues


_TrackKey = tuple[Part, str, Scraper]  # part, metric, scraper
_Place = tuple[str, int | None]  # node, declared interval


def _build_tracks(
    parts: Mapping[_TrackKey, Sequence[Series]],
    nodes: Mapping[_TrackKey, _Place],
    duties: dict[Part, GpuDuty],
    period: Period,
    whose: Ownership,
) -> list[Issue]:
    """Put the tracks of all series into `duties`, in order of their scrapers."""
    keys = sorted(parts)
    told = distinct([parts[key] for key in keys], whose.names_workload, believed)
    amounts = np.rint(told.values * BILLION).astype(np.int64)
    steps = _StepsOfNodes()
    for n, key in enumerate(keys):
        part, metric, scraper = key
        low, high = int(told.first[n]), int(told.first[n + 1])
        times = told.times[low:high]
        step = steps.of(nodes[key], metric, times)
        found = duties[part]
        found.tracks[metric].append(Track(scraper, times, amounts[low:high], step))
        found.has_util = part.instance < 0 or is_partition(part.kind)
        if metric == UTIL and len(parts[key]) > 1:
            values = pod_values(parts[key], whose)
            if values is not None:
                found.by_pod[scraper] = values
    return [
        issue
        for n, times in told.differing.items()
        for issue in _differing(keys[n][0].uuid, told.of(n)[0], times, period)
    ]


@dataclass(slots=True)
class _StepsOfNodes:
    """The steps of tracks: the GPUs of an exporter are sampled together and share them."""

    others: dict[tuple[str, str], list[Steps]] = field(
        default_factory=lambda: defaultdict(list)
    )
    known: dict[tuple[_Place, str, bytes], Steps] = field(default_factory=dict)

    def of(self, place: _Place, metric: str, times: Times) -> Steps:
        node, interval = place
        key = (place, metric, times.tobytes())
        others = self.others[node, metric]
        if key not in self.known:
            self.known[key] = Steps(times.tolist(), interval, others)
        others.append(self.known[key])
        return self.known[key]


def window_duty(duty: GpuDuty, window: Period, changes: Sequence[int]) -> WindowDuty:
    """Which metric and track count in a window, and where they speak (N3, N5-N7)."""
    metric = _choose(duty, window, changes)
    if metric is None:
        return WindowDuty()
    ordered = sorted(
        duty.tracks[metric], key=lambda track: (-track.count(window), track.scraper)
    )
    pieces: list[Valid] = []
    for track in ordered:
        pieces = fill(pieces, track.valid(window, changes))
    first = ordered[0]
    times = tuple(first.times[_in(window, first)].tolist())
    return WindowDuty(
        pieces=tuple(pieces),
        metric=METRIC_CODE[metric],
        sample_times=times,
        step_ms=first.steps.at(window.start_ms),
        is_suspect=is_suspect(duty, first, window),
        by_pod=duty.by_pod,
    )


def _in(window: Period, track: Track) -> slice:
    """Where a track's samples of a window are."""
    low, high = np.searchsorted(track.times, [window.start_ms, window.end_ms])
    return slice(int(low), int(high))


def _choose(duty: GpuDuty, window: Period, changes: Sequence[int]) -> str | None:
    engine = sum(t.count(window) for t in duty.tracks[ENGINE])
    utils = duty.tracks[UTIL] if duty.has_util else []
    util = sum(t.count(window) for t in utils)
    if engine or util:
        return ENGINE if 2 * engine >= util else UTIL
    for metric, tracks in ((ENGINE, duty.tracks[ENGINE]), (UTIL, utils)):
        if any(track.valid(window, changes) for track in tracks):
            return metric
    return None


def is_suspect(duty: GpuDuty, chosen: Track, window: Period) -> bool:
    """Zeros that other metrics contradict (N21)."""
    values = chosen.duty[_in(window, chosen)]
    if len(values) < SUSPECT_SAMPLES or values.any():
        return False
    for track in duty.tracks[UTIL]:
        seen = track.duty[_in(window, track)]
        if len(seen) and int(seen.sum()) >= SUSPECT_UTIL * len(seen):
            return True
    power, limit = _mean(duty.power, window), _mean(duty.power_limit, window)
    return power is not None and limit is not None and power > limit / 2


def _mean(parts: Sequence[Series], window: Period) -> float | None:
    values = []
    for part in parts:
        low, high = np.searchsorted(part.times_ms, [window.start_ms, window.end_ms])
        values.extend(part.values[int(low) : int(high)].tolist())
    good = [value for value in values if not math.isnan(value)]
    return sum(good) / len(good) if good else None


def _wrong_scales(
    reading: Reading, period: Period, issues: list[Issue]
) -> dict[str, list[Period]]:
    """Windows in which a `_RATIO` name plainly carries percent (N8)."""
    high: dict[str, Counter[int]] = defaultdict(Counter)  # samples by window
    gpus: dict[str, Counter[int]] = defaultdict(Counter)
    for series in reading.series:
        if series.metric in (ENGINE, UTIL) and series.name.endswith("_RATIO"):
            wrong = (series.values > MAX_DUTY) & (series.values <= 100)
            if wrong.any():
                times = series.times_ms[wrong]
                starts = (times - times % WINDOW_MS).tolist()
                high[series.name].update(starts)
                gpus[series.name].update(set(starts))
    rejected: dict[str, list[Period]] = {}
    for name, counts in high.items():
        bad = sorted(start for start, count in counts.items() if count >= 3)
        rejected[name] = [Period(s, s + WINDOW_MS) for s in bad]
        inside = [s for s in bad if period.contains(s)]
        if inside:
            issues.append(
                Issue(
                    code="duty_scale",
                    subject=name,
                    message=f"{name} carries values above 1: percent under a ratio's name.",
                    advice=f"Declare `scales: {{{name}: percent}}` for this source.",
                    first_ms=inside[0],
                    last_ms=inside[-1] + WINDOW_MS,
                    at_stake_ms=sum(gpus[name][s] for s in inside) * WINDOW_MS,
                    severity="error",
                )
            )
    return rejected


def _without(series: Series, periods: Sequence[Period]) -> Series:
    if not periods:
        return series
    values = series.values.copy()
    for period in periods:
        low, high = np.searchsorted(series.times_ms, [period.start_ms, period.end_ms])
        values[int(low) : int(high)] = np.nan
    return Series(
        series.metric,
        series.name,
        series.scraper,
        series.times_ms,
        values,
        series.labels,
        series.gpu,
    )


def _out_of_range(every: Sequence[Series], period: Period) -> list[Issue]:
    """Duty that is no share, one issue for each series."""
    if not every:
        return []
    values = np.concatenate([series.values for series in every])
    with np.errstate(invalid="ignore"):
        odd = np.flatnonzero((values > 1) | (values < 0))
    if not len(odd):
        return []
    ends = np.cumsum([len(series.values) for series in every])
    those = np.unique(np.searchsorted(ends, odd, "right")).tolist()
    return [issue for n in those for issue in _out_of_range_of(every[n], period)]


def _out_of_range_of(series: Series, period: Period) -> list[Issue]:
    with np.errstate(invalid="ignore"):
        odd = (series.values > 1) | (series.values < 0)
    inside = (series.times_ms >= period.start_ms) & (series.times_ms < period.end_ms)
    times = series.times_ms[odd & inside]
    if not len(times) or series.gpu is None:
        return []
    with np.errstate(invalid="ignore"):
        lost = odd & inside & ((series.values > MAX_DUTY) | (series.values < 0))
    step_ms = lower_median_gap(series.times_ms.tolist(), period) or DEFAULT_STEP_MS
    return [
        Issue(
            code="duty_out_of_range",
            subject=f"{series.gpu.uuid} {series.name}",
            message="Duty outside 0 to 1: up to 1.1 it counts as 1, else as no data.",
            first_ms=int(times[0]),
            last_ms=int(times[-1]),
            at_stake_ms=int(np.count_nonzero(lost)) * step_ms,
            severity="info",
        )
    ]


def _differing(
    uuid: str, every: Times, differing: Times, period: Period
) -> list[Issue]:
    inside = differing[(differing >= period.start_ms) & (differing < period.end_ms)]
    if not len(inside):
        return []  # of the windows before
    count = len(inside)
    step_ms = lower_median_gap(every.tolist(), period) or DEFAULT_STEP_MS
    return [
        Issue(
            code="samples_differ",
            subject=uuid,
            message=f"{count} samples of one series differ at one time; the smaller counts.",
            first_ms=int(inside[0]),
            last_ms=int(inside[-1]),
            at_stake_ms=count * step_ms,
        )
    ]
