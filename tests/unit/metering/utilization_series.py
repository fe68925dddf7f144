"""Series of one GPU's utilization and power, in one window."""

from collections.abc import Mapping

import numpy as np

from accounting.core.interval import Interval
from accounting.metering.rules.samples.series import (
    GpuKey,
    PodName,
    ScraperIdentity,
    Series,
)
from tests.unit.metering.fleet import ms

WINDOW = Interval(ms(0), ms(300))
ONE, TWO = ScraperIdentity("a", "one"), ScraperIdentity("b", "two")


def every(step: float, start: float = 0, end: float = 300) -> list[float]:
    return [float(t) for t in np.arange(start, end, step)]


def series(
    metric: str,
    samples: Mapping[float, float],
    *,
    uuid: str = "G",
    name: str = "",
    scraper: ScraperIdentity = ONE,
    instance: str = "",
    profile: str = "",
    pod: str = "",
    node: str = "n",
) -> Series:
    times = np.array([ms(t) for t in samples], np.int64)
    values = np.array(list(samples.values()), np.float64)
    plain = PodName("ns", pod) if pod else None
    gpu = GpuKey(uuid, node, instance, profile, plain=plain)
    return Series(metric, name or metric, scraper, times, values, gpu=gpu)
