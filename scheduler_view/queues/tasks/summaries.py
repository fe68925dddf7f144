"""Summaries of the last 28 days that pages read: waits by tier, errors of estimates (S3, S19)."""

from collections import defaultdict
from datetime import datetime, timedelta

from django.db import connection

from accounting.core.interval import to_ms
from accounting.metering.models.cluster import Cluster
from scheduler_view.queues.models.queues import (
    EstimateSummary,
    StartEstimate,
    WaitSummary,
)
from scheduler_view.queues.rules.accuracy import EstimatedStart, accuracy_of
from scheduler_view.queues.rules.pools import ResourcePool

LOOK_BACK = timedelta(days=28)
NOT_BEFORE = timedelta(minutes=10)  # they change slowly, and cost more than a page may


def store_summaries(cluster: Cluster, now: datetime) -> None:
    """Replace the summaries of a cluster, unless they are newer than ten minutes."""
    newest = WaitSummary.objects.filter(cluster=cluster, made_at__gt=now - NOT_BEFORE)
    if not newest.exists():
        _store_waits(cluster, now)
        _store_errors(cluster, now)


def _store_waits(cluster: Cluster, now: datetime) -> None:
    values: dict[str, datetime | int] = {
        "since": now - LOOK_BACK,
        "now": now,
        "cluster": cluster.pk,
    }
    with connection.cursor() as cursor:
        cursor.execute(_BY_TIER, values)
        rows = cursor.fetchall()
    WaitSummary.objects.filter(cluster=cluster).delete()
    WaitSummary.objects.bulk_create(
        WaitSummary(
            cluster=cluster,
            tier=tier,
            units=units,
            p50_ms=p50,
            p95_ms=p95,
            admission_p50_ms=admission,
            scheduling_p50_ms=scheduling,
            startup_p50_ms=startup,
            made_at=now,
        )
        for tier, units, p50, p95, admission, scheduling, startup in rows
    )


def _store_errors(cluster: Cluster, now: datetime) -> None:
    kept = StartEstimate.objects.filter(
        wait__cluster=cluster,
        wait__bound_at__gte=now - LOOK_BACK,
        wait__bound_at__lte=now,
    )
    pairs: dict[ResourcePool, list[tuple[EstimatedStart, int]]] = defaultdict(list)
    for resource, model, start, low, high, bound in kept.values_list(
        "resource", "model", "start_at", "low_at", "high_at", "wait__bound_at"
    ).iterator():
        if bound is not None:
            one = EstimatedStart(
                to_ms(start),
                None if low is None else to_ms(low),
                None if high is None else to_ms(high),
            )
            pairs[ResourcePool(resource, model)].append((one, to_ms(bound)))
    EstimateSummary.objects.filter(cluster=cluster).delete()
    EstimateSummary.objects.bulk_create(
        EstimateSummary(
            cluster=cluster,
            resource=pool.resource,
            model=pool.model,
            estimates=found.count,
            median_error_ms=found.median_error_ms,
            held=float(found.held),
        )
        for pool, of_pool in pairs.items()
        if (found := accuracy_of(of_pool)) is not None
    )


_BY_TIER = """
    WITH instants AS (
        SELECT tier,
            extract(epoch FROM bound_at - created_at) AS wait,
            extract(epoch FROM admitted_at - created_at) AS admission,
            extract(epoch FROM bound_at - admitted_at) AS scheduling,
            extract(epoch FROM started_at - bound_at) AS startup
        FROM scheduler_view_waitrecord
        WHERE cluster_id = %(cluster)s AND bound_at >= %(since)s
          AND bound_at <= %(now)s AND created_at IS NOT NULL
    ), parts AS (  -- greatest() would make 0 of what is not known
        SELECT tier,
            CASE WHEN wait < 0 THEN 0 ELSE wait END AS wait,
            CASE WHEN admission < 0 THEN 0 ELSE admission END AS admission,
            CASE WHEN scheduling < 0 THEN 0 ELSE scheduling END AS scheduling,
            CASE WHEN startup < 0 THEN 0 ELSE startup END AS startup
        FROM instants
    )
    SELECT p.tier, count(*),
        (1000 * percentile_disc(0.5) WITHIN GROUP (ORDER BY p.wait))::bigint,
        (1000 * percentile_disc(0.95) WITHIN GROUP (ORDER BY p.wait))::bigint,
        (1000 * percentile_disc(0.5) WITHIN GROUP (ORDER BY p.admission))::bigint,
        (1000 * percentile_disc(0.5) WITHIN GROUP (ORDER BY p.scheduling))::bigint,
        (1000 * percentile_disc(0.5) WITHIN GROUP (ORDER BY p.startup))::bigint
    FROM parts p GROUP BY p.tier
"""
