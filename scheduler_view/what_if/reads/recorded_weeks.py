"""The recorded weeks of a cluster, to be replayed: its nodes, and the work that held GPUs (S36)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby, pairwise
from operator import itemgetter
from typing import NamedTuple

from django.db import connection

from accounting.core.interval import to_ms
from accounting.metering.models.cluster import Cluster, GpuPresence, NodeFact
from accounting.metering.reads.resources import added_resources
from accounting.metering.rules.units.gpu_units import NodeFacts, unit_of
from accounting.metering.rules.units.resources import kubernetes_resource, sanitised
from scheduler_view.quotas.models import Tier
from scheduler_view.waits.rules.units import GANG_KINDS
from scheduler_view.what_if.reads.spot_eligible import spot_eligible
from scheduler_view.what_if.rules.cluster import ReplayNode
from scheduler_view.what_if.rules.recorded import (
    WEEK_MS,
    OpenRange,
    RecordedNode,
    RecordedPod,
    RecordedUnit,
    RecordedWeeks,
)
from scheduler_view.what_if.rules.request import MILLI, ReplayRequest

TOGETHER_MS = 60_000  # members of a gang are created with at most this between them
_SPOT = "spot"  # lifecycle of a node
_WHOLE = "nvidia.com/gpu"  # of nodes whose capacity no sample shows
_QUERY = """
    SELECT p.uid, n.name, p.name, nd.name, h.resource, h.units, h.share_numerator,
           h.share_denominator, coalesce(h.created_ms, h.bound_ms) AS created_ms,
           h.bound_ms, h.ended_ms,
           coalesce(w.id, 0), coalesce(w.kind, ''), coalesce(w.name, ''), p.priority_class,
           coalesce(t.slug, ''), coalesce(a.workload_type, '')
    FROM accounting_podhold h
    JOIN accounting_pod p ON p.id = h.pod_id
    JOIN accounting_namespace n ON n.id = p.namespace_id
    JOIN accounting_node nd ON nd.id = h.node_id
    LEFT JOIN accounting_workload w ON w.id = p.workload_id
    LEFT JOIN accounting_podattribution a ON a.pod_id = p.id
        AND a.valid_from <= to_timestamp(h.bound_ms / 1000.0)
        AND to_timestamp(h.bound_ms / 1000.0) < a.valid_to
    LEFT JOIN accounting_team t ON t.id = a.team_id
    WHERE p.cluster_id = %(cluster)s AND h.bound_ms < %(end)s
        AND (h.ended_ms IS NULL OR h.ended_ms > greatest(h.bound_ms, %(start)s))
    ORDER BY w.id, created_ms, p.uid, h.resource, h.bound_ms
"""


class _Hold(NamedTuple):
    uid: str
    namespace: str
    pod: str
    node: str
    resource: str
    units: int
    numerator: int
    denominator: int
    created_ms: int
    bound_ms: int
    ended_ms: int | None
    workload: int
    kind: str
    workload_name: str
    tier: str
    team: str
    workload_type: str


@dataclass(frozen=True, slots=True)
class FoundWeeks:
    """Recorded weeks, and how many holds are left out.

    Attributes:
        left_out: holds of devices that are not units of a node's capacity, such as claims.
    """

    weeks: RecordedWeeks
    left_out: int


def recorded_weeks(cluster: Cluster, count: int) -> FoundWeeks | None:
    """The last whole weeks up to the end of the data; None without data.

    Without quotas: a pod that a quota refused was created when there was room again, so that the
    recorded times have their effect already.
    """
    if cluster.data_end_ms is None:
        return None
    end = cluster.data_end_ms
    start = end - count * WEEK_MS
    holds = _holds(cluster, start, end)
    binds: dict[str, list[int]] = {}
    for hold in sorted(holds, key=lambda one: one.bound_ms):
        binds.setdefault(hold.node, []).append(hold.bound_ms)
    nodes = {
        one.node.name: _open_for(one, binds.get(name, ()))
        for name, one in _nodes(cluster, start, end)
    }
    priorities = _priorities(cluster)
    units: list[RecordedUnit] = []
    left_out = 0
    eligible = spot_eligible(cluster, holds, end)
    for group in _groups(holds):
        pods = [pod for hold in group if (pod := _pod(hold, nodes)) is not None]
        left_out += len(group) - len(pods)
        if pods:
            unit = _unit(group, pods, priorities)
            is_moved = all(
                (hold.workload, hold.workload_type) in eligible for hold in group
            ) and not any(nodes[pod.node].is_spot for pod in pods)
            units.append(replace(unit, may_run_on_spot=is_moved))
    units.sort(key=lambda unit: (unit.created_ms, unit.name))
    weeks = RecordedWeeks(start, end, tuple(nodes.values()), tuple(units))
    return FoundWeeks(weeks, left_out)


def node_name(node: str, resource: str) -> str:
    """The name of a node's units of one resource in a replay."""
    return f"{node} {resource}"


def _priorities(cluster: Cluster) -> dict[str, int]:
    """The value of each priority class of a tier, older ones included."""
    found = {}
    for tier in Tier.objects.filter(cluster=cluster):
        for name in (tier.class_name, *tier.old_classes):
            found[name] = tier.value
    return found


