"""What observations show of the free time of one billing day: pools, CPU and kept nodes."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction

from accounting.core.interval import to_ms
from accounting.metering.models.cluster import Cluster, Node, NodeFact
from accounting.metering.reads.resources import added_resources
from accounting.metering.rules.units.gpu_units import NodeFacts, unit_of
from accounting.metering.rules.units.resources import kubernetes_resource, sanitised
from scheduler_view.queues.models.memory import FreeCpuSample, KeptNode
from scheduler_view.queues.models.queues import PoolSample
from scheduler_view.queues.rules.kept_nodes import KeepReason
from scheduler_view.savings.rules.fragmentation import Beside
from scheduler_view.savings.rules.free_time import (
    KEPT_MS,
    BesideRange,
    KeptRange,
    PoolUnits,
)

_REASONS = {
    KeepReason.BARE: "no controller",
    KeepReason.DO_NOT_DISRUPT: "do-not-disrupt",
    KeepReason.NOT_SAFE_TO_EVICT: "not safe to evict",
    KeepReason.BUDGET: "disruption budget allows no eviction",
}


@dataclass(slots=True)
class ObservedNode:
    """What was observed of one node's free time."""

    policy: list[PoolUnits] = field(default_factory=list)
    unused: list[PoolUnits] = field(default_factory=list)
    kept: list[KeptRange] = field(default_factory=list)
    beside: list[BesideRange] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ObservedDay:
    """What was observed of a day: by number of the node; the names of pools by number."""

    nodes: Mapping[int, ObservedNode]
    pools: tuple[str, ...]


def observed_day(cluster: Cluster, start: datetime, end: datetime) -> ObservedDay:
    """Pools and kept nodes in [start, end); nothing without access to the cluster's objects."""
    found: dict[int, ObservedNode] = defaultdict(ObservedNode)
    numbers = dict(Node.objects.filter(cluster=cluster).values_list("name", "pk"))
    shares = _UnitShares(cluster, end)
    pools: dict[str, int] = {}
    samples = PoolSample.objects.filter(
        cluster=cluster, until__gt=start, since__lt=end
    ).order_by("resource", "model", "since")
    for row in samples.iterator():
        for name, units, is_policy in _by_node(row):
            node = numbers.get(name)
            share = shares.of(node, row.resource) if node is not None else None
            if node is None or share is None:
                continue
            pool = pools.setdefault(f"{row.resource} {row.model}".strip(), len(pools))
            begin, stop = max(row.since, start), min(row.until, end)
            one = PoolUnits(pool, to_ms(begin), to_ms(stop), units, share)
            of_node = found[node]
            (of_node.policy if is_policy else of_node.unused).append(one)
    for kept in _kept_rows(cluster, start, end):
        if (node := numbers.get(kept.node)) is not None:
            kept_until = min(to_ms(kept.until), to_ms(end))
            pods = ", ".join(f"{path} ({_REASONS[why]})" for path, why in kept.pods)
            found[node].kept.append(KeptRange(to_ms(kept.since), kept_until, pods))
    for seen in _cpu_rows(cluster, start, end):
        if (node := numbers.get(seen.node)) is not None:
            beside = Beside(seen.cpu_milli, seen.model)
            span = to_ms(seen.since), to_ms(seen.until)
            found[node].beside.append(BesideRange(*span, beside))
    return ObservedDay(found, tuple(pools))


def _by_node(row: PoolSample) -> Iterator[tuple[str, int, bool]]:
    for name, units in row.policy_nodes.items():
        yield name, units, True
    for name, units in row.unused_nodes.items():
        yield name, units, False


def _cpu_rows(
    cluster: Cluster, start: datetime, end: datetime
) -> Iterator[FreeCpuSample]:
    rows = FreeCpuSample.objects.filter(cluster=cluster, until__gt=start, since__lt=end)
    yield from rows.order_by("node", "since").iterator()


def _kept_rows(cluster: Cluster, start: datetime, end: datetime) -> Iterator[KeptNode]:
    """Rows of the day, and of the half hour before: a node counts after half an hour."""
    before = start - timedelta(milliseconds=KEPT_MS)
    rows = KeptNode.objects.filter(cluster=cluster, until__gte=before, since__lt=end)
    yield from rows.order_by("node", "since").iterator()


class _UnitShares:
    """The share of a GPU that one unit of a resource is on each node, by its latest facts."""

    def __init__(self, cluster: Cluster, before: datetime) -> None:
        facts = NodeFact.objects.filter(node__cluster=cluster, valid_from__lt=before)
        latest = facts.order_by("node_id", "-valid_from").distinct("node_id")
        self._facts = {fact.node_id: fact for fact in latest}
        self._added = added_resources()
        self._known: dict[tuple[int, str], Fraction | None] = {}

    def of(self, node: int, resource: str) -> Fraction | None:
        """None for a resource that is not a part of the node's GPUs."""
        key = node, resource
        if key not in self._known:
            self._known[key] = self._found(node, resource)
        return self._known[key]

    def _found(self, node: int, resource: str) -> Fraction | None:
        fact = self._facts.get(node)
        spellings = {sanitised(name): name for name in self._added}
        stored = fact.capacity if fact else {}
        capacity = {
            kubernetes_resource(name, spellings) or name: int(units)
            for name, units in stored.items()
        }
        facts = NodeFacts(capacity, fact.labels if fact else {})
        unit = unit_of(resource, facts, self._added)
        return None if unit is None else unit.share
