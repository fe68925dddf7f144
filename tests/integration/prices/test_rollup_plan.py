"""The rollup of an hour reads each fact once, and joins all GPUs at once, not one by one.

Not here: what the rows are (`tests/integration/usage/test_hours_together.py`).
"""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from accounting.metering.tasks.facts import partitions
from accounting.prices.sql.charge_sql import parameters, priced_facts
from bench import cluster
from tests.plans import within

GPUS = 1024
HOUR = timedelta(hours=1)


@pytest.fixture
def plan(db: None) -> dict[str, Any]:
    """What PostgreSQL did for the rollup of one hour."""
    cluster.make(GPUS)
    cluster.load_windows(GPUS, 0, 12)
    end = cluster.START + HOUR
    partitions.ensure(partitions.ALL_HOURS, cluster.START, end)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE usage_window")
        cursor.execute(
            f"EXPLAIN (ANALYZE, FORMAT JSON) {priced_facts()}",
            parameters(1, cluster.START, end),
        )
        [found] = cursor.fetchone()[0]
    return dict(found["Plan"])


def _scans(plan: dict[str, Any], table: str) -> list[float]:
    """How often each step that reads a table ran."""
    return [
        step["Actual Loops"]
        for step in within(plan)
        if re.fullmatch(rf"{table}(_\d+)?", step.get("Relation Name", ""))
        and step["Actual Loops"]
    ]


def test_facts_are_read_once_where_no_gpu_is_divided(plan: dict[str, Any]) -> None:
    assert _scans(plan, "usage_window") == [1]


@pytest.mark.parametrize(
    "table", ["accounting_gpu", "accounting_pod", "accounting_podattribution"]
)
def test_gpus_and_pods_are_joined_at_once(plan: dict[str, Any], table: str) -> None:
    assert _scans(plan, table) == [1]
