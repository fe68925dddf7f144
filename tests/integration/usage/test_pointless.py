"""Workloads that were busy without work: the database finds candidates, the rule decides."""

from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounting.access.scope import EVERYTHING
from accounting.core.interval import Interval
from accounting.kit.reads.selection import Selection
from accounting.usage.reads.intensity import pointless_workloads
from tests.story import Story

pytestmark = pytest.mark.django_db
WEEK = Interval.of(
    datetime(2026, 11, 13, tzinfo=UTC), datetime(2026, 11, 20, tzinfo=UTC)
)
SEEN = 100_000_000


def of_team(slug: str) -> Selection:
    return Selection(EVERYTHING, WEEK, {"team": (slug,)})


def test_workloads_that_worked_are_not_returned(story: Story) -> None:
    with CaptureQueriesContext(connection) as asked:
        assert pointless_workloads(of_team("vision")) == []
    [sql] = [one["sql"] for one in asked if "intensity" in one["sql"]]
    with connection.cursor() as cursor:
        cursor.cursor.execute(sql)
        found = [workload for _, workload, *_ in cursor.fetchall()]
    assert found == ["notebook-mara"]  # was idle


@pytest.mark.parametrize(
    ("active", "is_found"),
    [(2_000_000, True), (2_000_049, True), (2_000_051, False), (2_000_200, False)],
)
def test_a_share_is_rounded_before_it_is_compared(
    story: Story, active: int, is_found: bool
) -> None:
    with connection.cursor() as cursor:
        for table in ("intensity_day", "intensity_hour"):
            cursor.execute(
                f"""UPDATE {table} SET tensor_active_us = %s, tensor_seen_us = %s
                    WHERE workload_id = (
                        SELECT id FROM accounting_workload WHERE name = 'sim-farm')""",  # noqa: S608
                [active, SEEN],
            )
            assert cursor.rowcount
    found = [row.key["workload"] for row in pointless_workloads(of_team("robotics"))]
    assert found == (["sim-farm"] if is_found else [])
