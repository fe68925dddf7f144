"""The pods of one workload: when and where each held GPUs, and its busy time."""

from dataclasses import dataclass

from django.db import connection

from accounting.core.efficiency import StateTimes
from accounting.core.ledger_line import HELD_STATES
from accounting.kit.reads.selection import Selection
from accounting.metering.sql.hold_facts_sql import OF_HOLD
from accounting.metering.sql.states_sql import sums


@dataclass(frozen=True, slots=True)
class PodStretch:
    """One hold of one pod.

    Attributes:
        units: of its resource.
        bound_ms, ended_ms: of the whole hold; `ended_ms` is None while it lasts.
        times: held within the period, from five-minute facts; of the whole hold if those have
            expired; None if neither is stored.
    """

    times: StateTimes | None
    pod: str
    uid: str
    node: str
    resource: str
    units: int
    bound_ms: int
    ended_ms: int | None
    ended_by: str


# Facts are looked up by cluster, window and the GPUs of the pod's node: the cost depends on the
# shown holds, not on the cluster.
_QUERY = f"""
    WITH held AS MATERIALIZED (
        SELECT p.cluster_id, h.pod_id, p.name, p.uid, nd.name AS node, h.resource,
               h.units, h.bound_ms, h.ended_ms, h.ended_by, h.total_busy_ms,
               h.total_idle_ms, h.total_unknown_ms, count(*) OVER () AS listed,
               ARRAY(
                   SELECT DISTINCT gp.gpu_id FROM accounting_gpupresence gp
                   JOIN accounting_gpu g ON g.id = gp.gpu_id
                   WHERE gp.node_id = h.node_id
                     AND (%(model)s = '' OR g.model = %(model)s)
               ) AS gpus
        FROM accounting_workload w
        JOIN accounting_namespace n ON n.id = w.namespace_id
        JOIN accounting_pod p ON p.workload_id = w.id
        JOIN accounting_podhold h ON h.pod_id = p.id
        JOIN accounting_node nd ON nd.id = h.node_id
        LEFT JOIN accounting_podattribution a ON a.pod_id = p.id
            AND a.valid_from <= to_timestamp(h.bound_ms / 1000.0)
            AND to_timestamp(h.bound_ms / 1000.0) < a.valid_to
        LEFT JOIN accounting_team t ON t.id = a.team_id
        WHERE n.name = %(namespace)s AND w.kind = %(kind)s AND w.name = %(workload)s
          AND (%(team)s::text IS NULL OR coalesce(t.slug, 'unmapped') = %(team)s)
          AND (%(scope)s::bigint[] IS NULL OR a.team_id = ANY(%(scope)s))
          AND h.bound_ms < %(end_ms)s
          AND (h.ended_ms IS NULL OR h.ended_ms > %(start_ms)s)
          AND (%(model)s = '' OR EXISTS (
              SELECT FROM accounting_gpupresence gp
              JOIN accounting_gpu g ON g.id = gp.gpu_id
              WHERE gp.node_id = h.node_id AND g.model = %(model)s))
        ORDER BY h.ended_ms DESC NULLS FIRST, h.bound_ms DESC, p.uid
        LIMIT %(limit)s
    )
    SELECT held.name, held.uid, held.node, held.resource, held.units, held.bound_ms,
           held.ended_ms, held.ended_by,
           coalesce(f.busy_ms, held.total_busy_ms),
           coalesce(f.idle_ms, held.total_idle_ms),
           coalesce(f.unknown_ms, held.total_unknown_ms), held.listed
    FROM held
    CROSS JOIN LATERAL (
        SELECT {sums("u", HELD_STATES)}
        FROM usage_window u
        WHERE u.cluster_id = held.cluster_id
          AND u.window_start >= %(start)s AND u.window_start < %(end)s
          AND u.gpu_id = ANY(held.gpus) AND {OF_HOLD.format(hold="held")}
    ) f
    ORDER BY held.ended_ms DESC NULLS FIRST, held.bound_ms DESC, held.uid
"""


def pods_of_workload(
    selection: Selection,
    namespace: str,
    kind: str,
    workload: str,
    model: str = "",
    limit: int = 25,
) -> tuple[list[PodStretch], int]:
    """The newest holds of a workload that overlap the period, and their total number.

    Args:
        selection: with its period set; its team filter and scope apply.
        model: only on nodes with this GPU model; "" for all.
    """
    period = selection.period
    if period is None:
        raise ValueError("a period is required")
    teams = selection.scope.team_ids
    parameters = {
        "namespace": namespace,
        "kind": kind,
        "workload": workload,
        "model": model,
        "team": next(iter(selection.filters.get("team", ())), None),
        "scope": None if teams is None else sorted(teams),
        "start": period.start,
        "end": period.end,
        "start_ms": period.start_ms,
        "end_ms": period.end_ms,
        "limit": limit,
    }
    with connection.cursor() as cursor:
        cursor.execute(_QUERY, parameters)
        found = cursor.fetchall()
    rows = [
        PodStretch(None if busy is None else StateTimes(busy, idle, unknown), *held)
        for *held, busy, idle, unknown, _ in found
    ]
    return rows, found[0][-1] if found else 0
