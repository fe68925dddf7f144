"""Billing days whose findings are missing, or were computed from other data."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection

from accounting.access.reads.billing_settings import (
    billing_day,
    billing_remembered,
    midnight,
)
from accounting.core.interval import to_ms
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.ledger import DirtyHour, IngestWindow, WindowState
from scheduler_view.savings.models import WasteDay
from scheduler_view.savings.reads.setting_limits import limits_in_force

RUNNING_DAY_EVERY = timedelta(hours=1)

# Facts, teams and prices of a day are in its hours; windows show changes inside of an hour. The
# rest is what observations keep of pools, nodes and waits.
_DIGEST = """
    SELECT md5(concat_ws(
        '-', '4',  -- of the rules: another number makes every day due again
        (SELECT concat_ws('.', count(*), bit_xor(hashtextextended(h::text, 0)))
         FROM usage_hour h
         WHERE h.cluster_id = %(cluster)s
           AND h.hour_start >= %(start)s AND h.hour_start < %(end)s),
        (SELECT bit_xor(hashtextextended(concat_ws('.', w.window_start, w.shard,
                        encode(w.content_hash, 'hex')), 0))
         FROM accounting_ingestwindow w
         WHERE w.cluster_id = %(cluster)s
           AND w.window_start >= %(start)s AND w.window_start < %(end)s),
        (SELECT bit_xor(hashtextextended(concat_ws('.', d.pod_id, d.bound_ms, d.ended_ms,
                        d.ended_by), 0))
         FROM accounting_podhold d JOIN accounting_pod p ON p.id = d.pod_id
         WHERE p.cluster_id = %(cluster)s AND d.bound_ms < %(end_ms)s
           AND (d.ended_ms IS NULL OR d.ended_ms >= %(start_ms)s)),
        (SELECT bit_xor(hashtextextended(concat_ws('.', s.resource, s.model, s.policy_nodes,
                        s.unused_nodes, s.since, least(s.until, %(end)s)), 0))
         FROM scheduler_view_poolsample s
         WHERE s.cluster_id = %(cluster)s AND s.until > %(start)s AND s.since < %(end)s
           AND (s.policy_nodes <> '{}' OR s.unused_nodes <> '{}')),
        (SELECT bit_xor(hashtextextended(concat_ws('.', k.node, k.pods, k.since,
                        least(k.until, %(end)s)), 0))
         FROM scheduler_view_keptnode k
         WHERE k.cluster_id = %(cluster)s AND k.until > %(start)s AND k.since < %(end)s),
        (SELECT bit_xor(hashtextextended(concat_ws('.', c.node, c.cpu_milli, c.model, c.since,
                        least(c.until, %(end)s)), 0))
         FROM scheduler_view_freecpusample c
         WHERE c.cluster_id = %(cluster)s AND c.until > %(start)s AND c.since < %(end)s),
        (SELECT bit_xor(hashtextextended(concat_ws('.', t.wait_id, t.lower_pods, t.units,
                        t.since, least(t.until, %(end)s)), 0))
         FROM scheduler_view_waitstretch t JOIN scheduler_view_waitrecord r ON r.id = t.wait_id
         WHERE r.cluster_id = %(cluster)s AND t.lower_units IS NOT NULL
           AND t.until > %(start)s AND t.since < %(end)s),
        (SELECT bit_xor(hashtextextended(concat_ws('.', e.pod_uid, e.at), 0))
         FROM scheduler_view_preemption e
         WHERE e.cluster_id = %(cluster)s AND e.at >= %(start)s AND e.at < %(end)s),
        %(limits)s::text
    ))
"""
_BOUNDS = """
    SELECT (SELECT window_start FROM usage_window WHERE cluster_id = %(cluster)s
            ORDER BY window_start LIMIT 1),
           (SELECT window_start FROM usage_window WHERE cluster_id = %(cluster)s
            ORDER BY window_start DESC LIMIT 1)
"""


@dataclass(frozen=True, slots=True)
class DueDay:
    """A day to compute, with the digest of the data that it will be computed from."""

    day: date
    start: datetime
    end: datetime
    digest: str


def due_days(cluster: Cluster, now: datetime) -> Iterator[DueDay]:
    """Days with facts whose digest is not the stored one, newest first.

    The running day changes with each window; it is due once an hour. A past day is due when its
    windows are computed and its hours rolled up, so that imported history is computed once.
    """
    with connection.cursor() as cursor:
        cursor.execute(_BOUNDS, {"cluster": cluster.pk})
        first, last = cursor.fetchone()
    if first is None:
        return
    done = {row.day: row for row in WasteDay.objects.filter(cluster=cluster)}
    with billing_remembered():
        oldest = max(first, last - timedelta(days=settings.FACT_DAYS))
        start_day, day = _whole_day_from(oldest, first), billing_day(last)
        while day >= start_day:
            start, end = midnight(day), midnight(day + timedelta(days=1))
            if end > now or not _is_being_computed(cluster, start, end):
                one = DueDay(day, start, end, _digest(cluster, start, end))
                if not _is_done(one, done.get(day), now):
                    yield one
            day -= timedelta(days=1)


def _is_done(one: DueDay, stored: WasteDay | None, now: datetime) -> bool:
    if stored is None:
        return False
    is_fresh = one.end > now and stored.computed_at > now - RUNNING_DAY_EVERY
    return is_fresh or stored.digest == one.digest


def _whole_day_from(oldest: datetime, first: datetime) -> date:
    """The first day to compute: without a day of which facts have partly expired."""
    day = billing_day(oldest)
    return day if oldest == first else day + timedelta(days=1)


def _is_being_computed(cluster: Cluster, start: datetime, end: datetime) -> bool:
    """True while windows or hours are due; those that failed do not delay the others."""
    windows = IngestWindow.objects.filter(
        cluster=cluster,
        window_start__gte=start,
        window_start__lt=end,
        state__in=(WindowState.PENDING, WindowState.CLAIMED),
    )
    hours = DirtyHour.objects.filter(
        cluster=cluster, hour_start__gte=start, hour_start__lt=end
    )
    return windows.exists() or hours.exists()


def _digest(cluster: Cluster, start: datetime, end: datetime) -> str:
    values: dict[str, Any] = {
        "cluster": cluster.pk,
        "start": start,
        "end": end,
        "start_ms": to_ms(start),
        "end_ms": to_ms(end),
        "limits": json.dumps(limits_in_force()),
    }
    with connection.cursor() as cursor:
        cursor.execute(_DIGEST, values)
        found: str = cursor.fetchone()[0]
        return found
