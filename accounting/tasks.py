"""Celery entry points. They only wake workers: due work is recorded in the window ledger.

A message that is lost, or a task that runs twice or in parallel, changes nothing.
"""

import structlog
from celery import shared_task

from accounting.actions import sign_in
from accounting.ingest import live_sources
from accounting.ingest.catch_up import catch_up
from accounting.ingest.facts import retention
from accounting.models import Cluster, SourceKind

log = structlog.get_logger(__name__)
SOFT_S, HARD_S = 540, 600  # then the task is interrupted; later its process is killed
WORK_S = 300  # of one task: a long backfill continues with the next one


@shared_task(name="accounting.tasks.scrape", soft_time_limit=SOFT_S, time_limit=HARD_S)
def scrape() -> None:
    """Read every scrape source once (beat: every 30 s)."""
    clusters = Cluster.objects.filter(sources__kind=SourceKind.SCRAPE).distinct()
    for cluster in clusters:
        scrape_cluster.apply_async((cluster.pk,), expires=30)


@shared_task(
    name="accounting.tasks.scrape_cluster", soft_time_limit=SOFT_S, time_limit=HARD_S
)
def scrape_cluster(cluster_id: int) -> None:
    """Read one cluster's scrape sources."""
    samples = live_sources.scrape_cluster(Cluster.objects.get(pk=cluster_id))
    log.info("scraped", cluster=cluster_id, samples=samples)


@shared_task(name="accounting.tasks.sweep", soft_time_limit=SOFT_S, time_limit=HARD_S)
def sweep() -> None:
    """Find due work in Postgres and start tasks for it (beat: every minute)."""
    for cluster in Cluster.objects.all():
        live_sources.find_due(cluster)
        ingest.apply_async((cluster.pk,), expires=60)


@shared_task(name="accounting.tasks.ingest", soft_time_limit=SOFT_S, time_limit=HARD_S)
def ingest(cluster_id: int) -> None:
    """Compute a cluster's due windows and roll up changed hours, for some minutes."""
    done = catch_up(Cluster.objects.get(pk=cluster_id), for_s=WORK_S)
    log.info(
        "ingested",
        cluster=cluster_id,
        windows=done.ingested.windows,
        hours=done.hours,
        left=done.left.due,
    )


@shared_task(
    name="accounting.tasks.forget_attempts", soft_time_limit=SOFT_S, time_limit=HARD_S
)
def forget_attempts() -> None:
    """Remove counts of sign-in attempts that no limit needs any more (beat: every hour)."""
    log.info("sign-in attempts deleted", keys=sign_in.remove_old_limits())


@shared_task(
    name="accounting.tasks.keep_partitions", soft_time_limit=SOFT_S, time_limit=HARD_S
)
def keep_partitions() -> None:
    """Create partitions in advance and drop expired ones (beat: every hour)."""
    retention.keep()
