"""One run as stored: its holds, the time of each of its GPUs, and its waits."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from django.db import connection

from accounting.access.reads.billing_settings import billing_day, midnight
from accounting.access.scope import Scope
from accounting.core.efficiency import StateTimes
from accounting.core.interval import HOUR_MS, WINDOW_MS, Interval, to_instant, to_ms
from accounting.kit.reads.selection import Selection
from accounting.metering.models.pod import PodAttribution
from accounting.metering.sql.states_sql import sums
from accounting.usage.reads.relation.gpu_rollups import pending
from accounting.usage.reads.relation.retained_range import kept_facts
from accounting.usage.reads.usage import usage_rows
from accounting.usage.rules.rows import UsageRow
from scheduler_view.waits.models import WaitRecord
from scheduler_view.workloads.rules import RunHold, UseStep

MOST_WINDOWS = 2_000  # of GPUs, that a page reads as facts: each takes 15 microseconds
HOURLY_MS = 7 * 24 * HOUR_MS  # longer ranges are shown by day
SHOWN_WAITS = 5


class RunKey(NamedTuple):
    """A run, as reports name it: in several clusters, one of the same name is the same run."""

    team: str
    namespace: str
    kind: str
    name: str


class RunGpu(NamedTuple):
    """A GPU of a node on which a pod of the run held GPUs."""

    id: int
    uuid: str
    model: str
    node: str


@dataclass(frozen=True, slots=True)
class RunHolds:
    """When and where the pods of a run held GPUs.

    Attributes:
        workloads, pods, nodes: ids; `clusters` are ids by name.
        pod_count: pods that held GPUs.
        created_ms: of its first pod; None if that was not observed.
        began_ms: of its first hold; `ended_ms`: of its last one, None while it holds GPUs.
        holds: of all its pods.
        last_end: how its last pod ended; "" while it holds GPUs, or if that is not known.
    """

    family: str
    type: str
    tier: str
    workloads: tuple[int, ...]
    clusters: dict[str, int]
    pods: tuple[int, ...]
    nodes: tuple[int, ...]
    created_ms: int | None
    began_ms: int
    ended_ms: int | None
    last_end: str
    holds: tuple[RunHold, ...]

    @property
    def pod_count(self) -> int:
        """Pods that held GPUs."""
        return len(self.pods)

    def life(self, until_ms: int) -> Interval:
        """From its first hold to its end, or to the newest data."""
        end = until_ms if self.ended_ms is None else self.ended_ms
        return Interval(self.began_ms, max(end, self.began_ms))


_HOLDS = """
    SELECT w.id, c.name, w.cluster_id, w.family, w.type, coalesce(a.tier, ''), h.pod_id,
           h.node_id, h.created_ms, h.bound_ms, h.ended_ms, h.ended_by,
           h.units::numeric * h.share_numerator / h.share_denominator
    FROM accounting_workload w
    JOIN accounting_namespace n ON n.id = w.namespace_id
    JOIN accounting_cluster c ON c.id = w.cluster_id
    JOIN accounting_pod p ON p.workload_id = w.id
    JOIN accounting_podhold h ON h.pod_id = p.id
    LEFT JOIN accounting_podattribution a ON a.pod_id = p.id
        AND a.valid_from <= to_timestamp(h.bound_ms / 1000.0)
        AND to_timestamp(h.bound_ms / 1000.0) < a.valid_to
    JOIN accounting_team t ON t.id = a.team_id
    WHERE n.name = %(namespace)s AND w.kind = %(kind)s AND w.name = %(name)s
      AND t.slug = %(team)s AND (%(scope)s::bigint[] IS NULL OR t.id = ANY(%(scope)s))
    ORDER BY h.bound_ms, h.id
