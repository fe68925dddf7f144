"""How long holds lasted that ended in the last 90 days, and which of them are alike (S19)."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from django.db import connection

from accounting.core.interval import to_ms
from scheduler_view.queues.rules.pools import ResourcePool
from scheduler_view.queues.rules.remaining import Group, HoldDurations

LOOK_BACK = timedelta(days=90)


def groups_of(
    team: int | None, workload: str, type_: str, pool: ResourcePool, tier: str
) -> tuple[Group, ...]:
    """The groups of a hold, best first: its workload, its team and type, its pool and tier."""
    found: list[Group] = []
    if team is not None and workload:
        found.append(("workload", str(team), workload))
    if team is not None and type_:
        found.append(("type", str(team), type_))
    return (*found, ("pool", pool.resource, pool.model, tier))


def hold_durations(now: datetime) -> HoldDurations:
    """Durations of ended holds of all clusters, by group."""
    by_group: dict[Group, list[int]] = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute(_ENDED, {"since": to_ms(now - LOOK_BACK), "now": to_ms(now)})
        for team, workload, type_, resource, model, tier, lasted in cursor:
            pool = ResourcePool(resource, model or "")
            for group in groups_of(team, workload or "", type_, pool, tier):
                by_group[group].append(lasted)
    return HoldDurations(by_group)


_ENDED = """
    SELECT a.team_id, l.name, a.workload_type, h.resource, f.model, a.tier,
           h.ended_ms - h.bound_ms
    FROM accounting_podhold h
    JOIN accounting_pod p ON p.id = h.pod_id
    JOIN accounting_podattribution a ON a.pod_id = p.id
         AND a.valid_from <= to_timestamp(h.ended_ms / 1000.0)
         AND a.valid_to > to_timestamp(h.ended_ms / 1000.0)
    LEFT JOIN accounting_workload l ON l.id = p.workload_id
    LEFT JOIN LATERAL (
        SELECT model FROM accounting_nodefact n WHERE n.node_id = h.node_id
        ORDER BY n.valid_from DESC LIMIT 1
    ) f ON true
    WHERE h.ended_ms BETWEEN %(since)s AND %(now)s
"""


def owners_of_pods(
    cluster_id: int, uids: Collection[str], now: datetime
) -> dict[str, tuple[int | None, str, str]]:
    """Team, workload name and workload type of pods, by uid; only those in metrics."""
    with connection.cursor() as cursor:
        cursor.execute(_OWNERS, [now, now, cluster_id, list(uids)])
        rows: Sequence[tuple[str, int | None, str, str]] = cursor.fetchall()
    return {uid: (team, name, type_) for uid, team, name, type_ in rows}


_OWNERS = """
    SELECT p.uid, a.team_id, coalesce(l.name, ''), coalesce(a.workload_type, '')
    FROM accounting_pod p
    LEFT JOIN accounting_workload l ON l.id = p.workload_id
    LEFT JOIN accounting_podattribution a
         ON a.pod_id = p.id AND a.valid_from <= %s AND a.valid_to > %s
    WHERE p.cluster_id = %s AND p.uid = ANY(%s)
"""
