"""What findings are computed from, besides windows: holds, gangs and usual pods."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from django.db import connection
from django.db.models import Min, Q

from accounting.core.interval import DAY_MS, to_ms
from accounting.metering.models.cluster import Cluster, NodeFact
from accounting.metering.models.pod import EndedBy, PodHold
from accounting.metering.rules.units.resources import sanitised
from accounting.usage.reads.windows import held_windows
from scheduler_view.queues.models.memory import PodNeedRecord
from scheduler_view.queues.rules.free_cpu import CLASS_DAYS
from scheduler_view.savings.mapping import runs_from_json
from scheduler_view.savings.models import HeldDay
from scheduler_view.savings.reads.hold_limits import HoldLimits
from scheduler_view.savings.rules.duration import limit_of
from scheduler_view.savings.rules.fragmentation import PodClass, popular
from scheduler_view.savings.rules.gangs import Gang, GangMember
from scheduler_view.savings.rules.held_time import HeldRun, HeldTime, WindowTime
from scheduler_view.waits.rules.world.controllers import REPLICA_SPECS

GANG_KINDS = frozenset({"JobSet", "TrainJob", *REPLICA_SPECS})
CHECKPOINT_LABEL = "label_checkpoint_interval"
INDEX_LABEL = "label_batch_kubernetes_io_job_completion_index"
ABSENT_MS = 600_000  # a pod without samples for so long no longer exists


@dataclass(frozen=True, slots=True)
class UnitOfWork:
    """One work unit: its holds, with the runs that are kept of them, and its gang.

    Attributes:
        workload: its number; None for pods without a workload.
    """

    workload: int | None
    holds: tuple[HeldTime, ...]
    gang: Gang | None


@dataclass(frozen=True, slots=True)
class _PodRow:
    """One pod of a work unit, its holds of all resources taken together."""

    pod: int
    workload: int | None
    kind: str
    made_ms: int
    last_ms: int
    record: Mapping[str, Any]
    resources: Sequence[str] = ()
    node: int | None = None
    units: int = 0
    bound_ms: int | None = None
    ended_ms: int | None = None
    ended_by: str = ""
    namespace: str = ""
    name: str = ""
    priority_class: str = ""
    preempted_ms: int | None = None

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels of its last sample."""
        return last_labels(self.record)


def _pod_row(row: Sequence[Any]) -> _PodRow:
    return _PodRow(*row[:5], _parsed(row[5]), *row[6:])  # type: ignore[call-arg]  # the length of a row is not typed


_PODS = """
    SELECT p.id, p.workload_id, coalesce(w.kind, ''),
           coalesce((p.record ->> 'created_ms')::bigint, p.first_ms, min(h.bound_ms)),
           coalesce(p.last_ms, max(h.booked_until_ms), max(h.bound_ms)), p.record,
           coalesce(array_agg(DISTINCT h.resource) FILTER (WHERE h.id IS NOT NULL), '{}'),
           min(h.node_id), coalesce(sum(h.units), 0)::int, min(h.bound_ms),
           CASE WHEN bool_and(h.ended_ms IS NOT NULL) THEN max(h.ended_ms) END,
           coalesce(max(h.ended_by), ''), n.name, coalesce(w.name, p.name), p.priority_class,
           (extract(epoch FROM min(r.at)) * 1000)::bigint
    FROM accounting_pod p
    JOIN accounting_namespace n ON n.id = p.namespace_id
    LEFT JOIN scheduler_view_preemption r
        ON r.cluster_id = p.cluster_id AND r.pod_uid = p.uid
    LEFT JOIN accounting_workload w ON w.id = p.workload_id
    LEFT JOIN accounting_podhold h ON h.pod_id = p.id
    WHERE p.workload_id = ANY(%(workloads)s) OR p.id = ANY(%(pods)s)
    GROUP BY p.id, w.kind, w.name, n.name
    ORDER BY p.workload_id, p.id
"""


def window_times(
    cluster: Cluster, start: datetime, end: datetime
) -> Iterator[WindowTime]:
    """The windows that pods of a cluster held, by pod and time."""
    for one in held_windows(cluster.pk, start, end):
        yield WindowTime(
            one.pod,
            one.start_ms,
            f"{one.gpu}:{one.instance}",
            one.busy_ms,
            one.idle_ms,
            one.unknown_ms,
            one.team,
            one.rate,
            one.currency,
        )


