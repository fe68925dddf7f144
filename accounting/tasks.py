"""Celery entry points. They only wake workers: due work is recorded in the window ledger.

A message that is lost, or a task that runs twice or in parallel, changes nothing.
"""

from datetime import UTC, datetime

import structlog
from celery import shared_task

from accounting.budgets.actions.budgets import fire_alerts
from accounting.budgets.actions.forecasts import record_forecasts
from accounting.exports.tasks.jobs import expire_jobs, next_job, run_job
from accounting.exports.tasks.scheduled import queue_for_bucket, write_scheduled
from accounting.metering.models.cluster import Cluster, SourceKind
from accounting.metering.tasks import live_sources
from accounting.metering.tasks.facts import retention
from accounting.months.actions.close_requests import next_close, run_close
from accounting.months.tasks.hours import divide_closed
from accounting.months.tasks.keep import book_changed
from accounting.notifications.tasks import remove_old, send_due
from accounting.organization.actions import sign_in_attempts
from accounting.usage.tasks.catch_up import catch_up

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
    log.info("sign-in attempts deleted", keys=sign_in_attempts.remove_old_limits())


@shared_task(
    name="accounting.tasks.keep_partitions", soft_time_limit=SOFT_S, time_limit=HARD_S
)
def keep_partitions() -> None:
    """Create partitions in advance and drop expired ones (beat: every hour)."""
    retention.enforce()


@shared_task(
    name="accounting.tasks.check_budgets", soft_time_limit=SOFT_S, time_limit=HARD_S
)
def check_budgets() -> None:
    """Record forecasts, and thresholds that budgets have reached (beat: every 15 minutes)."""
    log.info("budgets checked", alerts=fire_alerts(), forecasts=record_forecasts())


@shared_task(name="accounting.tasks.write_exports")
def write_exports() -> None:
    """Write the files that wait, one after the other (beat: every minute; also on request)."""
    while (job := next_job()) is not None:
        is_done = run_job(job)
        log.info("export", job=job.pk, done=is_done)


@shared_task(
    name="accounting.tasks.send_notifications",
    soft_time_limit=SOFT_S,
    time_limit=HARD_S,
)
def send_notifications() -> None:
    """Send the messages that are due (beat: every 20 s; also when one is stored).

    Then messages whose time to keep has ended are removed.
    """
    removed = remove_old(datetime.now(UTC))
    log.info("messages sent", tried=send_due(for_s=WORK_S), removed=removed)


@shared_task(name="accounting.tasks.close_months")
def close_months() -> None:
    """Close the months whose close is requested (beat: every minute; also on request).

    Then the running month is booked: from now on it has the corrections of those months.
    """
    is_any_closed = False
    while (asked := next_close()) is not None:
        is_done = run_close(asked)
        log.info("close", period=asked.period, done=is_done)
        is_any_closed |= is_done
    if is_any_closed:
        book_periods()


@shared_task(name="accounting.tasks.keep_exports")
def keep_exports() -> None:
    """Remove expired files, and write scheduled ones that are missing (beat: every hour)."""
    log.info(
        "exports kept",
        removed=expire_jobs(),
        written=len(write_scheduled()),
        queued=queue_for_bucket(),
    )


@shared_task(
    name="accounting.tasks.book_periods", soft_time_limit=SOFT_S, time_limit=HARD_S
)
def book_periods() -> None:
    """Book the months that are not closed, if something changed (beat: every 10 minutes).

    Closed months whose lines have no hours yet get them.
    """
    log.info(
        "periods booked",
        periods=book_changed(datetime.now(UTC)),
        divided=divide_closed(),
    )
