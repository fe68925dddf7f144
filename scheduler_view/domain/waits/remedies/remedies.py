"""What would let a unit start: changes of which each is enough (scheduling.md S13)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from scheduler_view.domain.quotas.quota_key import is_mig
from scheduler_view.domain.waits.blockers import Blockers
from scheduler_view.domain.waits.cause import (
    BIT,
    Overlay,
    PreemptionOutcome,
    Stage,
    WaitCause,
    first_of,
)
from scheduler_view.domain.waits.explanation import Remedy, remedy
from scheduler_view.domain.waits.finding import PodFinding
from scheduler_view.domain.waits.findings import Findings
from scheduler_view.domain.waits.placement.gpu_requests import GpuRequest
from scheduler_view.domain.waits.placement.holders import HolderSet
from scheduler_view.domain.waits.placement.verdicts import (
    SHORT_OF_GPUS,
    Verdicts,
    short_of,
    verdicts_of,
)
from scheduler_view.domain.waits.remedies.before_nodes import (
    autoscaler_remedies,
    limit_remedies,
    lost_remedies,
    plugin_remedies,
    quota_remedies,
    simple_remedies,
)
from scheduler_view.domain.waits.remedies.on_nodes import ended, node_remedies
from scheduler_view.domain.waits.units import WorkUnit
from scheduler_view.domain.waits.world.lenient import quantity
from scheduler_view.domain.waits.world.pods import PodObject

SCALED = frozenset({"Deployment", "StatefulSet", "ReplicaSet"})
MOST_SETS = 8
_QUOTAS = frozenset({WaitCause.QUOTA, WaitCause.SCOPE_QUOTA, WaitCause.QUOTA_OTHER})


@dataclass(frozen=True)
class WaitCase:
    """What remedies are computed from.

    Attributes:
        partners: gangs that block each other with the unit.
    """

    findings: Findings
    unit: WorkUnit
    finding: PodFinding
    gpus: GpuRequest | None
    sets: list[HolderSet]
    blockers: Blockers
    preemption: PreemptionOutcome
    overlays: tuple[Overlay, ...]
    partners: tuple[str, ...] = ()
    claims: tuple[Remedy, ...] = ()


def remedies_of(case: WaitCase) -> list[Remedy]:
    """Each is enough, most direct first; without duplicates."""
    found: list[Remedy] = []
    for one in _all(case):
        if one.changes and one not in found:
            found.append(one)
    return found


def _all(case: WaitCase) -> Iterator[Remedy]:
    finding, index = case.finding, case.findings.index
    cause, verdicts = finding.cause, finding.verdicts
    yield from autoscaler_remedies(finding)
    if finding.stage is Stage.STARTING and cause is WaitCause.NODE_NOT_READY:
        yield from lost_remedies(finding)
    elif cause in _QUOTAS:
        yield from quota_remedies(index, case.unit, finding)
        yield from _ended(case)
        yield from _scaled(case)
    elif cause is WaitCause.LIMIT_RANGE and finding.refusal is not None:
        yield from limit_remedies(index, case.unit, finding.refusal)
    elif cause is WaitCause.NO_NODES:
        yield remedy("add_node", units=_units(case))
    elif cause is WaitCause.CLAIM_UNALLOCATABLE:
        yield from case.claims
    elif cause is WaitCause.RESOURCE_UNKNOWN and verdicts is not None:
        yield from _known_resources(case, verdicts)
    elif simple := simple_remedies(case.unit, finding):
        yield from simple
    elif verdicts is not None and cause is not WaitCause.OTHER:
        yield from _on_nodes(case, verdicts)
        yield from plugin_remedies(case.unit, finding)


def _on_nodes(case: WaitCase, verdicts: Verdicts) -> Iterator[Remedy]:
    if Overlay.OWN_ROLLOUT in case.overlays:
        yield remedy("allow_unavailable", object=case.unit.subject, to=1)
    for one in case.partners:
        yield remedy("end_gang", object=one)
    if not case.partners:
        yield from _ended(case)
    yield from node_remedies(
        verdicts,
        lambda room, mask: (
            () if case.partners else case.blockers.ends(verdicts, room, mask)
        ),
    )
    yield from _smaller(case, verdicts)
    if case.finding.cause is WaitCause.FRAGMENTED:
        yield from _moved(case, verdicts)
    yield from _scaled(case)
    yield from _by_priority(case)
    if any(mask and not mask & ~SHORT_OF_GPUS for mask in verdicts.kinds):
        units = _units(case) * max(1, len(case.unit.waiting))
        yield remedy("add_gpus", node="any", resource=_resource(case), units=units)
    else:
        yield _new_node(case, verdicts)


def _ended(case: WaitCase) -> Iterator[Remedy]:
    """Each set, and equal pods in the place of a single one."""
    for one in case.sets[:MOST_SETS]:
        if not _has_own(case, one):
            yield Remedy((ended(one.pods),))
            for other in case.blockers.equals(one)[:MOST_SETS]:
                if not case.blockers.is_own(other):
                    yield Remedy((ended([other]),))


def _has_own(case: WaitCase, one: HolderSet) -> bool:
    return any(case.blockers.is_own(pod) for pod in one.pods)


def _scaled(case: WaitCase) -> Iterator[Remedy]:
    """Fewer replicas, where the unit waits for its own."""
    unit = case.unit
    is_own = bool(case.sets) and _has_own(case, case.sets[0])
    if is_own and unit.kind in SCALED and unit.bound:
        yield remedy("scale_down", to=len(unit.bound))


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


_SHORT_MASKS = (BIT[WaitCause.NO_FREE_GPU], BIT[WaitCause.FRAGMENTED])


def _other_profiles(case: WaitCase, verdicts: Verdicts, name: str) -> Iterator[Remedy]:
    """Another MIG profile that is free, where this one is not."""
    if is_mig(name) and any(mask & SHORT_OF_GPUS for mask in verdicts.kinds):
        for other in sorted(case.findings.index.rooms_with):
            if is_mig(other) and other != name and _would_start(case, name, other):
                yield remedy("change_request", resource=other)


def _known_resources(case: WaitCase, verdicts: Verdicts) -> Iterator[Remedy]:
    """Resources that nodes have and that are free, and for MIG another geometry."""
    for name in sorted(verdicts.resources):
        for other in sorted(case.findings.index.rooms_with):
            if _would_start(case, name, other):
                yield remedy("change_request", resource=other)
        if is_mig(name):
            yield remedy("change_geometry", resource=name)
        yield remedy("add_node", resource=name, units=_units(case))


def _would_start(case: WaitCase, name: str, other: str) -> bool:
    """Whether the pods could run with another resource in the place of one."""
    verdicts = case.finding.verdicts
    if verdicts is None:
        return False
    demand = verdicts.demand
    requests = {n: a for n, a in demand.spec.requests if n != name}
    requests[other] = requests.get(other, 0) + verdicts.resources[name]
    spec = replace(demand.spec, requests=tuple(sorted(requests.items())))
    changed = replace(demand, spec=spec)
    return None in verdicts_of(case.findings.index, changed).firsts


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


def _by_priority(case: WaitCase) -> Iterator[Remedy]:
    """A higher tier, or preemption, where pods of lower priority would then make room."""
    world, spec = case.findings.index.world, case.finding.spec
    if case.preemption is PreemptionOutcome.NEVER:
        if Overlay.PRIORITY_INVERSION in case.overlays:
            yield remedy("allow_preemption")
        return
    if not case.sets or spec is None:
        return
    needed = min(
        max(world.priority_of(pod.spec) for pod in one.pods) for one in case.sets
    )
    if spec.priority_class or any(
        one.value > needed and not one.never_preempts for one in world.classes.values()
    ):
        yield remedy("raise_tier")


def _new_node(case: WaitCase, verdicts: Verdicts) -> Remedy:
    """A node of the shape that the pod needs."""
    spec = verdicts.demand.spec
    if all(first_of(mask) is WaitCause.NO_MATCHING_NODE for mask in verdicts.kinds):
        labels = dict(spec.node_selector)
        for term in (spec.node_terms or ())[:1]:
            for one in term.labels:
                if one.operator == "In" and one.values:
                    labels[one.key] = one.values[0]
        return remedy("add_node", labels=labels, units=_units(case))
    return remedy("add_node", units=_units(case))


def _units(case: WaitCase) -> int:
    return (case.gpus.units or 0) if case.gpus else 0


def _resource(case: WaitCase) -> str:
    return case.gpus.resource if case.gpus else ""