def _nodes(
    cluster: Cluster, start: int, end: int
) -> Iterator[tuple[str, RecordedNode]]:
    """Names, and a node for each resource, with its latest capacity before the end."""
    present: dict[int, list[tuple[int, int | None]]] = {}
    gpus: dict[int, set[int]] = {}
    names: dict[int, str] = {}
    rows = GpuPresence.objects.filter(gpu__cluster=cluster, start_ms__lt=end)
    for node, name, gpu, begin, ended in rows.exclude(end_ms__lte=start).values_list(
        "node_id", "node__name", "gpu_id", "start_ms", "end_ms"
    ):
        present.setdefault(node, []).append((begin, ended))
        gpus.setdefault(node, set()).add(gpu)
        names[node] = name
    added = added_resources()
    spellings = {sanitised(resource): resource for resource in added}
    facts = _facts(cluster, end)
    cordoned = _cordoned(cluster)
    for node, name in sorted(names.items(), key=lambda item: item[1]):
        fact = facts.get(node)
        capacity = {
            resource: int(units)
            for spelled, units in (fact.capacity if fact else {}).items()
            if (resource := kubernetes_resource(spelled, spellings) or spelled)
        } or {_WHOLE: len(gpus[node])}
        model = fact.model if fact else ""
        of_node = NodeFacts(capacity, fact.labels if fact else {})
        for resource, units in sorted(capacity.items()):
            unit = unit_of(resource, of_node, added)
            if units and unit is not None:
                shown = ReplayNode(
                    node_name(name, resource), 0, units, f"{resource} {model}"
                )
                yield (
                    name,
                    RecordedNode(
                        *(shown, resource, model, unit.share, _union(present[node])),
                        is_spot=fact is not None and fact.lifecycle == _SPOT,
                        cordoned=cordoned.get(node, ()),
                    ),
                )


def _facts(cluster: Cluster, end: int) -> dict[int, NodeFact]:
    facts = NodeFact.objects.filter(node__cluster=cluster).order_by(
        "node_id", "valid_from"
    )
    return {
        fact.node_id: fact for fact in facts if fact.valid_from.timestamp() * 1000 < end
    }


def _open_for(one: RecordedNode, binds: Sequence[int]) -> RecordedNode:
    """A node that takes pods at the latest when it took one: samples show it later."""

    def opened(since: int | None, until: int | None) -> int | None:
        within = (
            at
            for at in binds
            if (since is None or since < at) and (until is None or at < until)
        )
        return next(within, until)

    before = [None, *(end for _, end in one.present)]
    present = tuple(
        (opened(last, begin) or begin, end)
        for last, (begin, end) in zip(before, one.present, strict=False)
    )
    cordoned = tuple((since, opened(since, until)) for since, until in one.cordoned)
    return replace(one, present=present, cordoned=cordoned)


def _cordoned(cluster: Cluster) -> dict[int, tuple[OpenRange, ...]]:
    """Ranges in which nodes were cordoned, by node, as far as samples show."""
    found: dict[int, list[OpenRange]] = {}
    rows = NodeFact.objects.filter(node__cluster=cluster)
    facts = rows.order_by("node_id", "valid_from").values_list(
        "node_id", "valid_from", "labels__unschedulable"
    )
    for node, of_node in groupby(facts, key=itemgetter(0)):
        changes = [(to_ms(at), state == "true") for _, at, state in of_node]
        ends = [*(at for at, _ in changes[1:]), None]
        for (at, is_cordoned), end in zip(changes, ends, strict=True):
            if is_cordoned:
                found.setdefault(node, []).append((at, end))
    return {node: tuple(ranges) for node, ranges in found.items()}


def _union(ranges: list[tuple[int, int | None]]) -> tuple[tuple[int, int | None], ...]:
    """Ranges in order, those that touch as one."""
    found: list[tuple[int, int | None]] = []
    for begin, end in sorted(ranges, key=lambda one: one[0]):
        if found and (found[-1][1] is None or begin <= found[-1][1]):
            last = found[-1][1]
            later = None if last is None or end is None else max(last, end)
            found[-1] = (found[-1][0], later)
        else:
            found.append((begin, end))
    return tuple(found)


def _holds(cluster: Cluster, start: int, end: int) -> list[_Hold]:
    """Those that overlap the weeks, members of a workload one after the other."""
    with connection.cursor() as cursor:
        cursor.execute(_QUERY, {"cluster": cluster.pk, "start": start, "end": end})
        return [_Hold(*row) for row in cursor.fetchall()]


def _groups(holds: Sequence[_Hold]) -> Iterator[list[_Hold]]:
    """Holds that are bound together: members of a gang, else one by one."""
    if not holds:
        return
    group = [holds[0]]
    for before, hold in pairwise(holds):
        is_same = hold.workload == before.workload and hold.kind in GANG_KINDS
        if is_same and hold.created_ms - before.created_ms <= TOGETHER_MS:
            group.append(hold)
        else:
            yield group
            group = [hold]
    yield group


def _pod(hold: _Hold, nodes: Mapping[str, RecordedNode]) -> RecordedPod | None:
    """None if it does not hold whole units, or a part of one, of a node's capacity."""
    name = node_name(hold.node, hold.resource)
    node = nodes.get(name)
    if node is None or not hold.units:
        return None
    share = Fraction(hold.numerator, hold.denominator)
    milli = min(MILLI, round(MILLI * share / node.share))
    if not milli or (milli < MILLI and hold.units > 1):
        return None
    return RecordedPod(
        hold.pod,
        ReplayRequest(0, hold.units, milli, (node.node.model,)),
        round(MILLI * hold.units * share),
        hold.bound_ms,
        hold.ended_ms,
        name,
    )


def _unit(
    group: list[_Hold], pods: list[RecordedPod], priorities: Mapping[str, int]
) -> RecordedUnit:
    first = group[0]
    return RecordedUnit(
        f"{first.namespace}/{first.pod}",
        max(hold.created_ms for hold in group),
        tuple(pods),
        first.team,
        first.tier,
        first.workload_type,
        priorities.get(first.tier, 0),
    )
