"""Work on on-demand nodes, what spot costs, and what preemptions lost there (S31)."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from django.conf import settings
from django.db import connection
from django.db.models import Sum

from accounting.core.interval import HOUR_MS
from accounting.metering.models.cluster import Cluster
from accounting.prices.sql.price_sql import SPOT_PRICE
from scheduler_view.savings.models import WasteFinding
from scheduler_view.savings.reads.past_waits import backoff_limits_of
from scheduler_view.savings.rules.finding import WasteRule
from scheduler_view.savings.rules.gangs import GangMember, most_at_once
from scheduler_view.savings.rules.sizing.spot import (
    TYPES,
    OnDemandTime,
    SpotLimits,
    SpotLoss,
    SpotWork,
)

LOOK_BACK = timedelta(days=28)
_TIMES = f"""
    WITH c AS (
        SELECT h.cluster_id, h.hour_start AS at, h.model, 'spot' AS lifecycle, h.tier,
               coalesce(u.profile, '') AS profile, h.currency, h.rate, h.workload_id,
               h.team_id, h.workload_type, sum(h.busy_ms + h.idle_ms) AS known_ms
        FROM usage_hour h LEFT JOIN accounting_unitprice u ON u.id = h.price_id
        WHERE h.cluster_id = %(cluster)s AND h.billing_on = %(day)s
          AND h.hour_start >= %(day)s::date - interval '1 day'
          AND h.hour_start < %(day)s::date + interval '2 days'
          AND h.lifecycle = 'on-demand' AND h.workload_id <> 0
          AND h.workload_type = ANY(%(types)s)
        GROUP BY h.cluster_id, h.hour_start, h.model, h.tier, u.profile, h.currency, h.rate,
                 h.workload_id, h.team_id, h.workload_type
    )
    SELECT c.workload_id, c.workload_type, c.team_id, c.rate, s.rate AS spot_rate,
           c.currency, sum(c.known_ms)::bigint
    FROM c LEFT JOIN LATERAL ({SPOT_PRICE}) s ON true
    GROUP BY c.workload_id, c.workload_type, c.team_id, c.rate, spot_rate, c.currency
    ORDER BY c.workload_id, c.workload_type, c.team_id, c.rate, spot_rate, c.currency
"""  # noqa: S608  # composed of constants
_HOLDS = """
    SELECT p.workload_id, w.kind, n.name, w.name, h.bound_ms,
           least(coalesce(h.ended_ms, %(until)s), %(until)s)
    FROM accounting_podhold h
    JOIN accounting_pod p ON p.id = h.pod_id
    JOIN accounting_workload w ON w.id = p.workload_id
    JOIN accounting_namespace n ON n.id = w.namespace_id
    WHERE p.workload_id = ANY(%(workloads)s) AND h.bound_ms < %(until)s
    ORDER BY p.workload_id, h.bound_ms
"""


@dataclass(frozen=True, slots=True)
class OnDemandWork:
    """One unit with its on-demand time of a day."""

    work: SpotWork
    times: tuple[OnDemandTime, ...]


def spot_limits() -> SpotLimits:
    """Which work may be interrupted, by the settings `SPOT_PODS` and `SPOT_HOURS`."""
    return SpotLimits(settings.SPOT_PODS, settings.SPOT_HOURS * HOUR_MS)


def on_demand_work(cluster: Cluster, day: date, until_ms: int) -> list[OnDemandWork]:
    """Batch and training work that was on on-demand nodes on a billing day.

    Args:
        until_ms: the instant up to which holds are known.
    """
    times: dict[tuple[int, str], list[OnDemandTime]] = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute(
            _TIMES, {"cluster": cluster.pk, "day": day, "types": sorted(TYPES)}
        )
        for workload, kind, team, rate, spot, currency, known_ms in cursor:
            one = OnDemandTime(day.toordinal(), team, known_ms, rate, spot, currency)
            times[workload, kind].append(one)
    holds = _holds(cluster, {workload for workload, _ in times}, until_ms)
    found = []
    for (workload, kind), own in sorted(times.items(), key=lambda item: item[0]):
        held = holds.get(workload)
        if held is None:
            continue
        work = SpotWork(
            workload,
            held.kind,
            kind,
            held.backoff_limit,
            most_at_once(GangMember(0, bound, ended) for bound, ended in held.spans),
            max(ended - bound for bound, ended in held.spans),
        )
        found.append(OnDemandWork(work, tuple(own)))
    return found


@dataclass(slots=True)
class _Holds:
    kind: str
    backoff_limit: int | None
    spans: list[tuple[int, int]]


def _holds(
    cluster: Cluster, workloads: Collection[int], until_ms: int
) -> Mapping[int, _Holds]:
    if not workloads:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_HOLDS, {"workloads": list(workloads), "until": until_ms})
        rows = cursor.fetchall()
    limits = backoff_limits_of(cluster, {name for _, _, _, name, _, _ in rows})
    found: dict[int, _Holds] = {}
    for workload, kind, namespace, name, bound, ended in rows:
        limit = limits.get((kind, namespace, name))
        own = found.setdefault(workload, _Holds(kind, limit, []))
        own.spans.append((bound, max(bound, ended)))
    return found


def spot_loss(cluster: Cluster, day: date) -> SpotLoss:
    """What ran on spot in the 28 days up to a day, and what preemptions lost there."""
    values: dict[str, int | date] = {
        "cluster": cluster.pk,
        "first": day - LOOK_BACK,
        "last": day,
    }
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT coalesce(sum(busy_ms + idle_ms), 0)::bigint FROM usage_day
               WHERE cluster_id = %(cluster)s AND lifecycle = 'spot'
                 AND billing_on > %(first)s AND billing_on <= %(last)s""",
            values,
        )
        held = int(cursor.fetchone()[0])
    lost = WasteFinding.objects.filter(
        cluster=cluster,
        rule=WasteRule.PREEMPTED,
        day__gt=day - LOOK_BACK,
        day__lte=day,
        evidence__lifecycle="spot",
    ).aggregate(lost=Sum("gpu_ms"))["lost"]
    return SpotLoss(held, lost or 0)
