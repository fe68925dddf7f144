"""GPU activity, which is never called busy (docs/decisions/0010).

SM, tensor and DRAM activity, memory, power, energy, temperature, NVLink and throttled clocks
of every line of a window, over the time that was observed. Activity and memory belong to an
instance, the other measures to the whole GPU: they are counted once and divided over the GPU's
lines in proportion to held time x share; the part of unallocated time is the platform's
(rules.md "Energy"). Sums are exact integers, so that a window does not depend on how its time was
cut; a share is applied to them once.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from accounting.core.arrays import Integers, Keys
from accounting.core.interval import Interval
from accounting.core.issue import Issue
from accounting.metering.rules.intensity.checks import (
    ENERGY,
    MEMORY,
    NVLINK,
    POWER,
    RATIOS,
    TEMPERATURE,
    THROTTLE,
    checked,
    energy_issues,
)
from accounting.metering.rules.intensity.measures import (
    ENERGY_RESET,
    NOTHING,
    WHOLE,
    IntensityTable,
    zeros,
)
from accounting.metering.rules.intensity.stretches import CutIntervals, GpuInterval
from accounting.metering.rules.intensity.totals import rows_of
from accounting.metering.rules.samples.counters import Energy
from accounting.metering.rules.samples.gauges import GaugeSeries
from accounting.metering.rules.samples.metric_scales import on_their_scale
from accounting.metering.rules.samples.sample_coverage import SampleCoverage
from accounting.metering.rules.samples.series import Reading

MILLION = 1_000_000
MEBIBYTE = 1 << 20
OF_PART = frozenset({*RATIOS, MEMORY})
OF_GPU = frozenset({POWER, TEMPERATURE, NVLINK, THROTTLE, ENERGY})
THROTTLING = (
    0xEC  # power cap, slowdowns, brake; not idle, set clocks, sync boost, display
)
Changes = Mapping[tuple[str, str, int], Sequence[int]]  # of (node, uuid, instance)


def intensities(
    windows: Sequence[Interval],
    readings: Sequence[Reading],
    stretches: Sequence[GpuInterval],
    changes: Changes,
) -> tuple[list[IntensityTable], list[Issue]]:
    """The GPU activity of adjoining windows.

    Args:
        windows: adjoining and ascending.
        readings: with samples from 30 min before the first to 10 min after the last window.
        stretches: of every GPU's presence, disjoint for each GPU and node.
        changes: instants at which the holders of a GPU or instance change, ascending.

    Returns:
        A table for each window, and issues of values.
    """
    whole = Interval(windows[0].start_ms, windows[-1].end_ms)
    issues: list[Issue] = []
    on_scale = [_on_their_scale(reading, whole, issues) for reading in readings]
    found = GaugeSeries.of(on_scale, OF_PART, OF_GPU)
    if not found.series or not stretches:
        return [NOTHING for _ in windows], []
    work = CutIntervals.of(windows, stretches)
    axis = Keys(windows[0].start_ms)
    held = zeros(len(work.held))
    total = zeros(len(work.cut))
    _measure_parts(work, held, found, changes, axis, whole, issues)
    _measure_gpus(work, total, found, changes, axis, whole, issues)
    rows = rows_of(work, held, total)
    cuts = np.searchsorted(rows["window"], np.arange(len(windows) + 1))
    tables = [
        IntensityTable(work.gpus, work.uids, rows[cuts[n] : cuts[n + 1]])
        for n in range(len(windows))
    ]
    return tables, issues


def _on_their_scale(reading: Reading, whole: Interval, issues: list[Issue]) -> Reading:
    """A reading without the activity under names that show percent in place of ratios (N8)."""
    ratios = [one for one in reading.series if one.metric in RATIOS]
    if not ratios:
        return reading
    others = [one for one in reading.series if one.metric not in RATIOS]
    shown = on_their_scale(ratios, reading.declared, whole, issues)
    return replace(reading, series=(*others, *shown))


def _measure_parts(  # noqa: PLR0913, PLR0917  # what is known, and where it goes
    work: CutIntervals,
    into: "np.ndarray",
    found: GaugeSeries,
    changes: Changes,
    axis: Keys,
    whole: Interval,
    issues: list[Issue],
) -> None:
    """Activity and memory of each held part."""
    names = [(work.gpus[gpu][1], instance) for gpu, instance in work.parts]
    cuts = [
        changes.get((*work.gpus[gpu], int(instance or WHOLE)), ())
        for gpu, instance in work.parts
    ]
    rows = work.cut[work.held["cut"]]
    start, end, part = rows["start"], rows["end"], work.held["part"]
    for metric in RATIOS:
        if metric not in found.series:
            continue
        samples = checked(metric, names, found, whole, issues)
        amounts = np.rint(np.minimum(samples.values, 1.0) * MILLION).astype(np.int64)
        covered = samples.coverage(axis, amounts, cuts)
        short = metric.removesuffix("_active")
        into[f"{short}_seen_us"], into[f"{short}_active_us"] = _over(
            covered, part, start, end
        )
    if MEMORY in found.series:
        samples = checked(MEMORY, names, found, whole, issues)
        amounts = np.rint(samples.values / MEBIBYTE).astype(np.int64)
        covered = samples.coverage(axis, amounts, cuts)
        into["memory_seen_us"], into["memory_mib_ms"] = _over(covered, part, start, end)
        peaks = np.rint(samples.values).astype(np.int64)
        into["memory_peak_bytes"] = _peak(covered, peaks, part, start, end)


def _measure_gpus(  # noqa: PLR0913, PLR0917  # what is known, and where it goes
    work: CutIntervals,
    into: "np.ndarray",
    found: GaugeSeries,
    changes: Changes,
    axis: Keys,
    whole: Interval,
    issues: list[Issue],
) -> None:
    """Measures of a whole GPU, over each cut interval of it."""
    names = [(uuid, "") for _, uuid in work.gpus]
    of_gpu: dict[tuple[str, str], set[int]] = defaultdict(set)
    for (node, uuid, _), at in changes.items():
        of_gpu[node, uuid].update(at)
    cuts = [sorted(of_gpu.get(gpu_name, ())) for gpu_name in work.gpus]
    gpu, start, end = work.cut["gpu"], work.cut["start"], work.cut["end"]
    gauges = {
        POWER: ("power_seen_us", "power_mj", 1000),  # milliwatts
        NVLINK: ("nvlink_seen_us", "nvlink_kb", 0.001),  # kilobytes a second
        THROTTLE: ("throttle_seen_us", "throttled_ms", 1),
    }
    for metric, (seen, amount, scale) in gauges.items():
        if metric in found.series:
            samples = checked(metric, names, found, whole, issues)
            values = samples.values
            if metric == THROTTLE:
                values = (values.astype(np.int64) & THROTTLING > 0).astype(float)
            amounts = np.rint(values * scale).astype(np.int64)
            covered = samples.coverage(axis, amounts, cuts)
            into[seen], into[amount] = _over(covered, gpu, start, end)
    if TEMPERATURE in found.series:
        samples = checked(TEMPERATURE, names, found, whole, issues)
        degrees = np.rint(samples.values).astype(np.int64)
        covered = samples.coverage(axis, degrees, cuts)
        into["temperature_seen_us"], _ = _over(covered, gpu, start, end)
        into["temperature_peak_c"] = _peak(covered, degrees, gpu, start, end)
    if ENERGY in found.series:
        energy = Energy.of(axis, found.samples(ENERGY, names))
        spent, known = energy.upto(gpu, end)
        spent_before, known_before = energy.upto(gpu, start)
        into["energy_mj"] = spent - spent_before
        into["energy_seen_us"] = (known - known_before) * 1000
        into["flags"] = energy.has_reset(gpu, start, end) * ENERGY_RESET
        issues.extend(energy_issues(energy, names, whole))


def _over(
    covered: SampleCoverage, numbers: Integers, start: Integers, end: Integers
) -> tuple[Integers, Integers]:
    """Observed microseconds, and milliseconds x amount, of each interval."""
    before, after = covered.upto(numbers, start), covered.upto(numbers, end)
    return (after[0] - before[0]) * 1000, after[1] - before[1]


def _peak(
    covered: SampleCoverage,
    values: Integers,
    numbers: Integers,
    start: Integers,
    end: Integers,
) -> Integers:
    """The largest value that is valid in each interval; 0 if none is."""
    peaks = np.zeros(len(numbers), np.int64)
    if not len(values):
        return peaks
    low = (
        np.searchsorted(covered.start_keys, covered.axis.of(numbers, start), "right")
        - 1
    )
    at = np.maximum(low, 0)
    is_valid = (low >= covered.first[numbers]) & (
        covered.start_ms[at] + covered.length_ms[at] > start
    )
    low = np.where(is_valid, low, low + 1)
    high = np.searchsorted(covered.start_keys, covered.axis.of(numbers, end))
    some = np.flatnonzero(high > low)
    if len(some):
        ends = np.stack((low[some], high[some]), axis=1).ravel()
        padded = np.append(values, np.iinfo(np.int64).min)
        peaks[some] = np.maximum.reduceat(padded, ends)[::2]
    return peaks
