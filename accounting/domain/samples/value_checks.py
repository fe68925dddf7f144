"""Utilization that is not valid (rules.md N8) or inconsistent (N2), with an issue for each."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from accounting.domain.core.interval import WINDOW_MS, Interval
from accounting.domain.core.issue import Issue
from accounting.domain.samples.scraper_series import (
    DEFAULT_STEP_MS,
    MAX_UTILIZATION,
    lower_median_gap,
)
from accounting.domain.samples.series import Series, Times, Values

WRONG_SAMPLES = 3  # N8: this many of different GPUs or times show another scale


def wrong_scales(
    every: Iterable[Series], period: Interval, issues: list[Issue]
) -> dict[str, list[Interval]]:
    """Windows, by name, in which the values of a `_RATIO` name are percent (N8).

    A GPU that several pods share is reported once for each of them: its copies count once.

    Args:
        every: series of utilization from one source whose scale it does not declare.
        period: the windows whose issues are reported.
        issues: to which issues are appended.
    """
    found: dict[str, set[tuple[str, int]]] = defaultdict(set)  # GPU and time, by name
    for series in every:
        if series.name.endswith("_RATIO") and series.gpu is not None:
            wrong = (series.values > MAX_UTILIZATION) & (series.values <= 100)
            if wrong.any():
                uuid = series.gpu.uuid
                found[series.name].update(
                    (uuid, at) for at in series.times_ms[wrong].tolist()
                )
    high: dict[str, Counter[int]] = {}  # samples by window
    gpus: dict[str, Counter[int]] = {}
    for name, samples in found.items():
        high[name] = Counter(at - at % WINDOW_MS for _, at in samples)
        pairs = {(uuid, at - at % WINDOW_MS) for uuid, at in samples}
        gpus[name] = Counter(start for _, start in pairs)
    rejected: dict[str, list[Interval]] = {}
    for name, counts in high.items():
        bad = sorted(start for start, count in counts.items() if count >= WRONG_SAMPLES)
        rejected[name] = [Interval(s, s + WINDOW_MS) for s in bad]
        inside = [s for s in bad if period.contains(s)]
        if inside:
            issues.append(
                Issue(
                    code="utilization_scale",
                    subject=name,
                    message=f"{name} has values above 1: percent values in a ratio metric.",
                    advice=f"Declare `scales: {{{name}: percent}}` for this source.",
                    first_ms=inside[0],
                    last_ms=inside[-1] + WINDOW_MS,
                    at_stake_ms=sum(gpus[name][s] for s in inside) * WINDOW_MS,
                    severity="error",
                )
            )
    return rejected


def without(series: Series, periods: Sequence[Interval]) -> Series:
    """The series with no data in some periods."""
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


def out_of_range(
    every: Sequence[Series], values: Values, period: Interval
) -> list[Issue]:
    """Utilization outside 0 to 1 (N8): one issue for each series with such samples.

    Args:
        every: series of utilization.
        values: all their values, one series after another.
        period: the windows.
    """
    with np.errstate(invalid="ignore"):
        odd = np.flatnonzero((values > 1) | (values < 0))
    if not len(odd):
        return []
    ends = np.cumsum([len(series.values) for series in every])
    those = np.unique(np.searchsorted(ends, odd, "right")).tolist()
    return [issue for n in those for issue in _out_of_range_of(every[n], period)]


def _out_of_range_of(series: Series, period: Interval) -> list[Issue]:
    with np.errstate(invalid="ignore"):
        odd = (series.values > 1) | (series.values < 0)
    inside = (series.times_ms >= period.start_ms) & (series.times_ms < period.end_ms)
    times = series.times_ms[odd & inside]
    if not len(times) or series.gpu is None:
        return []
    with np.errstate(invalid="ignore"):
        lost = odd & inside & ((series.values > MAX_UTILIZATION) | (series.values < 0))
    step_ms = lower_median_gap(series.times_ms.tolist(), period) or DEFAULT_STEP_MS
    return [
        Issue(
            code="utilization_out_of_range",
            subject=f"{series.gpu.uuid} {series.name}",
            message="Utilization outside 0 to 1. Values up to 1.1 count as 1, larger values as "
            "no data.",
            first_ms=int(times[0]),
            last_ms=int(times[-1]),
            at_stake_ms=int(np.count_nonzero(lost)) * step_ms,
            severity="info",
        )
    ]


def differing_samples(
    uuid: str, every: Times, differing: Times, period: Interval
) -> list[Issue]:
    """The issue of samples of one series that differ at one time, within a period (N2).

    Args:
        uuid: of the GPU.
        every: times of all its samples.
        differing: times at which samples of one series differ.
        period: the windows; earlier samples were reported with their own windows.
    """
    inside = differing[(differing >= period.start_ms) & (differing < period.end_ms)]
    if not len(inside):
        return []
    count = len(inside)
    step_ms = lower_median_gap(every.tolist(), period) or DEFAULT_STEP_MS
    return [
        Issue(
            code="samples_differ",
            subject=uuid,
            message=f"{count} samples of one series have different values at the same time. The "
            "smaller value is used.",
            first_ms=int(inside[0]),
            last_ms=int(inside[-1]),
            at_stake_ms=count * step_ms,
        )
    ]
