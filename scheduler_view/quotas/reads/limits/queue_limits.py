"""Queues of Kueue, Volcano and KAI as rows in the order of their tree."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from scheduler_view.clusters.reads.last_observation import Manifest
from scheduler_view.clusters.rules.drift_state import DriftState
from scheduler_view.clusters.rules.object_key import ObjectKey
from scheduler_view.clusters.rules.optional_kinds import LOCAL_QUEUE
from scheduler_view.clusters.rules.schedulers import QUEUE_FIELDS, QUEUE_OBJECTS
from scheduler_view.quotas.reads.desired import queue_targets
from scheduler_view.quotas.reads.limits.limit_row import LimitGroup, LimitRow
from scheduler_view.quotas.reads.limits.observed import ObservedLimits
from scheduler_view.quotas.rules.limits.lending import (
    Lending,
    amount,
    lending,
    waiting_text,
)
from scheduler_view.quotas.rules.limits.queue_node import (
    QueueName,
    QueueNode,
    TreeLine,
    in_order,
)
from scheduler_view.quotas.rules.limits.queue_readers import queue_nodes

TITLES = {
    "ClusterQueue": "ClusterQueue",
    "LocalQueue": "LocalQueue",
    "Cohort": "Cohort",
    "VolcanoQueue": "Queue of Volcano",
    "KaiQueue": "Queue of KAI",
}


def queue_limits(seen: ObservedLimits) -> Iterator[LimitRow]:
    """Queues in the order of their tree.

    People who may not read all teams get the queues of their namespaces and what is above them,
    without names of other queues.
    """
    objects = {
        QueueName(kind, namespace, name): live
        for kind in QUEUE_OBJECTS
        for namespace, name, live in seen.objects.get(kind, ())
    }
    nodes = queue_nodes([(*name, live) for name, live in objects.items()], seen.added)
    found = lending(nodes)
    targets = _targets(seen)
    told: set[QueueName] = set()
    for line in in_order(_readable(seen, nodes)):
        one = line.node
        key = (one.name, one.flavor, one.resource)
        shared = found.get(key, Lending(one.borrowed))
        row = _row(seen, line, shared, objects.get(one.name), targets)
        # What waits is said once, and for other flavors only what holds it there.
        is_new = bool(shared.holders) or shared.is_full or one.name not in told
        told.add(one.name)
        is_told = row.is_managed or is_new
        yield row if is_told else replace(row, text="")


def _readable(seen: ObservedLimits, nodes: Sequence[QueueNode]) -> list[QueueNode]:
    if seen.scope.sees_all:
        return list(nodes)
    parents = {one.name: one.parent for one in nodes}
    own: set[QueueName] = set()
    for name in parents:
        above: QueueName | None = name
        if name.kind != LOCAL_QUEUE or not seen.sees(name.namespace):
            continue
        while above is not None and above not in own:
            own.add(above)
            above = parents.get(above)
    return [one for one in nodes if one.name in own]


def _row(
    seen: ObservedLimits,
    line: TreeLine,
    shared: Lending,
    live: Manifest | None,
    targets: dict[tuple[str, str], dict[str, int]],
) -> LimitRow:
    one = line.node
    kind, namespace, name = one.name
    fields = targets.get((kind, name), {})
    change = max((n for f, n in fields.items() if _is_of(f, one)), default=0)
    sync = seen.sync.get(ObjectKey(kind, "", name)) if change else None
    text = waiting_text(one, shared, names=seen.scope.sees_all)
    if sync is not None and sync.changes:
        text = f"{sync.message} {text}".strip()
    can = kind in QUEUE_FIELDS and live is not None and one.quota is not None
    return LimitRow(
        cluster=seen.cluster.name,
        group=LimitGroup.QUEUES,
        kind=kind,
        name=name,
        namespace=namespace,
        **seen.team_of(namespace),
        resource=one.resource,
        part=one.flavor,
        limit=_limit(one),
        used=amount(one.used) if one.quota is not None or one.most else "",
        borrowed=amount(shared.borrowed) if one.quota is not None else "",
        lent=shared.lent,
        may_borrow=_may_borrow(one),
        may_lend=amount(one.may_lend),
        waiting=one.waiting,
        parent=one.parent.name if one.parent else "",
        depth=line.depth,
        **(seen.made(live, ("spec",), change=change) if live else {}),
        state=_state(change, sync.state if sync else ""),
        text=text,
        adopts=can and not change and name not in QUEUE_FIELDS[kind].fixed,
        why_not=_why_not(kind, change, live),
        seen_at=seen.seen_at.get(kind),
    )


def _limit(one: QueueNode) -> str:
    return amount(one.quota if one.quota is not None else one.most)


def _may_borrow(one: QueueNode) -> str:
    """Above its quota: Kueue says so, others limit the sum."""
    if one.may_borrow is not None or one.most is None or one.quota is None:
        return amount(one.may_borrow)
    if isinstance(one.most, str) or isinstance(one.quota, str):
        return "unlimited"
    return amount(max(one.most - one.quota, one.most * 0))


def _targets(seen: ObservedLimits) -> dict[tuple[str, str], dict[str, int]]:
    """Change sets by field of each queue that GPU Ledger manages."""
    found: dict[tuple[str, str], dict[str, int]] = {}
    for row in queue_targets(seen.cluster):
        found.setdefault((row.kind, row.name), {})[row.field] = row.version
    return found


def _is_of(field: str, one: QueueNode) -> bool:
    """True for a field of this flavor and resource: `a100/nvidia.com/gpu/nominalQuota`."""
    own = "/".join(part for part in (one.flavor, one.resource) if part)
    return field.startswith(f"{own}/" if own else "gpu/")


def _state(change: int, compared: str) -> str:
    if not change:
        return DriftState.NOT_MANAGED.value
    return compared or "not_compared"


def _why_not(kind: str, change: int, live: Manifest | None) -> str:
    if change:
        return "GPU Ledger sets it."
    if kind == LOCAL_QUEUE:
        return "It has no numbers: its ClusterQueue has."
    if live is None:
        return "It is only named by its queues."
    return "" if kind in QUEUE_FIELDS else "GPU Ledger only shows it."
