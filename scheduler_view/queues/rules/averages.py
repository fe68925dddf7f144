"""Time-weighted averages of samples that hold until the next one (scheduling.md S16)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Instants = NDArray[np.int64]
Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ObservedLevels:
    """Values that were observed to last, in the order of time, without overlap.

    Attributes:
        start_ms, end_ms: of each, in milliseconds.
        values: NaN if it is not known.
    """

    start_ms: Instants
    end_ms: Instants
    values: Values


def averages(levels: ObservedLevels, bounds: Instants) -> list[float | None]:
    """The average of each step, weighted by time; None where nothing was observed.

    Args:
        levels: samples of one value; empty if there are none.
        bounds: where the steps begin and end, ascending: one more than steps.
    """
    is_known = ~np.isnan(levels.values)
    starts, ends = levels.start_ms[is_known], levels.end_ms[is_known]
    values = levels.values[is_known]
    times = np.diff(_until(bounds, starts, ends, np.ones(len(values))))
    sums = np.diff(_until(bounds, starts, ends, values))
    return [
        float(total / time) if time else None
        for total, time in zip(sums, times, strict=True)
    ]


def _until(
    bounds: Instants, starts: Instants, ends: Instants, values: Values
) -> Values:
    """Value x milliseconds of all levels up to each bound."""
    before = np.concatenate(([0.0], np.cumsum(values * (ends - starts))))
    begun = np.searchsorted(starts, bounds, side="right")
    last = np.maximum(begun - 1, 0)
    if not len(values):
        return np.zeros(len(bounds))
    part = values[last] * (np.minimum(bounds, ends[last]) - starts[last])
    return np.where(begun > 0, before[last] + part, 0.0)
