"""The name under which a metric was read (rules.md N7), stored with its number.

Attribution distinguishes only engine activity and utilization. This module determines, after the
lines are computed, which of an exporter's names was used.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from accounting.core.interval import Interval
from accounting.metering.rules.attribution.utilization import ENGINE, METRIC_CODE, UTIL
from accounting.metering.rules.samples.scraper_series import billionths
from accounting.metering.rules.samples.series import Reading, Series

NAMES: Mapping[str, int] = {  # the numbers are stored: models.UtilizationMetric
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": METRIC_CODE[ENGINE],
    "DCGM_FI_DEV_GPU_UTIL": METRIC_CODE[UTIL],
    "DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO": 4,
    "DCGM_FI_DEV_GPU_UTIL_RATIO": 5,
    "gpu_gfx_activity": 6,
    "habanalabs_utilization": 7,
}
OTHER = 3  # a name that is missing in this table

Rung = tuple[str, int]  # UUID, code of METRIC_CODE


@dataclass(frozen=True, slots=True)
class Spellings:
    """The names under which the utilization of GPUs was read, if it is not the default name.

    Attributes:
        sole: code of the name, for a GPU with one name of a metric.
        several: the series of a GPU with several names, as during an exporter's upgrade.
    """

    sole: Mapping[Rung, int]
    several: Mapping[Rung, tuple[Series, ...]]

    def within(self, window: Interval) -> dict[Rung, int]:
        """Codes of names other than the default; without samples there, of the last name."""
        found = {r: _code(_most(those, window)) for r, those in self.several.items()}
        odd = {rung: code for rung, code in found.items() if code != rung[1]}
        return {**self.sole, **odd}


def spellings(readings: Iterable[Reading]) -> Spellings:
    """The names of the series of readings by GPU and metric, if they are not the default.

    Nearly all have the default name, so nothing is looked up for them.
    """
    by_rung: dict[Rung, list[Series]] = defaultdict(list)
    for reading in readings:
        for series in reading.series:
            if series.metric in METRIC_CODE and series.gpu is not None:
                by_rung[series.gpu.uuid, METRIC_CODE[series.metric]].append(series)
    sole: dict[Rung, int] = {}
    several: dict[Rung, tuple[Series, ...]] = {}
    for rung, those in by_rung.items():
        names = {series.name for series in those}
        if len(names) > 1:
            several[rung] = tuple(those)
        elif (code := _code(names.pop())) != rung[1]:
            sole[rung] = code
    return Spellings(sole, several)


def _most(those: Iterable[Series], window: Interval) -> str:
    """The name with the most samples with data in a window; ties go to the smaller name."""
    ranks: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for series in those:
        times = series.times_ms[billionths(series.values) >= 0]
        low, high = (
            int(at) for at in np.searchsorted(times, [window.start_ms, window.end_ms])
        )
        last = int(times[high - 1]) if high else 0
        count, before = ranks[series.name]
        ranks[series.name] = (count + high - low, max(before, last))
    return min(ranks, key=lambda name: (*(-rank for rank in ranks[name]), name))


def _code(name: str) -> int:
    return NAMES.get(name, OTHER)
