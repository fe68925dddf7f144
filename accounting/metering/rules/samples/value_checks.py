"""Utilization that is not valid (rules.md N8) or inconsistent (N2), with an issue for each."""

from collections.abc import Sequence

import numpy as np

from accounting.core.interval import Interval
from accounting.core.issue import Issue
from accounting.metering.rules.samples.scraper_series import (
    DEFAULT_STEP_MS,
    MAX_UTILIZATION,
    lower_median_gap,
)
from accounting.metering.rules.samples.series import Series, Times, Values


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
