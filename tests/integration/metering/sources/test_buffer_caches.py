"""What a process remembers of series: those of late, however many there were.

Aspects: storing and reading hour after hour, each with other series. Not here: the cache itself
(`tests/unit/core/test_recent.py`); rows that the database has lost
(`tests/integration/faults/test_sessions.py`).
"""

import gc

import numpy as np
import pytest

from accounting.core.interval import HOUR_MS, Interval
from accounting.metering.models.cluster import Cluster, Source
from accounting.metering.sources.exposition import RawSeries
from accounting.metering.sources.samples import SampleBatch
from accounting.metering.tasks.reading import scrape_buffer
from tests.builders import HOUR_ZERO

pytestmark = pytest.mark.django_db

HOURS, SERIES = 12, 4_000


def hour_of_new_pods(hour: int) -> SampleBatch:
    """One sample of each series; no other hour has them."""
    names = range(hour * SERIES, (hour + 1) * SERIES)
    series = [
        RawSeries("kube_pod_info", (("namespace", "team"), ("pod", f"p{n}")))
        for n in names
    ]
    times = np.full(SERIES, HOUR_ZERO * 1000 + hour * HOUR_MS)
    return SampleBatch(
        series, np.arange(SERIES, dtype=np.int32), times, np.ones(SERIES)
    )


def living() -> int:
    """The series in the memory of this process."""
    gc.collect()
    # `isinstance` asks lazy objects of other tests for their class, which makes them
    return sum(type(one) is RawSeries for one in gc.get_objects())


def test_series_of_pods_that_ended_long_ago_are_forgotten() -> None:
    source = Source.objects.create(
        cluster=Cluster.objects.create(name="north"), name="live", kind="scrape"
    )
    before = living()
    for hour in range(HOURS):
        assert scrape_buffer.append(source, hour_of_new_pods(hour)) == SERIES
        start = HOUR_ZERO * 1000 + hour * HOUR_MS
        found = scrape_buffer.read(source, Interval(start, start + HOUR_MS)).series
        assert len(found) == SERIES
        first = Interval(HOUR_ZERO * 1000, HOUR_ZERO * 1000 + 1)
        assert len(scrape_buffer.read(source, first).series) == SERIES
    assert living() - before <= 2.5 * scrape_buffer.CACHED < HOURS * SERIES
