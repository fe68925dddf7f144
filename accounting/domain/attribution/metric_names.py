"""Under which name the metric of a number was read (rules.md N7): kept with the number.

Attribution knows the two rungs of the ladder, engine and utilization. Which exporter showed
them, and under which of its names, is distinguished here, after the lines are computed.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from accounting.domain.attribution.utilization import ENGINE, METRIC_CODE, UTIL
from accounting.domain.core.interval import Interval
from accounting.domain.samples.scraper_series import billionths
from accounting.domain.samples.series import Reading, Series

NAMES: Mapping[str, int] = {  # the numbers are stored: models.UtilizationMetric
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": METRIC_CODE[ENGINE],
    "DCGM_FI_DEV_GPU_UTIL": METRIC_CODE[UTIL],
    "DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO": 4,
    "DCGM_FI_DEV_GPU_UTIL_RATIO": 5,
    "gpu_gfx_activity": 6,
    "habanalabs_utilization": 7,
}
OTHER = 3  # a name that this table lacks

Rung = tuple[str, int]  # UUID, code of METRIC_CODE


@dataclass(frozen=True, slots=True)
class Spellings:
    """The names under which the utilization of GPUs was read, where it is not the rung's own.

    Attributes:
        sole: code of the name, of a GPU that has one name for a rung.
        several: the series of one that has more, as while an exporter is upgraded.
    """

    sole: Mapping[Rung, int]
    several: Mapping[Rung, tuple[Series, ...]]

    def within(self, window: Interval) -> dict[Rung, int]:
        """Codes of names other than the rung's own; without a sample there, of the last one."""
        found = {r: _code(_most(those, window)) for r, those in self.several.items()}
        odd = {rung: code for rung, code in found.items() if code != rung[1]}
        return {**self.sole, **odd}


def spellings(readings: Iterable[Reading]) -> Spellings:
    """Which names the series of readings have, by GPU and rung, where they are odd.

    Nearly all have the rung's own name: of these nothing has to be looked up.
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
    """The name with most samples with data in a window; ties to the smaller name."""
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
