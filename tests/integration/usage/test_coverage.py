"""How much of each day was read: windows of several clusters, and of one without sorting.

Days without data on pages: test_completeness.py.
"""

from datetime import timedelta

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounting.core.billing_calendar import DayRange
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.ledger import IngestWindow
from accounting.usage.reads.coverage import data_share, day_coverage
from tests.integration.conftest import NOW
from tests.story import ZONE, Story

DAYS = DayRange(NOW.date() - timedelta(days=3), NOW.date())


@pytest.mark.usefixtures("db")
def test_a_window_of_two_clusters_is_one(story: Story) -> None:
    with time_machine.travel(NOW, tick=False):
        with CaptureQueriesContext(connection) as asked:
            before = day_coverage(DAYS, ZONE)
        share = data_share(DAYS.period(ZONE))
        first = Cluster.objects.get(name="north")
        second = Cluster.objects.create(name="second")
        for one in IngestWindow.objects.filter(cluster=first):
            IngestWindow.objects.create(
                cluster=second,
                window_start=one.window_start,
                rows=one.rows,
                samples_expected=one.samples_expected,
                samples_seen=one.samples_seen,
            )
        after = day_coverage(DAYS, ZONE)
        assert {day: one.windows for day, one in after.items()} == {
            day: one.windows for day, one in before.items()
        }
        assert sum(one.windows for one in before.values()) > 288
        assert data_share(DAYS.period(ZONE)) == share
        assert day_coverage(DAYS, ZONE, "north") == before
    assert all("DISTINCT w.window" not in one["sql"] for one in asked.captured_queries)
