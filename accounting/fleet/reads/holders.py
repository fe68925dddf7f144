"""The holders of a GPU, now and over a period, within the person's scope."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection

from accounting.access.scope import Scope
from accounting.core.interval import Interval
from accounting.kit.reads.selection import Selection
from accounting.metering.sql.states_sql import held

Gpu = tuple[str, str]  # cluster, UUID


@dataclass(frozen=True, slots=True)
class GpuHolder:
    """One pod that holds a GPU."""

    pod: str
    namespace: str
    team: str  # slug, or `unmapped`
    is_inferred: bool = False


_NOW = """
    SELECT c.name, g.uuid, p.name, n.name, coalesce(t.slug, 'unmapped'), (w.flags & 2) <> 0
    FROM accounting_cluster c
    CROSS JOIN LATERAL (
        SELECT i.window_start FROM accounting_ingestwindow i
        WHERE i.cluster_id = c.id AND i.shard = 0 AND i.rows > 0
        ORDER BY i.window_start DESC LIMIT 1
    ) newest
    CROSS JOIN LATERAL (  -- OFFSET 0 keeps it a look-up of one window, and of its pods
        SELECT u.gpu_id, u.pod_id, u.window_start, u.flags FROM usage_window u
        WHERE u.cluster_id = c.id AND u.window_start = newest.window_start AND u.pod_id <> 0
        OFFSET 0
    ) w
    CROSS JOIN LATERAL (
        SELECT name, namespace_id FROM accounting_pod WHERE id = w.pod_id OFFSET 0
    ) p
    LEFT JOIN LATERAL (
        SELECT team_id FROM accounting_podattribution
        WHERE pod_id = w.pod_id AND valid_from <= w.window_start AND w.window_start < valid_to
        OFFSET 0
    ) a ON true
    JOIN accounting_gpu g ON g.id = w.gpu_id
    JOIN accounting_namespace n ON n.id = p.namespace_id
    LEFT JOIN accounting_team t ON t.id = a.team_id
    WHERE (%(uuids)s::text[] IS NULL OR g.uuid = ANY(%(uuids)s))
      AND (%(scope)s::bigint[] IS NULL OR a.team_id = ANY(%(scope)s))
    ORDER BY c.name, g.uuid, p.name
"""


def holders_now(
    scope: Scope, uuids: Collection[str] | None = None
) -> dict[Gpu, tuple[GpuHolder, ...]]:
    """The holders of each GPU in the newest window of its cluster; GPUs without one are left out.

    Everybody gets the same result for the pods of the teams that they may see.
    """
    parameters = {
        "uuids": None if uuids is None else list(uuids),
        "scope": None if scope.team_ids is None else sorted(scope.team_ids),
    }
    found: dict[Gpu, tuple[GpuHolder, ...]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_NOW, parameters)
        for cluster, gpu, pod, namespace, team, inferred in cursor.fetchall():
            one = GpuHolder(pod, namespace, team, bool(inferred))
            found[cluster, gpu] = (*found.get((cluster, gpu), ()), one)
    return found


# Facts are summed before they are joined: a day of 50 GPUs has 7,000 of them, of 170 pods.
_FACTS = f"""
    FROM (
        SELECT w.cluster_id, w.gpu_id, w.pod_id, a.team_id, sum({held("w")}) AS held_ms,
               bool_or((w.flags & 2) <> 0) AS is_inferred
        FROM usage_window w
        LEFT JOIN accounting_podattribution a ON a.pod_id = w.pod_id
            AND a.valid_from <= w.window_start AND w.window_start < a.valid_to
        WHERE w.window_start >= %(start)s AND w.window_start < %(end)s AND w.pod_id <> 0
          AND (%(clusters)s::text[] IS NULL OR w.cluster_id = ANY(ARRAY(
                SELECT id FROM accounting_cluster WHERE name = ANY(%(clusters)s))))
          AND (%(uuids)s::text[] IS NULL OR w.gpu_id = ANY(ARRAY(
                SELECT id FROM accounting_gpu WHERE uuid = ANY(%(uuids)s))))
          AND (%(scope)s::bigint[] IS NULL OR a.team_id = ANY(%(scope)s))
        GROUP BY w.cluster_id, w.gpu_id, w.pod_id, a.team_id
    ) w
    CROSS JOIN LATERAL (
        SELECT id, name, namespace_id FROM accounting_pod WHERE id = w.pod_id OFFSET 0
    ) p
    JOIN accounting_gpu g ON g.id = w.gpu_id
    JOIN accounting_cluster c ON c.id = w.cluster_id
    JOIN accounting_namespace n ON n.id = p.namespace_id
    LEFT JOIN accounting_team t ON t.id = w.team_id
"""  # of this module's own words
_HELD = f"""
    SELECT c.name, g.uuid, p.name, n.name, coalesce(t.slug, 'unmapped') AS team,
           bool_or(w.is_inferred)
    {_FACTS}
    GROUP BY c.name, g.uuid, p.name, n.name, team, p.id
    ORDER BY c.name, g.uuid, sum(w.held_ms) DESC, p.name, n.name
"""
_FOUND = f"""
    SELECT DISTINCT c.name, g.uuid {_FACTS}
    WHERE strpos(lower(p.name), %(words)s) > 0 OR strpos(lower(n.name), %(words)s) > 0
       OR strpos(lower(coalesce(t.name, 'unmapped')), %(words)s) > 0
"""


def held_in(
    selection: Selection, uuids: Sequence[str]
) -> Mapping[Gpu, tuple[GpuHolder, ...]]:
    """The holders of some GPUs in a period of five-minute facts, those with the most time first.

    Use it only for GPUs that are shown: it reads every window of them.
    """
    found: dict[Gpu, tuple[GpuHolder, ...]] = {}
    period = selection.period
    if not uuids or period is None or not period.length_ms:
        return found
    parameters = _parameters(selection, period) | {"uuids": list(uuids)}
    with connection.cursor() as cursor:
        cursor.execute(_HELD, parameters)
        for cluster, gpu, *rest in cursor.fetchall():
            held = found.get((cluster, gpu), ())
            found[cluster, gpu] = (*held, GpuHolder(*rest))
    return found


def gpus_held_by(selection: Selection, words: str) -> set[Gpu]:
    """GPUs that a pod, namespace or team with this text in its name held in a period."""
    period = selection.period
    if not words or period is None or not period.length_ms:
        return set()
    parameters = _parameters(selection, period) | {
        "words": words.lower(),
        "uuids": None,
    }
    with connection.cursor() as cursor:
        cursor.execute(_FOUND, parameters)
        return {(cluster, gpu) for cluster, gpu in cursor.fetchall()}


def _parameters(selection: Selection, period: Interval) -> dict[str, Any]:
    scope = selection.scope.team_ids
    return {
        "start": period.start,
        "end": period.end,
        "clusters": list(selection.filters.get("cluster", ())) or None,
        "scope": None if scope is None else sorted(scope),
    }
