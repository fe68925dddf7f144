"""One GPU, or several, through time: holders and presence, to five minutes."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from accounting.core.efficiency import StateTimes
from accounting.core.interval import Interval
from accounting.core.ledger_line import HELD_STATES
from accounting.kit.reads.hidden import HiddenError
from accounting.kit.reads.paging import ALL_ROWS, Key, Seek
from accounting.kit.reads.selection import Selection, refuse_others, stored_period
from accounting.metering.models.cluster import GpuGeometry
from accounting.metering.sql.states_sql import sums, wall


@dataclass(frozen=True, slots=True)
class HeldStretch(StateTimes):
    """Adjoining windows in which one pod of one team held a GPU, or an instance of it.

    Attributes:
        instance: number of the MIG instance; -1 for the whole GPU.
        start, end: half-open, on the window grid: if two pods share a window, both have it.
        is_inferred: the GPU was inferred in some of these windows (rules.md N18).
    """

    cluster: str
    node: str
    gpu: str
    instance: int
    team: str  # slug, or `unmapped`
    namespace: str
    pod: str
    uid: str
    start: datetime
    end: datetime
    is_inferred: bool


@dataclass(frozen=True, slots=True)
class PresenceInterval:
    """Adjoining windows in which a GPU (or instance) was present.

    Attributes:
        is_dark: it is not known whether a pod held it.
    """

    gpu: str
    instance: int
    start: datetime
    end: datetime
    is_dark: bool


# Windows of one pod that follow each other share `island`: their start minus their number.
_HELD = """
    WITH fact AS (
        SELECT w.cluster_id, w.node_id, w.gpu_id, w.instance, w.pod_id, a.team_id,
               w.window_start, w.busy_ms, w.idle_ms, w.unknown_ms,
               (w.flags & 2) <> 0 AS is_inferred
        FROM usage_window w
        LEFT JOIN accounting_podattribution a ON a.pod_id = w.pod_id
            AND a.valid_from <= w.window_start AND w.window_start < a.valid_to
        WHERE w.cluster_id = ANY(%(clusters)s) AND w.pod_id <> 0
          AND w.window_start >= %(start)s AND w.window_start < %(end)s
          AND (%(gpus)s::bigint[] IS NULL OR w.gpu_id = ANY(%(gpus)s))
          AND (%(scope)s::bigint[] IS NULL OR a.team_id = ANY(%(scope)s))
    ), island AS (
        SELECT *, window_start - interval '5 minutes' * row_number() OVER (
            PARTITION BY node_id, gpu_id, instance, pod_id, team_id ORDER BY window_start
        ) AS island FROM fact
    ), stretch AS (
        SELECT cluster_id, node_id, gpu_id, instance, pod_id, team_id,
               min(window_start) AS start,
               max(window_start) + interval '5 minutes' AS after,
               {sums}, bool_or(is_inferred) AS is_inferred
        FROM island
        GROUP BY cluster_id, node_id, gpu_id, instance, pod_id, team_id, island
    )
    SELECT s.busy_ms, s.idle_ms, s.unknown_ms, c.name, nd.name, g.uuid, s.instance,
           coalesce(t.slug, 'unmapped') AS team, n.name, p.name, p.uid, s.start, s.after,
           s.is_inferred
    FROM stretch s
    JOIN accounting_cluster c ON c.id = s.cluster_id
    JOIN accounting_node nd ON nd.id = s.node_id
    JOIN accounting_gpu g ON g.id = s.gpu_id
    JOIN accounting_pod p ON p.id = s.pod_id
    JOIN accounting_namespace n ON n.id = p.namespace_id
    LEFT JOIN accounting_team t ON t.id = s.team_id
    WHERE (%(f_team)s::text[] IS NULL OR coalesce(t.slug, 'unmapped') = ANY(%(f_team)s))
      AND (%(f_namespace)s::text[] IS NULL OR n.name = ANY(%(f_namespace)s))
      AND (%(f_pod)s::text[] IS NULL OR p.name = ANY(%(f_pod)s))
      AND (%(f_node)s::text[] IS NULL OR nd.name = ANY(%(f_node)s))
      AND {after}
    ORDER BY {order} LIMIT %(limit)s
"""
_ORDER = """c.name, g.uuid, s.instance, s.start, n.name, p.name, p.uid,
    coalesce(t.slug, 'unmapped'), nd.name"""  # unique: a page starts after one
_AFTER = f"""({_ORDER}) > (%(after_cluster)s, %(after_gpu)s, %(after_instance)s,
    %(after_start)s::timestamptz, %(after_namespace)s, %(after_pod)s, %(after_uid)s,
    %(after_team)s, %(after_node)s)"""
HOLDER_FILTERS = ("cluster", "team", "namespace", "node", "gpu", "pod", "model")
_GPU_IDS = """
    SELECT g.id, g.cluster_id FROM accounting_gpu g
    JOIN accounting_cluster c ON c.id = g.cluster_id
    WHERE (%(cluster)s::text[] IS NULL OR c.name = ANY(%(cluster)s))
      AND (%(gpu)s::text[] IS NULL OR g.uuid = ANY(%(gpu)s))
      AND (%(model)s::text[] IS NULL OR g.model = ANY(%(model)s))
      AND (%(after_gpu)s::text IS NULL
           OR (c.name, g.uuid) >= (%(after_cluster)s, %(after_gpu)s))
