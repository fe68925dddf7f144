"""Series of kube-state, at seconds from 0, and the evidence that they give."""

from collections.abc import Mapping

import numpy as np

from accounting.core.interval import Interval
from accounting.metering.rules.inventory.merge.operations import ChangedRecords
from accounting.metering.rules.inventory.merge.samples import observe
from accounting.metering.rules.inventory.records import Inventory, PodRecord
from accounting.metering.rules.samples.series import Reading, ScraperIdentity, Series

KSM, OTHER = ScraperIdentity("ksm", "one"), ScraperIdentity("ksm", "two")
WHOLE = Interval(0, 600_000)
POD = {"namespace": "ns", "pod": "a", "uid": "u"}
GPU = "nvidia.com/gpu"


def series(
    metric: str,
    samples: Mapping[int, float],
    labels: Mapping[str, str],
    scraper: ScraperIdentity = KSM,
) -> Series:
    """Samples at seconds."""
    times = np.array([t * 1000 for t in samples], np.int64)
    values = np.array(list(samples.values()), np.float64)
    return Series(metric, metric, scraper, times, values, labels)


def ones(*seconds: int) -> dict[int, float]:
    return dict.fromkeys(seconds, 1.0)


def seen(
    *found: Series,
    period: Interval = WHOLE,
    inventory: Inventory | None = None,
    interval_ms: int | None = None,
) -> tuple[Inventory, ChangedRecords]:
    inventory = inventory or Inventory()
    reading = Reading(found, interval_ms=interval_ms)
    return inventory, observe(inventory, [reading], period)


def pod(*found: Series, period: Interval = WHOLE) -> PodRecord:
    inventory, touched = seen(*found, period=period)
    [record] = inventory.pods.values()
    assert touched.pods == {record.uid}
    return record


def of_pod(
    metric: str,
    samples: Mapping[int, float],
    scraper: ScraperIdentity = KSM,
    **labels: str,
) -> Series:
    return series(f"kube_pod_{metric}", samples, POD | labels, scraper)
