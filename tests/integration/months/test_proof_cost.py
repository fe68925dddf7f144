"""What a proof reads does not grow with what is stored before its period."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from accounting.metering.models.cluster import Cluster
from accounting.metering.reads.ledger_ends import oldest
from accounting.metering.tasks.facts import partitions
from accounting.months.reads.invariants.verify import CHECKS

pytestmark = pytest.mark.django_db(transaction=True)
START = datetime(2026, 10, 1, tzinfo=UTC)
END = START + timedelta(days=3)
ROWS = 864 * 20  # windows of three days, GPUs


def plans(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for part in node.get("Plans", ()):
        yield from plans(part)


def read_rows(query: str, parameters: dict[str, Any]) -> int:
    """Rows that the scans of fact tables hand on, as PostgreSQL counts them."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {query}", parameters)
        [plan] = cursor.fetchone()[0]
    return sum(
        int(node["Actual Rows"] * node["Actual Loops"])
        for node in plans(plan["Plan"])
        if node.get("Relation Name", "").startswith(("usage_", "intensity_"))
    )


@pytest.fixture
def facts() -> None:
    cluster = Cluster.objects.create(name="north")
    partitions.ensure(partitions.ALL_WINDOWS, START, END)
    with connection.cursor() as cursor:
        for table in ("usage_window", "intensity_window"):
            cursor.execute(
                f"""INSERT INTO {table} (cluster_id, window_start, gpu_id, node_id)
                    SELECT %s, at, gpu, 1
                    FROM generate_series(%s, %s - interval '5 min', '5 min') AS at,
                         generate_series(1, 20) AS gpu""",  # noqa: S608  # a table named above
                [cluster.pk, START, END],
            )
            cursor.execute(f"ANALYZE {table}")


@pytest.mark.parametrize("table", ["usage_window", "intensity_window"])
def test_the_oldest_window_is_looked_up(facts: None, table: str) -> None:
    naive = f"SELECT min(window_start) FROM {table}"  # noqa: S608  # a table named above
    assert read_rows(naive, {}) == ROWS  # what this is not
    wanted = f"SELECT {oldest(table, 'window_start', 'window_start')}"
    assert read_rows(wanted, {}) <= 3  # the first of each partition at most
    with connection.cursor() as cursor:
        cursor.execute(wanted)
        assert cursor.fetchone() == (START,)


@pytest.mark.parametrize(
    "name",
    ["hours match their windows (I5)", "GPU activity: hours match their windows"],
)
def test_a_proof_of_the_newest_hour_reads_no_older_days(facts: None, name: str) -> None:
    [check] = [check for check in CHECKS if check.name == name]
    hour = {"start": END - timedelta(hours=1), "end": END}
    assert read_rows(check.query, hour) < ROWS / 3


def test_each_check_has_a_sentence_of_its_own() -> None:
    sentences = [check.statement for check in CHECKS]
    assert len(set(sentences)) == len(sentences)
