"""What would give a pod, or all members of a gang, a node (S13)."""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil

from scheduler_view.clusters.rules.quota_key import is_mig
from scheduler_view.waits.rules.cause import BIT, Overlay, PreemptionOutcome, WaitCause
from scheduler_view.waits.rules.explanation import Remedy, WaitChange, remedy
from scheduler_view.waits.rules.placement.holders import HolderSet
from scheduler_view.waits.rules.placement.verdicts import (
    SHORT_OF_GPUS,
    Verdicts,
    short_of,
)
from scheduler_view.waits.rules.remedies.before_nodes import (
    autoscaler_remedies,
    plugin_remedies,
)
from scheduler_view.waits.rules.remedies.case import WaitCase
from scheduler_view.waits.rules.remedies.ends import (
    MOST_SETS,
    ended_sets,
    for_all,
    scaled,
)
from scheduler_view.waits.rules.remedies.on_nodes import node_remedies
from scheduler_view.waits.rules.trial.obstacle import Obstacle
from scheduler_view.waits.rules.trial.work import HOST
from scheduler_view.waits.rules.world.lenient import quantity
from scheduler_view.waits.rules.world.pods import PodObject

_SYSTEM = "system-"
_SHORT_MASKS = (BIT[WaitCause.NO_FREE_GPU], BIT[WaitCause.FRAGMENTED])


def place_remedies(case: WaitCase, found: Sequence[Obstacle]) -> Iterator[Remedy]:
    """Changes on nodes, of what the work requires, and of who goes first."""
    del found
    verdicts = case.trial.work.verdicts
    yield from autoscaler_remedies(case.finding)
    if verdicts is None:
        return
    if not verdicts.table.rooms:
        yield from _new_node(case, verdicts)
    elif case.finding.cause is WaitCause.NO_DEVICE_PLUGIN:
        yield from plugin_remedies(case.unit, case.finding)
    elif not len(verdicts.masks):
        yield from _known_resources(case, verdicts)
    elif case.finding.is_by_nodes:
        yield from _on_nodes(case, verdicts, case.sets)
        yield from plugin_remedies(case.unit, case.finding)
    else:
        yield from _on_nodes(case, verdicts, case.blockers.on_nodes(verdicts).best)


def _on_nodes(
    case: WaitCase, verdicts: Verdicts, sets: list[HolderSet]
) -> Iterator[Remedy]:
    if Overlay.OWN_ROLLOUT in case.overlays:
        yield remedy("allow_unavailable", object=case.unit.subject, to=1)
    for one in case.partners:
        yield remedy("end_gang", object=one)
    count, singles = case.trial.work.count, list[Remedy]()
    if not case.partners:
        singles += ended_sets(case, sets)
    singles += node_remedies(
        verdicts,
        lambda room, mask: (
            () if case.partners else case.blockers.ends(verdicts, room, mask)
        ),
        count,
    )
    yield from singles if count == 1 else singles[:MOST_SETS]
    if count > 1:
        yield from for_all(case, singles)
    yield from _smaller(case, verdicts)
    if verdicts.cause is WaitCause.FRAGMENTED and case.trial.work.count == 1:
        yield from _moved(case, verdicts)
    yield from scaled(case)
    yield from _by_priority(case, sets)
    if any(mask and not mask & ~SHORT_OF_GPUS for mask in verdicts.kinds):
        units = case.units * max(1, len(case.unit.waiting), case.trial.work.count)
        resource = case.gpus.resource if case.gpus else ""
        freed = remedy("add_gpus", node="any", resource=resource, units=units)
        if case.trial.starts(freed.changes):
            yield freed
            return
    yield from _new_node(case, verdicts)


def _smaller(case: WaitCase, verdicts: Verdicts) -> Iterator[Remedy]:
    """The largest free block, of GPUs and of each other resource that alone is short."""
    spec = verdicts.demand.spec
    table, short = verdicts.table, verdicts.positions_with(*_SHORT_MASKS)
    if len(verdicts.resources) == 1:
        name = next(iter(verdicts.resources))
        units = int(table.free(name)[short].max(initial=0)) // 1000
        if units > 0:
            yield remedy("shrink_request", units=units)
        yield from _other_profiles(case, verdicts, name)
    nodes = verdicts.positions_with(BIT[WaitCause.CPU_MEMORY])
    for name, need in spec.requests:
        if name in verdicts.resources:
            continue
        others = [one for one in spec.requests if one[0] != name]
        has_rest = nodes
        for is_short in short_of(table, others):
            has_rest = has_rest[~is_short[has_rest]]
        most = int(table.free(name)[has_rest].max(initial=0))
        if 0 < most < need:
            yield remedy("shrink_request", resource=name, to=quantity(most))