def last_labels(record: Mapping[str, Any]) -> Mapping[str, str]:
    """The labels of the last sample of a pod, from its stored record."""
    found = record.get("labels") or []
    return found[-1][1] if found else {}


def kept_runs(cluster: Cluster, pods: Collection[int]) -> dict[int, list[HeldRun]]:
    """What is kept of past windows of pods, by pod, in order of days."""
    found: dict[int, list[HeldRun]] = defaultdict(list)
    rows = HeldDay.objects.filter(cluster=cluster, pod__in=pods).order_by("day")
    for pod, day, stored in rows.values_list("pod_id", "day", "runs"):
        found[pod] += runs_from_json(day, stored)
    return found


def work_of(
    cluster: Cluster, workloads: Collection[int], pods: Collection[int], until_ms: int
) -> list[UnitOfWork]:
    """The work units of workloads, and of single pods without a workload.

    Args:
        until_ms: the last known instant.
    """
    with connection.cursor() as cursor:
        cursor.execute(_PODS, {"workloads": list(workloads), "pods": list(pods)})
        rows = [_pod_row(row) for row in cursor.fetchall()]
    runs = kept_runs(cluster, [row.pod for row in rows])
    limits = _Limits(cluster, rows)
    units: dict[tuple[int | None, int], list[_PodRow]] = defaultdict(list)
    for row in rows:
        own = row.pod if row.workload is None else 0
        units[row.workload, own].append(row)
    return [
        UnitOfWork(
            workload,
            tuple(
                limits.held(row, runs[row.pod])
                for row in of_unit
                if row.bound_ms is not None and row.pod in runs
            ),
            _gang(cluster, of_unit, until_ms),
        )
        for (workload, _), of_unit in units.items()
    ]


class _Limits:
    """What limits holds, and what is known of preempted ones."""

    def __init__(self, cluster: Cluster, rows: Sequence[_PodRow]) -> None:
        self._limits = HoldLimits(cluster, {row.name for row in rows})
        nodes = {row.node for row in rows if row.preempted_ms is not None}
        facts = NodeFact.objects.filter(node__in=nodes).order_by("valid_from")
        self._facts: dict[int, list[NodeFact]] = defaultdict(list)
        for fact in facts:
            self._facts[fact.node_id].append(fact)

    def held(self, row: _PodRow, runs: Sequence[HeldRun]) -> HeldTime:
        bound = row.made_ms if row.bound_ms is None else row.bound_ms
        unit = (row.kind or "Pod", row.namespace, row.name)
        team = runs[0].team if runs else 0
        limit = self._limits.of(unit, row.labels, row.priority_class, team)
        return HeldTime(
            row.pod,
            bound,
            row.ended_ms,
            row.kind,
            tuple(runs),
            limit,
            row.preempted_ms,
            limit_of(row.labels.get(CHECKPOINT_LABEL, "")),
            self._lifecycle(row, bound),
        )

    def _lifecycle(self, row: _PodRow, bound_ms: int) -> str:
        """Of the node when the pod was bound; its first facts also count before them."""
        found = self._facts.get(row.node or 0, [])
        before = [f for f in found if to_ms(f.valid_from) <= bound_ms]
        return (before or found[:1])[-1].lifecycle if found else ""


def _gang(cluster: Cluster, rows: Collection[_PodRow], until_ms: int) -> Gang | None:
    """The gang of a work unit; None if its pods are of use alone."""
    held = [row for row in rows if row.bound_ms is not None]
    resources = {sanitised(name) for row in held for name in row.resources}
    wanted = [row for row in rows if row in held or _requests(row, resources)]
    is_indexed = all(INDEX_LABEL in row.labels for row in wanted)
    is_gang = any(row.kind in GANG_KINDS for row in wanted) or (
        is_indexed and any(row.kind == "Job" for row in wanted)
    )
    if not is_gang or not held or len(wanted) < 2:
        return None
    members = tuple(_member(row, until_ms) for row in wanted)
    free = None
    if len({row.node for row in held}) > 1 and len(resources) == 1:
        free = _free_at(cluster, held)
    return Gang(members, free=free)


def _requests(row: _PodRow, resources: Collection[str]) -> bool:
    asked = {name for _, _, name, units in row.record.get("requests", []) if units}
    return bool(asked & set(resources))