"""


class _HoldOfRun(NamedTuple):
    workload: int
    cluster: str
    cluster_id: int
    family: str
    type: str
    tier: str
    pod: int
    node: int
    created_ms: int | None
    bound_ms: int
    ended_ms: int | None
    ended_by: str
    gpus: Decimal


def run_holds(scope: Scope, key: RunKey) -> RunHolds | None:
    """The holds of a run that a person may read; None without any."""
    teams = scope.team_ids
    values = key._asdict() | {"scope": None if teams is None else sorted(teams)}
    with connection.cursor() as cursor:
        cursor.execute(_HOLDS, values)
        holds = [_HoldOfRun(*row) for row in cursor.fetchall()]
    if not holds:
        return None
    first, last = holds[0], max(holds, key=lambda hold: hold.ended_ms or 0)
    is_open = any(hold.ended_ms is None for hold in holds)
    return RunHolds(
        family=holds[-1].family,
        type=holds[-1].type,
        tier=holds[-1].tier,
        workloads=tuple({hold.workload for hold in holds}),
        clusters={hold.cluster: hold.cluster_id for hold in holds},
        pods=tuple({hold.pod for hold in holds}),
        nodes=tuple({hold.node for hold in holds}),
        created_ms=first.created_ms,
        began_ms=first.bound_ms,
        ended_ms=None if is_open else last.ended_ms,
        last_end="" if is_open else last.ended_by,
        holds=tuple(RunHold(h.bound_ms, h.ended_ms, h.gpus) for h in holds),
    )


def clusters_of_pods(scope: Scope, key: RunKey) -> set[int]:
    """Where pods of a run are known that the person may read; they may have held no GPU."""
    pods = PodAttribution.objects.filter(
        team__slug=key.team,
        pod__workload__namespace__name=key.namespace,
        pod__workload__kind=key.kind,
        pod__workload__name=key.name,
    )
    if scope.team_ids is not None:
        pods = pods.filter(team__in=scope.team_ids)
    return set(pods.values_list("pod__workload__cluster", flat=True))


def gpus_of_nodes(nodes: Sequence[int]) -> list[RunGpu]:
    """All GPUs that were ever present on some nodes, by node and UUID."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT DISTINCT ON (nd.name, g.uuid) g.id, g.uuid, g.model, nd.name
               FROM accounting_gpupresence gp
               JOIN accounting_gpu g ON g.id = gp.gpu_id
               JOIN accounting_node nd ON nd.id = gp.node_id
               WHERE gp.node_id = ANY(%s) ORDER BY nd.name, g.uuid""",
            [list(nodes)],
        )
        return [RunGpu(*row) for row in cursor.fetchall()]


class GpuUse(NamedTuple):
    """Held time of one GPU in one step."""

    gpu: int
    step: UseStep


@dataclass(frozen=True, slots=True)
class RunUse:
    """The time of a run by GPU, in steps of the finest length that a page can read.

    Attributes:
        step: `window`, `hour` or `day`.
    """

    step: str
    uses: tuple[GpuUse, ...]


def run_use(
    selection: Selection, key: RunKey, run: RunHolds, gpus: Sequence[RunGpu]
) -> RunUse:
    """The held time of a run by GPU.

    Facts of five minutes if they are kept and few; else hours, with the facts of hours that are
    not written by GPU yet; of more than a week, days.

    Args:
        selection: with its period set; other filters than the run are not applied.
        key, run: the run.
        gpus: of its nodes.

    Raises:
        SelectionError: days are not kept by GPU.
    """
    period = selection.period
    life = None if period is None else run.life(period.end_ms).intersection(period)
    if period is None or life is None:
        return RunUse("hour", ())
    clusters = tuple(run.clusters)
    windows = (life.length_ms // WINDOW_MS + 1) * len(gpus)
    if windows <= MOST_WINDOWS and not kept_facts(life, clusters).has_expired:
        return RunUse("window", tuple(_windows(key, run, gpus, [life])))
    if life.length_ms > HOURLY_MS:
        return RunUse("day", _days(selection, key, gpus))
    waiting = pending(life, clusters).hours
    stored = [hour for hour in life.hours() if hour.start not in waiting]
    parts = [
        hour.intersection(period) for hour in life.hours() if hour.start in waiting
    ]
    facts = [part for part in parts if part is not None]
    return RunUse(
        "hour",
        (
            *_hours(key, run, gpus, period, stored),
            *_by_hour(_windows(key, run, gpus, facts)),
        ),
    )


# The windows and the hours are listed, so that an index finds each with its GPUs: the cost
# depends on the run, not on the cluster.
_WINDOWS = f"""
    SELECT u.gpu_id, u.window_start, {sums("u", ("busy", "idle", "unknown"))}
    FROM usage_window u
    JOIN accounting_podattribution a ON a.pod_id = u.pod_id
        AND a.valid_from <= u.window_start AND u.window_start < a.valid_to
    JOIN accounting_team t ON t.id = a.team_id AND t.slug = %(team)s
    WHERE u.cluster_id = ANY(%(clusters)s) AND u.window_start = ANY(%(starts)s)
      AND u.window_start >= %(first)s AND u.window_start <= %(last)s
      AND u.gpu_id = ANY(%(gpus)s) AND u.pod_id = ANY(%(pods)s)
    GROUP BY u.gpu_id, u.window_start
