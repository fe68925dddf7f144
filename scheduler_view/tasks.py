"""Celery entry points. They only wake workers: due work is recorded in Postgres.

A message that is lost, or a task that runs twice or in parallel, changes nothing.
"""

import structlog
from celery import shared_task
from django.utils import timezone

from accounting.kit.once import forget_keys
from accounting.metering.models.cluster import Cluster
from accounting.months.actions.team_quotas import record_quotas
from scheduler_view.alerts.tasks import look_for_alerts
from scheduler_view.changes.actions import due_work
from scheduler_view.clusters.tasks.cluster_connection import visible_clusters
from scheduler_view.idle.tasks import find_idle
from scheduler_view.queues.tasks.look import (
    look_at_waits,
    observe_once,
    watched_each_minute,
)
from scheduler_view.queues.tasks.queues import forget_queues
from scheduler_view.queues.tasks.queues_from_metrics import (
    clusters_by_metrics,
    look_at_metrics,
)
from scheduler_view.quotas.reads.quota_shares import milli_gpus_of
from scheduler_view.savings.tasks.compute import compute_due
from scheduler_view.what_if.tasks.runs import next_run, run

log = structlog.get_logger(__name__)
SOFT_S, HARD_S = 540, 600  # then the task is interrupted; later its process is killed
WASTE_S = 300  # of one task: the remaining days are computed by the next one


@shared_task(
    name="scheduler_view.tasks.find_changes", soft_time_limit=SOFT_S, time_limit=HARD_S
)
def find_changes() -> None:
    """Start a task for each cluster with due change sets (beat: every 10 s)."""
    forget_keys(timezone.now())
    for cluster_id in due_work.clusters_with_work(timezone.now()):
        work.apply_async((cluster_id,), expires=60)


@shared_task(
    name="scheduler_view.tasks.work", soft_time_limit=SOFT_S, time_limit=HARD_S
)
def work(cluster_id: int) -> None:
    """Plan and apply due change sets of one cluster."""
    count = due_work.work(cluster_id, now=timezone.now)
    log.info("changes worked on", cluster=cluster_id, count=count)


@shared_task(
    name="scheduler_view.tasks.observe_clusters",
    soft_time_limit=SOFT_S,
    time_limit=HARD_S,
)
def observe_clusters() -> None:
    """Start a task for each cluster with a reader (beat: every five minutes)."""
    for cluster in visible_clusters():
        observe_cluster.apply_async((cluster.pk,), expires=300)


@shared_task(
    name="scheduler_view.tasks.observe_waits",
    soft_time_limit=SOFT_S,
    time_limit=HARD_S,
)
def observe_waits() -> None:
    """Start a task for each cluster whose queues are observed every minute (beat)."""
    for cluster in watched_each_minute():
        observe_waits_of.apply_async((cluster.pk,), expires=60)
    for cluster in clusters_by_metrics(timezone.now()):
        observe_metric_waits_of.apply_async((cluster.pk,), expires=60)


@shared_task(
    name="scheduler_view.tasks.observe_waits_of",
    soft_time_limit=SOFT_S,
    time_limit=HARD_S,
)
def observe_waits_of(cluster_id: int) -> None:
    """Explain what waits in a cluster, and store its queues."""
    changed = look_at_waits(Cluster.objects.get(pk=cluster_id), now=timezone.now)
    log.info("looked at waits", cluster=cluster_id, changed=changed)


@shared_task(
    name="scheduler_view.tasks.observe_metric_waits_of",
    soft_time_limit=SOFT_S,
    time_limit=HARD_S,
)
def observe_metric_waits_of(cluster_id: int) -> None:
    """Explain what waits in a cluster from its metrics; its objects are not observed."""
    changed = look_at_metrics(Cluster.objects.get(pk=cluster_id), timezone.now())
    forget_queues(timezone.now())
    log.info("looked at waits in metrics", cluster=cluster_id, changed=changed)


@shared_task(
    name="scheduler_view.tasks.observe_cluster",
    soft_time_limit=SOFT_S,
    time_limit=HARD_S,
)
def observe_cluster(cluster_id: int) -> None:
    """Store the objects of a cluster and find differences from the desired state.

    Quotas in GPUs are recorded as well: nodes may have changed.
    """
    cluster = Cluster.objects.get(pk=cluster_id)
    seen = observe_once(cluster, now=timezone.now)
    record_quotas(cluster, milli_gpus_of(cluster), timezone.now())
    forget_queues(timezone.now())
    log.info(
        "looked", cluster=cluster_id, changed=len(seen.changed), errors=len(seen.errors)
    )


@shared_task(
    name="scheduler_view.tasks.find_waste", soft_time_limit=SOFT_S, time_limit=HARD_S
)
def find_waste() -> None:
    """Start a task for each cluster (beat: every 15 minutes)."""
    for cluster_id in Cluster.objects.values_list("pk", flat=True):
        compute_waste.apply_async((cluster_id,), expires=900)


@shared_task(
    name="scheduler_view.tasks.compute_waste",
    soft_time_limit=SOFT_S,
    time_limit=HARD_S,
)
def compute_waste(cluster_id: int) -> None:
    """Compute the findings of the days of a cluster that are due."""
    days = compute_due(Cluster.objects.get(pk=cluster_id), for_s=WASTE_S)
    log.info("waste computed", cluster=cluster_id, days=days)


@shared_task(
    name="scheduler_view.tasks.find_idle", soft_time_limit=SOFT_S, time_limit=HARD_S
)
def find_idle_holds() -> None:
    """Find the holds that are idle now, of clusters with a newer window (beat: every minute)."""
    for cluster in Cluster.objects.all():
        count = find_idle(cluster)
        if count is not None:
            log.info("idle holds found", cluster=cluster.pk, count=count)


@shared_task(
    name="scheduler_view.tasks.find_alerts", soft_time_limit=SOFT_S, time_limit=HARD_S
)
def find_alerts() -> None:
    """Look for the causes of alerts (beat: every minute)."""
    counts = look_for_alerts()
    log.info("looked for alerts", **{rule.value: n for rule, n in counts.items()})


@shared_task(name="scheduler_view.tasks.compute_what_ifs")
def compute_what_ifs() -> None:
    """Compute the what-ifs that wait, one after the other (beat: every minute; also on request)."""
    while (found := next_run()) is not None:
        is_done = run(found)
        log.info("what-if", run=found.pk, done=is_done)