def _other_profiles(case: WaitCase, verdicts: Verdicts, name: str) -> Iterator[Remedy]:
    """Another MIG profile, where this one is not free."""
    if is_mig(name) and any(mask & SHORT_OF_GPUS for mask in verdicts.kinds):
        for other in sorted(case.findings.index.rooms_with):
            if is_mig(other) and other != name:
                yield remedy("change_request", resource=other)


def _known_resources(case: WaitCase, verdicts: Verdicts) -> Iterator[Remedy]:
    """Resources that nodes have, alike ones first, and for MIG another geometry."""
    for name in sorted(verdicts.resources):
        known = case.findings.index.rooms_with
        alike = sorted(known, key=lambda one: (is_mig(one) != is_mig(name), one))
        for other in alike[:MOST_SETS]:
            yield remedy("change_request", resource=other)
        if is_mig(name):
            yield remedy("change_geometry", resource=name)
    yield from _new_node(case, verdicts)


def _moved(case: WaitCase, verdicts: Verdicts) -> Iterator[Remedy]:
    """A pod that leaves enough behind and fits on another node."""
    name = next(iter(verdicts.resources), "")
    need = verdicts.demand.spec.request(name)
    nodes = verdicts.positions_with(BIT[WaitCause.FRAGMENTED])[:MOST_SETS]
    for room in verdicts.table.at(nodes):
        for pod in room.pods:
            is_enough = room.free.get(name, 0) + pod.spec.request(name) >= need
            if is_enough and pod.is_live and _fits_elsewhere(case, pod):
                yield remedy("move_pod", pod=pod.path)


def _fits_elsewhere(case: WaitCase, pod: PodObject) -> bool:
    found = case.findings.verdicts(pod)
    own = found.table.position.get(pod.node, -1)
    return bool((found.positions_with(0) != own).any())


def _by_priority(case: WaitCase, sets: list[HolderSet]) -> Iterator[Remedy]:
    """The lowest class that is higher than all of some set, so that preemption ends it."""
    world, spec = case.findings.index.world, case.finding.spec
    if case.preemption is PreemptionOutcome.NEVER:
        yield remedy("allow_preemption")
        return
    foreign = [one for one in sets if not case.has_own(one)]
    if not foreign or spec is None:
        return
    needed = min(
        max(world.priority_of(pod.spec) for pod in one.pods) for one in foreign
    )
    own = world.priority_of(spec)
    higher = [
        one
        for one in world.classes.values()
        if one.value > max(needed, own)
        and not one.never_preempts
        and not one.name.startswith(_SYSTEM)
    ]
    if higher:
        best = min(higher, key=lambda one: (one.value, one.name))
        yield remedy("raise_tier", name=best.name)


def _new_node(case: WaitCase, verdicts: Verdicts) -> Iterator[Remedy]:
    """Nodes of the kind that the pods need, with what no node has enough of."""
    work = case.trial.work
    labels = work.labels
    if labels is None:
        return
    where = _domains(verdicts, labels)
    details: dict[str, object] = {}
    if not len(verdicts.masks) and verdicts.table.rooms:
        details["resource"] = next(iter(verdicts.resources), "")
    per_node, nodes = 1, 1
    gpus = next(iter(verdicts.resources), "")
    spec = verdicts.demand.spec
    if work.count > 1 and (spec.anti_affinity or spec.spread or spec.host_ports):
        nodes = work.count
    elif work.count > 1 and gpus:
        per_node = max(1, work.usual(gpus) // max(1, work.need.get(gpus, 0)))
        per_node = min(per_node, work.count)
        nodes = ceil(work.count / per_node)
    if nodes > 1:
        details["nodes"] = nodes
    also = {
        name: quantity(per_node * need)
        for name, need in work.need.items()
        if name not in verdicts.resources and work.usual(name) < per_node * need
    }
    if also:
        details["also"] = also
    details["units"] = case.units * per_node
    for domain in where:
        named = {"labels": labels | domain} if labels or domain else {}
        found = remedy("add_node", **named, **details)
        if len(where) == 1 or case.trial.starts(found.changes):
            yield found
            return
    relaxed = [
        WaitChange("relax_spread", {"key": one.topology_key})
        for one in verdicts.demand.spec.spread
    ]
    if relaxed:
        yield Remedy((*relaxed, *found.changes))


def _domains(verdicts: Verdicts, labels: Mapping[str, str]) -> list[dict[str, str]]:
    """Values of the topology keys of its rules that nodes have: one of them a new node needs."""
    spec = verdicts.demand.spec
    keys = {one.topology_key for one in spec.spread}
    keys |= {one.topology_key for one in spec.affinity}
    keys -= {HOST, *labels}
    known = verdicts.table.domains(frozenset(keys)) if keys else []
    return known[:MOST_SETS] or [{}]
