"""Hours that one statement rolls up are those of a statement for each (rules.md N26, N31).

Not here: what an hour is worth (`test_price_match.py`), and days and reports (`test_days.py`).
"""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from accounting.metering.tasks.facts import partitions
from accounting.metering.tasks.facts.commit import mark_hours
from accounting.metering.tasks.facts.reasons import FACTS
from accounting.usage.tasks import gpu_rollup
from tests.integration.prices.books import TEN, WINDOW, WINDOW_MS, Books

HOUR = timedelta(hours=1)
# 18:30 UTC is midnight in Kolkata; a team begins at 13:20, a price at 15:05
SET_UP = """
billing: {currency: EUR, timezone: Asia/Kolkata}
teams: [{slug: vision, name: Vision}]
bindings: [{namespace: lab, team: vision, valid_from: 2026-10-06T13:20:00Z}]
prices:
  - {model: NVIDIA-L40S, rate_per_gpu_hour: "9.5", valid_from: 2026-10-06T15:05:00Z}
"""
GAP = TEN + 7 * HOUR
TABLES = [table.name for table in (*partitions.ALL_HOURS, *partitions.ALL_DAYS)]


def rolled_up(books: Books) -> dict[str, list[tuple[Any, ...]]]:
    """All rollups, and what is still marked."""
    books.settle()
    found = {}
    with connection.cursor() as cursor:
        for table in (*TABLES, "accounting_pendinggpuhour"):
            cursor.execute(f"SELECT t.* FROM {table} t ORDER BY t::text")  # noqa: S608  # names of the product's tables
            found[table] = cursor.fetchall()
    return found


@pytest.mark.django_db
def test_hours_together_are_hours_one_by_one(
    books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    books.configure(SET_UP)
    gpu, other, pod = books.gpu(), books.gpu("GPU-2"), books.pod("train", space="lab")
    starts = [TEN + n * WINDOW for n in range(15 * 12)]
    starts = [at for at in starts if not GAP <= at < GAP + HOUR]
    with books.together():
        books.write_all(gpu, starts, pod, energy_mj=1000, busy=WINDOW_MS)
        books.write_all(other, starts[::2], peak_memory_bytes=5, free=WINDOW_MS)
    together = rolled_up(books)
    # 14 hours of the platform and of the pod; the price and midnight divide one, the team another
    assert (len(together["usage_hour"]), len(together["usage_day"])) == (33, 7)
    monkeypatch.setattr(gpu_rollup, "HOURS_AT_ONCE", 1)
    mark_hours(gpu.cluster_id, starts, FACTS)
    assert rolled_up(books) == together


@pytest.mark.django_db
def test_an_hour_between_changed_ones_stays_as_it_is(books: Books) -> None:
    books.configure(SET_UP)
    gpu, pod = books.gpu(), books.pod("train", space="lab")
    books.hours(gpu, TEN, TEN + 5 * HOUR, pod)
    books.settle()
    with connection.cursor() as cursor:
        cursor.execute("SELECT xmin::text, hour_start FROM usage_hour")
        before = {hour: row for row, hour in cursor.fetchall()}
    untouched = {TEN + 2 * HOUR}
    mark_hours(gpu.cluster_id, sorted(set(before) - untouched), FACTS)
    books.settle()
    with connection.cursor() as cursor:
        cursor.execute("SELECT xmin::text, hour_start, busy_ms FROM usage_hour")
        rows = cursor.fetchall()
    assert sum(ms for *_, ms in rows) == 5 * 3_600_000
    assert {hour for row, hour, _ in rows if before[hour] == row} == untouched
