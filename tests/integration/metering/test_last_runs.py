"""The windows that were read last are found by an index: `/data-health` sorts no others."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounting.access.scope import Scope
from accounting.health.reads.freshness import last_runs
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.ledger import IngestWindow

START = datetime(2026, 10, 1, tzinfo=UTC)
WINDOW = timedelta(minutes=5)


@pytest.mark.django_db
def test_the_last_runs_are_read_by_their_index() -> None:
    cluster = Cluster.objects.create(name="north")
    IngestWindow.objects.bulk_create(
        IngestWindow(
            cluster=cluster,
            window_start=START + n * WINDOW,
            read_at=START + n * WINDOW if n % 2 else None,
        )
        for n in range(2000)
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE accounting_ingestwindow")
    with CaptureQueriesContext(connection) as asked:
        found = last_runs(Scope(team_ids=None))
    assert [row.window_start for row in found] == [
        START + n * WINDOW for n in range(1999, 1899, -2)
    ]
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {asked[0]['sql']}")
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "ingest_window_read_last" in plan
    assert "Sort" not in plan