"""


_KEY = (
    *("cluster", "gpu", "instance", "start", "namespace", "pod", "uid", "team", "node"),
)


def stretch_key(row: HeldStretch) -> Key:
    """The position of a stretch in `held_stretches`."""
    return tuple(
        row.start.isoformat() if name == "start" else getattr(row, name)
        for name in _KEY
    )


def held_stretches(selection: Selection, seek: Seek = ALL_ROWS) -> list[HeldStretch]:
    """The holders of each GPU over time, by GPU and time, within the person's scope.

    As far back as facts are stored.

    Args:
        selection: period and filters.
        seek: the page, by `stretch_key`.

    Raises:
        SelectionError: a filter other than HOLDER_FILTERS.
    """
    refuse_others(selection, HOLDER_FILTERS, "holders of GPUs")
    after = (
        dict.fromkeys(_KEY)
        if seek.after is None
        else dict(zip(_KEY, seek.after, strict=True))
    )
    parameters = _asked(selection, after) | {"limit": seek.limit}
    filters = selection.filters
    for name in ("team", "namespace", "node", "pod"):
        parameters[f"f_{name}"] = list(filters[name]) if name in filters else None
    text = _HELD.format(
        sums=sums(states=HELD_STATES),
        order=_ORDER,
        after=_AFTER if seek.after else "true",
    )
    with connection.cursor() as cursor:
        cursor.execute(text, parameters)
        return [HeldStretch(*row) for row in cursor.fetchall()]


def _asked(
    selection: Selection, after: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The facts to read: by ids instead of names, so that the table's key is used.

    `after` is the key of a stretch: GPUs before its own are skipped.
    """
    period = selection.period or stored_period() or Interval(0, 1)
    names = ("cluster", "gpu", "model")
    filters = {name: list(selection.filters.get(name, ())) or None for name in names}
    last = {f"after_{name}": (after or {}).get(name) for name in _KEY}
    with connection.cursor() as cursor:
        cursor.execute(_GPU_IDS, filters | last)
        found = cursor.fetchall()
    is_some = (
        filters["gpu"] is not None
        or filters["model"] is not None
        or last["after_gpu"] is not None
    )
    scope = selection.scope.team_ids
    return {
        "clusters": sorted({cluster for _, cluster in found}),
        "gpus": [gpu for gpu, _ in found] if is_some else None,
        "start": period.start,
        "end": period.end,
        "scope": None if scope is None else sorted(scope),
        **last,
    }


_PRESENT = """
    WITH fact AS (
        SELECT w.gpu_id, {instance} AS part, w.window_start,
               2 * sum(w.dark_ms) > sum({wall}) AS is_dark
        FROM usage_window w
        WHERE w.cluster_id = ANY(%(clusters)s) AND w.gpu_id = ANY(%(gpus)s)
          AND w.window_start >= %(start)s AND w.window_start < %(end)s
        GROUP BY w.gpu_id, part, w.window_start
    ), island AS (
        SELECT *, window_start - interval '5 minutes' * row_number() OVER (
            PARTITION BY gpu_id, part, is_dark ORDER BY window_start
        ) AS island FROM fact
    )
    SELECT g.uuid, i.part, min(i.window_start),
           max(i.window_start) + interval '5 minutes', i.is_dark
    FROM island i JOIN accounting_gpu g ON g.id = i.gpu_id
    GROUP BY g.uuid, i.part, i.is_dark, i.island
    ORDER BY g.uuid, i.part, min(i.window_start)
"""


def presences(
    selection: Selection, *, by_instance: bool = False
) -> list[PresenceInterval]:
    """When some GPUs were present, and when it is not known whether they were held.

    Args:
        selection: with the GPUs.
        by_instance: separately for each MIG instance.

    Raises:
        HiddenError: the scope does not cover all teams.
    """
    if not selection.scope.sees_all:
        raise HiddenError("only finance and administrators can see GPUs of all teams")
    text = _PRESENT.format(
        instance="w.instance" if by_instance else "(-1)::smallint", wall=wall("w")
    )  # column names of this project
    with connection.cursor() as cursor:
        cursor.execute(text, _asked(selection))
        return [PresenceInterval(*row) for row in cursor.fetchall()]


def profiles(uuid: str, end_ms: int) -> dict[int, str]:
    """The newest profile of each MIG instance by number, before an instant."""
    found: dict[int, str] = {}
    rows = GpuGeometry.objects.filter(gpu__uuid=uuid, from_ms__lt=end_ms)
    for instances in rows.order_by("from_ms").values_list("instances", flat=True):
        found |= {int(number): str(profile) for number, profile in instances}
    return found
