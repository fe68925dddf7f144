"""Creates partitions in advance and drops expired data; retention counts back from the data.

A hold keeps its totals when its facts expire (N32).
"""

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Max, Min, QuerySet

from accounting.core.ledger_line import HELD_STATES
from accounting.kit.reads.database_clock import database_now
from accounting.metering.models.ledger import DirtyHour, IngestWindow, PendingGpuHour
from accounting.metering.sql.hold_facts_sql import OF_HOLD
from accounting.metering.sql.states_sql import sums
from accounting.metering.tasks.facts import partitions
from accounting.metering.tasks.facts.reasons import FACTS
from accounting.metering.tasks.kube_state_jobs import objects
from accounting.metering.tasks.reading import scrape_buffer

AHEAD = timedelta(days=30)
HOURS_KEPT = timedelta(days=397)  # 13 months; days by GPU too
GPU_HOURS_KEPT = timedelta(days=92)  # and never shorter than facts


def enforce() -> list[str]:
    """Create partitions for the coming month, drop expired ones; returns the dropped names."""
    now = database_now()
    partitions.ensure(partitions.ALL, now, now + AHEAD)
    newest = IngestWindow.objects.aggregate(newest=Max("window_start"))["newest"]
    if newest is None:
        return []
    before = newest - timedelta(days=settings.FACT_DAYS)
    with transaction.atomic():
        keep_totals(before)
        rolled_up = min(before, _first_not_rolled_up() or before)
        dropped = partitions.drop_expired(partitions.WINDOWS, rolled_up)
        dropped += partitions.drop_expired(partitions.INTENSITY_WINDOWS, rolled_up)
    forget_evidence(rolled_up)
    of_gpus = max(GPU_HOURS_KEPT, timedelta(days=settings.FACT_DAYS))
    kept_by_gpu = _whole_days_only(newest - of_gpus)
    for table in partitions.HOURS_BY_GPU:
        dropped += partitions.drop_expired(table, kept_by_gpu)
    for table in partitions.KEPT_AS_HOURS:
        dropped += partitions.drop_expired(table, newest - HOURS_KEPT)
    forget_totals(newest - HOURS_KEPT)
    scrape_buffer.forget(before)
    objects.forget_pods(before)
    return dropped


def _whole_days_only(before: datetime) -> datetime:
    """An instant, or one two days before the oldest hour of which something is pending.

    Days by GPU are sums of hours by GPU: the hours of a day that will be summed again stay.
    """
    first = _oldest(DirtyHour.objects.all(), PendingGpuHour.objects.all())
    return before if first is None else min(before, first - timedelta(days=2))


def _first_not_rolled_up() -> datetime | None:
    """The oldest hour whose facts are not summed yet: an old range that was just computed."""
    return _oldest(
        DirtyHour.objects.filter(reason=FACTS),
        PendingGpuHour.objects.filter(needs_hour=True),
    )


def _oldest(*marks: QuerySet[Any]) -> datetime | None:
    found = [rows.aggregate(first=Min("hour_start"))["first"] for rows in marks]
    return min((first for first in found if first is not None), default=None)


def forget_totals(before: datetime) -> None:
    """Delete the totals of hours that were dropped."""
    with connection.cursor() as cursor:
        cursor.execute(
            """DELETE FROM usage_hour_total t WHERE t.hour_start < %s AND NOT EXISTS (
                   SELECT FROM usage_hour u
                   WHERE u.cluster_id = t.cluster_id AND u.hour_start = t.hour_start)""",
            [before],
        )


_EXPIRED = """
    WITH kept AS (
        SELECT cluster_id,
               least(max(window_start) - make_interval(days => %(days)s), %(rolled_up)s)
                   - interval '1 day' AS since
        FROM accounting_ingestwindow GROUP BY cluster_id
    )
"""
_FORGET = (
    """DELETE FROM accounting_gpulabelhour l USING accounting_gpu g, kept
       WHERE g.id = l.gpu_id AND kept.cluster_id = g.cluster_id
         AND l.hour_start < kept.since""",
    """DELETE FROM accounting_scrapehour h USING accounting_scraper s, kept
       WHERE s.id = h.scraper_id AND kept.cluster_id = s.cluster_id
         AND h.hour_start < kept.since""",
    """UPDATE accounting_podhold h SET label_counts = NULL FROM accounting_pod p, kept
       WHERE p.id = h.pod_id AND kept.cluster_id = p.cluster_id
         AND h.label_counts IS NOT NULL
         AND h.ended_ms < extract(epoch FROM kept.since) * 1000""",
)


def forget_evidence(rolled_up: datetime) -> None:
    """Delete hourly evidence of time whose windows are never computed again.

    Up to a day before the facts of the cluster expire, or before an instant whose hours are
    not rolled up yet: an old range that is being computed.

    Deletes labels and scrapes of each hour, and the counts of holds that ended. Kept is what the
    present depends on: the counts of lasting holds, and when objects, GPUs and kube-state were
    seen, as spans.
    """
    values: dict[str, int | datetime] = {
        "days": settings.FACT_DAYS,
        "rolled_up": rolled_up,
    }
    with transaction.atomic(), connection.cursor() as cursor:
        for statement in _FORGET:
            cursor.execute(_EXPIRED + statement, values)


_KEEP_TOTALS = f"""
    WITH ended AS MATERIALIZED (
        SELECT id, pod_id, resource, bound_ms, ended_ms FROM accounting_podhold
        WHERE total_busy_ms IS NULL AND ended_ms IS NOT NULL AND ended_ms < %s
    ), f AS (
        SELECT ended.id, {sums("u", HELD_STATES)}
        FROM ended JOIN usage_window u ON {OF_HOLD.format(hold="ended")}
        WHERE u.window_start < %s GROUP BY ended.id
    )
    UPDATE accounting_podhold h
    SET total_busy_ms = f.busy_ms, total_idle_ms = f.idle_ms,
        total_unknown_ms = f.unknown_ms
    FROM f WHERE h.id = f.id
"""


def keep_totals(before: datetime) -> None:
    """Write the totals of holds that ended before an instant and have none yet.

    The page of a workload shows them if the facts of a hold have expired.
    """
    with connection.cursor() as cursor:
        before_ms = int(before.timestamp() * 1000)
        cursor.execute(_KEEP_TOTALS, [before_ms, before])
