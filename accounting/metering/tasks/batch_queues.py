"""Stores the metrics of batch schedulers' queues, and which Jobs they held back."""

import math
from collections.abc import Sequence

from django.db import connection

from accounting.core.interval import Interval
from accounting.metering.models.cluster import Cluster
from accounting.metering.reads.resources import added_resources
from accounting.metering.rules.inventory.queued_jobs import held_jobs
from accounting.metering.rules.inventory.scheduler_queues import newest_values
from accounting.metering.rules.samples.series import Reading
from accounting.metering.rules.units.resources import sanitised


def store(cluster: Cluster, readings: Sequence[Reading], period: Interval) -> None:
    """Merge the samples of a period, in a transaction; order and repetition do not matter."""
    _store_values(cluster.pk, readings, period)
    _store_jobs(cluster.pk, readings, period)


def _store_values(
    cluster_id: int, readings: Sequence[Reading], period: Interval
) -> None:
    added = {sanitised(resource): resource for resource in added_resources()}
    rows = [
        (
            cluster_id,
            *key,
            None if math.isinf(found.value) else found.value,
            found.at_ms,
        )
        for key, found in sorted(newest_values(readings, period, added).items())
    ]
    if not rows:
        return
    with connection.cursor() as cursor:
        cursor.executemany(
            """
            INSERT INTO accounting_queuesample AS known
                (cluster_id, scheduler, queue, resource, field, part, value, at_ms)
            VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
            ON CONFLICT (cluster_id, scheduler, queue, resource, field, part) DO UPDATE
                SET value = excluded.value, at_ms = excluded.at_ms
                WHERE excluded.at_ms > known.at_ms
            """,
            rows,
        )


def _store_jobs(cluster_id: int, readings: Sequence[Reading], period: Interval) -> None:
    rows = [
        (cluster_id, *name, job.created_ms, job.started_ms, job.suspended_ms)
        for name, job in sorted(held_jobs(readings, period).items())
    ]
    if not rows:
        return
    with connection.cursor() as cursor:
        cursor.executemany(
            """
            INSERT INTO accounting_queuedjob AS known
                (cluster_id, namespace, name, created_ms, started_ms, suspended_ms)
            VALUES (%s, %s, %s, %s, %s, %s)
            ON CONFLICT (cluster_id, namespace, name) DO UPDATE SET
                started_ms = CASE WHEN excluded.created_ms > known.created_ms
                    THEN excluded.started_ms
                    ELSE least(known.started_ms, excluded.started_ms) END,
                suspended_ms = CASE WHEN excluded.created_ms > known.created_ms
                    THEN excluded.suspended_ms
                    ELSE greatest(known.suspended_ms, excluded.suspended_ms) END,
                created_ms = excluded.created_ms
            WHERE excluded.created_ms >= known.created_ms
            """,
            rows,
        )