def _member(row: _PodRow, until_ms: int) -> GangMember:
    gone = row.ended_ms
    if row.bound_ms is None and until_ms - row.last_ms > ABSENT_MS:
        gone = row.last_ms
    return GangMember(
        row.pod,
        row.made_ms,
        gone,
        row.bound_ms,
        succeeded=row.ended_by == EndedBy.SUCCEEDED,
        node=str(row.node or ""),
        units=row.units,
    )


_FREE = """
    SELECT n.id, f.capacity, coalesce((
        SELECT sum(h.units) FROM accounting_podhold h
        WHERE h.node_id = n.id AND h.resource = %(resource)s AND h.bound_ms <= %(at)s
          AND (h.ended_ms IS NULL OR h.ended_ms > %(at)s)
          AND NOT (h.pod_id = ANY(%(pods)s))), 0)
    FROM accounting_node n
    JOIN LATERAL (
        SELECT f.capacity, f.model, f.labels ->> 'label_nvidia_com_gpu_product' AS product
        FROM accounting_nodefact f
        WHERE f.node_id = n.id AND f.valid_from <= to_timestamp(%(at)s / 1000.0)
        ORDER BY f.valid_from DESC LIMIT 1
    ) f ON true
    WHERE n.cluster_id = %(cluster)s
      AND (f.model, coalesce(f.product, '')) IN (
        SELECT h.model, coalesce(h.labels ->> 'label_nvidia_com_gpu_product', '')
        FROM accounting_nodefact h WHERE h.node_id = ANY(%(nodes)s))
      AND EXISTS (
        SELECT FROM accounting_gpupresence g WHERE g.node_id = n.id
          AND g.start_ms <= %(at)s AND (g.end_ms IS NULL OR g.end_ms > %(at)s))
"""


def _free_at(cluster: Cluster, held: Collection[_PodRow]) -> Mapping[str, int]:
    """Free units of a gang's resource by node when its first member was bound, without it.

    Only nodes of the products on which it was bound: a shared GPU or another model has the
    same resource, and the pods need not fit there.
    """
    resource = next(iter(held)).resources[0]
    values: dict[str, Any] = {
        "cluster": cluster.pk,
        "resource": resource,
        "at": min(row.bound_ms for row in held if row.bound_ms is not None),
        "pods": [row.pod for row in held],
        "nodes": [row.node for row in held],
    }
    with connection.cursor() as cursor:
        cursor.execute(_FREE, values)
        rows = cursor.fetchall()
    free = {
        str(node): _capacity(capacity, resource) - int(units)
        for node, capacity, units in rows
    }
    return {node: units for node, units in free.items() if units > 0}


def _parsed(stored: Any) -> Any:
    """A value of a JSON column: a raw query returns it as text."""
    return json.loads(stored) if isinstance(stored, str) else stored


def _capacity(stored: Any, resource: str) -> int:
    """The units of a resource in the capacity of a node."""
    capacity = _parsed(stored)
    return int(capacity.get(sanitised(resource), capacity.get(resource, 0)))


def usual_pods(cluster: Cluster, before_ms: int) -> list[tuple[PodClass, int]]:
    """The classes of pods that held GPUs in the 28 days before an instant (S25).

    Of pods that were not observed, CPU and models are not known.
    """
    needs = {
        uid: (cpu_milli, tuple(accepted))
        for uid, cpu_milli, accepted in PodNeedRecord.objects.filter(
            cluster=cluster
        ).values_list("pod_uid", "cpu_milli", "accepted_models")
    }
    rows = PodHold.objects.filter(
        Q(ended_ms=None) | Q(ended_ms__gt=before_ms - CLASS_DAYS * DAY_MS),
        pod__cluster=cluster,
        bound_ms__lt=before_ms,
        is_inferred=False,
    ).values_list("pod__uid", "units", "share_numerator", "share_denominator")
    counts: dict[PodClass, int] = defaultdict(int)
    for uid, units, numerator, denominator in rows:
        share = Fraction(numerator, denominator)
        counts[PodClass(units, share, *needs.get(uid, (None, ())))] += 1
    return popular(counts.items())


def first_kept_day(cluster: Cluster) -> date | None:
    """The first day of which windows are kept."""
    found: date | None = HeldDay.objects.filter(cluster=cluster).aggregate(
        first=Min("day")
    )["first"]
    return found