"""  # noqa: S608  # of this project's own constants
_HOURS = f"""
    SELECT u.gpu_id, u.hour_start, {sums("u", ("busy", "idle", "unknown"))}
    FROM usage_gpu_hour u
    JOIN accounting_team t ON t.id = u.team_id AND t.slug = %(team)s
    WHERE u.cluster_id = ANY(%(clusters)s) AND u.hour_start = ANY(%(starts)s)
      AND u.billing_on >= %(first)s AND u.billing_on <= %(last)s
      AND u.gpu_id = ANY(%(gpus)s) AND u.workload_id = ANY(%(workloads)s)
    GROUP BY u.gpu_id, u.hour_start
"""  # noqa: S608  # of this project's own constants


def _read(
    query: str,
    length_ms: int,
    key: RunKey,
    run: RunHolds,
    gpus: Sequence[RunGpu],
    values: dict[str, Any],
) -> list[GpuUse]:
    if not values["starts"] or not gpus:
        return []
    values |= {
        "team": key.team,
        "clusters": [*run.clusters.values()],
        "gpus": [gpu.id for gpu in gpus],
        "pods": list(run.pods),
        "workloads": list(run.workloads),
    }
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return [
            GpuUse(gpu, UseStep(at, at + length_ms, StateTimes(*times)))
            for gpu, start, *times in cursor.fetchall()
            for at in (to_ms(start),)
        ]


def _windows(
    key: RunKey, run: RunHolds, gpus: Sequence[RunGpu], periods: Iterable[Interval]
) -> list[GpuUse]:
    starts = [one.start for period in periods for one in period.windows()]
    values = (
        {"starts": starts, "first": starts[0], "last": starts[-1]} if starts else {}
    )
    return _read(_WINDOWS, WINDOW_MS, key, run, gpus, {"starts": starts, **values})


def _hours(
    key: RunKey,
    run: RunHolds,
    gpus: Sequence[RunGpu],
    period: Interval,
    hours: Sequence[Interval],
) -> list[GpuUse]:
    """Hours that a billing day divides count as far as they are in the range."""
    values = {
        "starts": [hour.start for hour in hours],
        "first": billing_day(period.start),
        "last": billing_day(to_instant(period.end_ms - 1)),
    }
    return _read(_HOURS, HOUR_MS, key, run, gpus, values)


def _by_hour(uses: Iterable[GpuUse]) -> list[GpuUse]:
    found: dict[tuple[int, int], list[int]] = {}
    for gpu, step in uses:
        start = step.start_ms - step.start_ms % HOUR_MS
        times = found.setdefault((gpu, start), [0, 0, 0])
        for i, ms in enumerate(
            (step.times.busy_ms, step.times.idle_ms, step.times.unknown_ms)
        ):
            times[i] += ms
    return [
        GpuUse(gpu, UseStep(start, start + HOUR_MS, StateTimes(*times)))
        for (gpu, start), times in found.items()
    ]


def _days(
    selection: Selection, key: RunKey, gpus: Sequence[RunGpu]
) -> tuple[GpuUse, ...]:
    of_gpus = {**selection.filters, "gpu": tuple(gpu.uuid for gpu in gpus)}
    rows = usage_rows(replace(selection, filters=of_gpus), ("workload", "gpu", "day"))
    ids = {gpu.uuid: gpu.id for gpu in gpus}
    return tuple(
        GpuUse(ids[row.key["gpu"]], _step_of(row, *step_edges(row.key["day"])))
        for row in rows
        if row.key["workload_kind"] == key.kind
    )


def step_edges(key: str) -> tuple[int, int]:
    """Start and end of an hour or a billing day, by its key in reports."""
    if "T" in key:
        start = to_ms(datetime.fromisoformat(key))
        return start, start + HOUR_MS
    first = date.fromisoformat(key)
    return to_ms(midnight(first)), to_ms(midnight(first + timedelta(days=1)))


def _step_of(row: UsageRow, start_ms: int, end_ms: int) -> UseStep:
    times = StateTimes(row.busy_ms, row.idle_ms, row.unknown_ms)
    return UseStep(start_ms, end_ms, times)


_LIFE = f"""
    SELECT u.hour_start, {sums("u", ("busy", "idle", "unknown"))}
    FROM usage_hour u
    JOIN accounting_team t ON t.id = u.team_id AND t.slug = %(team)s
    WHERE u.hour_start >= %(start)s AND u.hour_start < %(end)s
      AND u.cluster_id = ANY(%(clusters)s) AND u.workload_id = ANY(%(workloads)s)
    GROUP BY u.hour_start ORDER BY u.hour_start
