"""Totals of hours and days are the sums of their rows after every change (I5).

The badge sums those of hours.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from accounting.health.reads.freshness import freshness
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.ledger import IngestWindow
from accounting.metering.tasks.facts import retention
from accounting.months.reads.invariants.sum_checks import DAY_CHECK, HOUR_CHECK
from tests.integration.prices.books import TEN, WINDOW, Books
from tests.integration.usage.test_families import SET_UP

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.fixture
def two_days(books: Books) -> Books:
    """An hour busy and half an hour idle or unknown on each of two days, in two clusters."""
    books.configure(SET_UP)
    for n, cluster in enumerate(["north", "south"]):
        gpu = books.gpu(f"GPU-{n}", cluster=cluster)
        pod = books.pod(f"train-{n}", on=cluster, space="a")
        for day in range(2):
            start = TEN + day * DAY
            books.hours(gpu, start, start + HOUR, pod)
            books.hours(
                gpu, start + HOUR, start + 1.5 * HOUR, pod, ("idle", "unknown")[n]
            )
    books.settle()
    return books


def execute(text: str, *values: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(text, values)
        return cursor.fetchall() if cursor.description else []


def violations() -> int:
    found = 0
    for check in (HOUR_CHECK, DAY_CHECK):
        with connection.cursor() as cursor:
            cursor.execute(check.query, {"start": TEN - DAY, "end": TEN + 9 * DAY})
            found += len(cursor.fetchall())
    return found


def totals() -> list[tuple[Any, ...]]:
    return execute("SELECT * FROM usage_hour_total ORDER BY cluster_id, hour_start")


def day_totals() -> list[tuple[Any, ...]]:
    return execute("SELECT * FROM usage_day_total ORDER BY cluster_id, billing_on")


def late_fact(books: Books) -> None:
    books.hours(books.gpu("GPU-late"), TEN, TEN + HOUR, state="free")
    books.settle()


CHANGES: dict[str, Callable[[Books], object]] = {
    "late samples": late_fact,
    "an hour that is gone": lambda _: execute(
        "DELETE FROM usage_hour WHERE hour_start = %s", TEN
    ),
    "time that changes": lambda _: execute("UPDATE usage_hour SET idle_ms = 1"),
    "rows of another hour": lambda _: execute(
        "UPDATE usage_hour SET hour_start = hour_start + interval '3 hours'"
    ),
    "rows of one cluster": lambda _: execute(
        """INSERT INTO usage_hour (cluster_id, hour_start, billing_on, busy_ms)
           SELECT min(id), %s, '2026-10-06', 7 FROM accounting_cluster""",
        TEN,
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_totals_follow_every_change_of_hours(two_days: Books, change: str) -> None:
    before = totals()
    assert len(before) == 8
    assert violations() == 0
    CHANGES[change](two_days)
    assert violations() == 0
    assert totals() != before


OF_DAYS: dict[str, Callable[[Books], object]] = {
    "late samples": late_fact,
    "a day that is gone": lambda _: execute(
        "DELETE FROM usage_day WHERE billing_on = '2026-10-07'"
    ),
    "time that changes": lambda _: execute("UPDATE usage_day SET idle_ms = 1"),
    "a cost": lambda _: execute("UPDATE usage_day SET gpu_cost = 1.7"),
    "rows of another day": lambda _: execute(
        "UPDATE usage_day SET billing_on = billing_on + 3"
    ),
}


@pytest.mark.parametrize("change", OF_DAYS)
def test_totals_follow_every_change_of_days(two_days: Books, change: str) -> None:
    before = day_totals()
    assert len(before) == 4
    assert violations() == 0
    OF_DAYS[change](two_days)
    assert violations() == 0
    assert day_totals() != before


@pytest.mark.parametrize(
    "wrong",
    [
        "UPDATE usage_hour_total SET busy_ms = busy_ms + 1",
        "DELETE FROM usage_hour_total WHERE busy_ms > 0",
        "UPDATE usage_day_total SET cost_raw = 1",
        "DELETE FROM usage_day_total",
        """INSERT INTO usage_hour_total SELECT cluster_id, hour_start + interval '5 hours',
               1, 0, 0, 0, 0, 0, 0 FROM usage_hour_total LIMIT 1""",
    ],
)
def test_totals_that_differ_are_found(two_days: Books, wrong: str) -> None:
    assert violations() == 0
    execute(wrong)
    assert violations() > 0


def test_totals_of_expired_hours_go_with_them(two_days: Books) -> None:
    IngestWindow.objects.create(
        cluster=Cluster.objects.get(name="north"), window_start=TEN + 430 * DAY
    )
    execute(
        """INSERT INTO usage_hour (cluster_id, hour_start, billing_on, busy_ms)
           SELECT min(id), %s, '2026-11-06', 7 FROM accounting_cluster""",
        TEN + 31 * DAY,
    )
    assert len(totals()) == 9
    retention.enforce()
    assert execute("SELECT count(*) FROM usage_hour") == [(1,)]
    assert len(totals()) == 1


@pytest.mark.parametrize("minutes", [0, 5, 55, 60, 90])
def test_badge_says_what_a_day_of_hours_says(two_days: Books, minutes: int) -> None:
    """Hours that begin after the newest window less a day."""
    newest = TEN + DAY + timedelta(minutes=minutes)
    north = Cluster.objects.get(name="north")
    IngestWindow.objects.create(
        cluster=north, window_start=newest, state="done", rows=1
    )
    ((seen, held),) = execute(
        """SELECT sum(busy_ms + idle_ms), sum(busy_ms + idle_ms + unknown_ms)
           FROM usage_hour WHERE hour_start > %s""",
        newest - DAY,
    )
    assert freshness().data_to == newest + WINDOW
    assert freshness().coverage == int(seen) / int(held)
