"""The upgrade that stores since when each unit waits (migration 0002)."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from accounting.metering.models.cluster import Cluster
from scheduler_view.waits.models import UnitWait, WaitRecord

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 23, 9, 0, tzinfo=UTC)
CREATED, PODS = NOW - timedelta(days=3), NOW - timedelta(minutes=4)


def migrate(name: str) -> None:
    MigrationExecutor(connection).migrate([("scheduler_view", name)])


def unit(cluster: Cluster, kind: str, name: str, **more: Any) -> None:
    WaitRecord.objects.create(
        cluster=cluster,
        kind=kind,
        namespace="lab",
        name=name,
        created_at=CREATED,
        **({"stage": "unschedulable", "cause": "no_free_gpu"} | more),
    )
    UnitWait.objects.create(
        cluster=cluster,
        kind=kind,
        namespace="lab",
        name=name,
        stage="unschedulable",
        cause="no_free_gpu",
        since=PODS,
        cause_since=NOW,
        changed_at=NOW,
        digest="d",
        content={},
    )


def test_units_that_wait_have_it_after_the_upgrade() -> None:
    cluster = Cluster.objects.create(name="north")
    unit(cluster, "StatefulSet", "service")
    unit(cluster, "Job", "job")
    unit(cluster, "Job", "done", stage="", cause="", ended_at=NOW)
    with (
        connection.cursor() as cursor
    ):  # a table with deferred checks cannot be altered
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    migrate("0001_scheduling")
    migrate("0002_waits_since")
    assert dict(WaitRecord.objects.values_list("name", "waits_since")) == {
        "service": PODS,
        "job": CREATED,
        "done": None,
    }