"""  # noqa: S608  # of this project's own constants


def hours_of_life(key: RunKey, run: RunHolds, life: Interval) -> list[UseStep]:
    """The held time of all GPUs of a run by hour, from its start to its end.

    Hours are kept for 13 months (N32): of a longer life, the first ones are missing.
    """
    hours = [*life.hours()]
    values: dict[str, Any] = {
        "team": key.team,
        "clusters": [*run.clusters.values()],
        "workloads": list(run.workloads),
        "start": hours[0].start,
        "end": hours[-1].end,
    }
    with connection.cursor() as cursor:
        cursor.execute(_LIFE, values)
        return [
            UseStep(
                max(at, life.start_ms),
                min(at + HOUR_MS, life.end_ms),
                StateTimes(*times),
            )
            for start, *times in cursor.fetchall()
            for at in (to_ms(start),)
        ]


def windows_of(
    key: RunKey, run: RunHolds, gpus: Sequence[RunGpu], periods: Sequence[Interval]
) -> list[UseStep]:
    """The held time of a run in some hours by five minutes; empty if that is too much to read."""
    count = sum(period.length_ms // WINDOW_MS for period in periods) * len(gpus)
    if count > MOST_WINDOWS:
        return []
    return [one.step for one in _windows(key, run, gpus, periods)]


def waits_of(key: RunKey, clusters: Collection[int]) -> list[WaitRecord]:
    """Its observed waits, newest first: those of a CronJob have the names of its Jobs.

    Args:
        key: the run.
        clusters: where it is; a namespace of the same name elsewhere may be of another team.
    """
    found = WaitRecord.objects.filter(cluster__in=clusters, namespace=key.namespace)
    found = found.select_related("cluster")
    if key.kind == "CronJob":
        # its controller appends the minutes since 1970
        found = found.filter(kind="Job", name__regex=rf"^{re.escape(key.name)}-\d+$")
    else:
        found = found.filter(kind=key.kind, name=key.name)
    return [*found.order_by("-pk")[:SHOWN_WAITS]]
