"""Stores the kube-state jobs of a cluster (rules.md N40).

Callers hold the cluster's `evidence` lock. Nearly every cluster has one job, for which only its
sample times are stored; the objects of each job are stored only if there are several.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import connection

from accounting.core.interval import Interval
from accounting.metering.models.cluster import Cluster
from accounting.metering.reads.data_health.known_kube_state_jobs import KnownJobs
from accounting.metering.rules.inventory.kube_state.job_samples import (
    Side,
    merged,
    objects,
    records,
)
from accounting.metering.rules.samples.series import Reading
from accounting.metering.tasks.kube_state_jobs import objects as known_objects


def merge_into_stored(
    cluster: Cluster, known: KnownJobs, readings: Sequence[Reading], period: Interval
) -> KnownJobs:
    """The jobs after merging the samples of a period, as stored; `known` does not change."""

    def is_late(reading: Reading) -> bool:
        return reading.is_file and known.live_ms is not None

    fresh = records(readings, period, is_late)
    live = records((r for r in readings if not r.is_file), period, is_late)
    now = known.copy()
    changed: list[Side] = []
    for side, record in fresh.items():
        before = now.sides.get(side)
        after = record if before is None else merged(before, record)
        if before != after:
            now.sides[side] = after
            changed.append(side)
    lives = {side: record.runs[0].first_ms for side, record in live.items()}
    if lives:
        first_ms = min(lives.values())
        now.live_ms = min(first_ms, now.live_ms or first_ms)
    was_alone = len(known.names) < 2
    _store(cluster, now, changed, lives)
    if len(now.names) > 1:
        first = min(known.sides, key=lambda side: side.is_late, default=None)
        if was_alone and first is not None:
            since_ms = known.sides[first].runs[0].first_ms
            known_objects.store_all(cluster.pk, now.ids[first], since_ms)
        shown = objects(readings, period, is_late)
        now.overlaps |= known_objects.store(now.ids, shown)
    return now


_JOB = """
    INSERT INTO accounting_kubejob (cluster_id, job, is_late, first_node_ms, first_live_ms)
    VALUES (%(cluster)s, %(job)s, %(is_late)s, %(node)s, %(live)s)
    ON CONFLICT (cluster_id, job, is_late) DO UPDATE
    SET first_node_ms = least(accounting_kubejob.first_node_ms, excluded.first_node_ms),
        first_live_ms = least(accounting_kubejob.first_live_ms, excluded.first_live_ms)
    RETURNING id
"""
_OLD_RUNS = """
    DELETE FROM accounting_kubejobrun
    WHERE kube_job_id = %(pk)s AND NOT first_ms = ANY(%(firsts)s::bigint[])
"""
_NEW_RUNS = """
    INSERT INTO accounting_kubejobrun (kube_job_id, first_ms, last_ms)
    SELECT %(pk)s, * FROM unnest(%(firsts)s::bigint[], %(lasts)s::bigint[])
    ON CONFLICT (kube_job_id, first_ms) DO UPDATE SET last_ms = excluded.last_ms
    WHERE accounting_kubejobrun.last_ms <> excluded.last_ms
"""


def _store(
    cluster: Cluster, now: KnownJobs, changed: Iterable[Side], lives: Mapping[Side, int]
) -> None:
    with connection.cursor() as cursor:
        for side in changed:
            record = now.sides[side]
            values: dict[str, Any] = {
                "cluster": cluster.pk,
                "job": side.job,
                "is_late": side.is_late,
                "node": record.first_node_ms,
                "live": lives.get(side),
                "firsts": [run.first_ms for run in record.runs],
                "lasts": [run.last_ms for run in record.runs],
            }
            cursor.execute(_JOB, values)
            now.ids[side] = values["pk"] = cursor.fetchone()[0]
            cursor.execute(_OLD_RUNS, values)
            cursor.execute(_NEW_RUNS, values)
