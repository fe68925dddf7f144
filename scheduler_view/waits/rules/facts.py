"""Numbers and names that belong to a cause: the quota, the free units, the taint, the volume."""

from collections.abc import Iterable
from heapq import nsmallest

from scheduler_view.clusters.rules.quota_key import is_mig
from scheduler_view.waits.rules.blockers import Blockers
from scheduler_view.waits.rules.cause import BIT, QUEUES, WaitCause
from scheduler_view.waits.rules.finding import PodFinding
from scheduler_view.waits.rules.numbers import numbers_of
from scheduler_view.waits.rules.placement.demand import untolerated
from scheduler_view.waits.rules.placement.gpu_requests import gpu_request
from scheduler_view.waits.rules.placement.holders import HolderSet
from scheduler_view.waits.rules.placement.index import WorldIndex
from scheduler_view.waits.rules.placement.verdicts import Verdicts, free_of, short_of
from scheduler_view.waits.rules.remedies.at_the_door import quota_facts
from scheduler_view.waits.rules.remedies.case import WaitCase
from scheduler_view.waits.rules.remedies.free_behind import free_behind
from scheduler_view.waits.rules.units import WorkUnit

Found = dict[str, object]
_FOR_REMEDIES = frozenset({"missing_kind", "ends_in"})
MOST_NODES = 32  # whose free units are named; the total is of all


def facts_of(
    case: WaitCase,
    findings: list[PodFinding],
    devices: dict[str, dict[str, int]],
    inverted: list[HolderSet],
) -> Found:
    """The facts of a unit.

    Args:
        findings: of all its pods.
        devices: published and allocated ones by node, for a claim that waits.
        inverted: sufficient sets of pods of lower priority only.
    """
    index, unit, main = case.findings.index, case.unit, case.finding
    found = {n: value for n, value in main.facts.items() if n not in _FOR_REMEDIES}
    refusal = next((one.refusal for one in findings if one.refusal is not None), None)
    if refusal is not None:
        found |= quota_facts(index, refusal)
    if devices:
        found["devices"] = devices
    if main.cause in QUEUES and main.name:
        found["queue"] = main.name
        reason = index.queue_reasons.get((unit.namespace, unit.kind, unit.name))
        reason = reason or (unit.top.queue_reason if unit.top else "")
        found |= {"queue_reason": reason} if reason else {}
    if main.cause is WaitCause.NOT_TRIED:
        found["scheduler"] = main.name
    if unit.is_partial:
        found["gang"] = _gang(index, unit)
    if inverted and main.spec is not None:
        found["inversion"] = _inversion(index, main, inverted, case.blockers)
    if main.verdicts is not None:
        resource = case.gpus.resource if case.gpus else ""
        found |= _of_nodes(index, main.cause, main.verdicts, resource)
        if main.is_by_nodes and (numbers := numbers_of(main.verdicts)):
            found["numbers"] = numbers
        if free := free_behind(main.verdicts):
            found["free_behind"] = free
    return found


def _gang(index: WorldIndex, unit: WorkUnit) -> Found:
    held = sum(
        one.units or 0
        for pod in unit.bound
        if (one := gpu_request(index.world, pod.namespace, pod.spec, pod.claims))
    )
    found: Found = {"size": unit.gang_size, "holding_units": held}
    return found | ({"label": unit.group} if unit.group else {})


def _inversion(
    index: WorldIndex,
    main: PodFinding,
    inverted: Iterable[HolderSet],
    blockers: Blockers,
) -> Found:
    """The pods of lower priority of which a set is enough, and those that hold as much."""
    priority = index.world.priority_of
    own = priority(main.spec) if main.spec else 0
    pods = [pod for one in inverted for pod in (*one.pods, *blockers.equals(one))]
    pods = [pod for pod in pods if pod.node and priority(pod.spec) < own]
    return {
        "waiting": own,
        "holding": {pod.path: priority(pod.spec) for pod in pods[:16]},
    }


def _of_nodes(
    index: WorldIndex, cause: WaitCause, verdicts: Verdicts, resource: str
) -> Found:
    spec = verdicts.demand.spec
    if cause is WaitCause.FRAGMENTED:
        free = free_of(verdicts.with_mask(BIT[WaitCause.FRAGMENTED]), resource)
        most = nsmallest(MOST_NODES, free, key=lambda name: (-free[name], name))
        return {
            "free": {name: free[name] for name in sorted(most)},
            "free_total": sum(free.values()),
        }
    if cause is WaitCause.NO_FREE_GPU and is_mig(resource):
        return {"free_other": _free_profiles(index, resource)}
    if cause is WaitCause.CPU_MEMORY:
        return {"short": _short(verdicts)}
    if cause is WaitCause.NO_MATCHING_NODE and spec.node_selector:
        return {"selector": dict(spec.node_selector)}
    if cause is WaitCause.TAINT:
        return {"taints": _taints(verdicts)}
    return _volume(cause, verdicts)


def _volume(cause: WaitCause, verdicts: Verdicts) -> Found:
    """The volume that keeps the pod away: of any node, as they have the same claims."""
    volumes = verdicts.volumes
    if cause is WaitCause.VOLUME_IN_USE:
        names = list(verdicts.demand.spec.volumes)
    elif cause is WaitCause.VOLUME_ZONE:
        names = _first(volumes.elsewhere(room.node) for room in verdicts.rooms)
    elif cause is WaitCause.VOLUME_UNBOUND:
        names = _first(volumes.unbound(room.node) for room in verdicts.rooms)
    else:
        return {}
    return {"volume": names[0]} if names else {}


def _first(found: Iterable[list[str]]) -> list[str]:
    return next((names for names in found if names), [])


def _short(verdicts: Verdicts) -> list[str]:
    """Resources other than GPUs that are short where this is the only cause, or the first."""
    masks, positions = verdicts.masks, verdicts.candidates.positions
    nodes = positions[(masks & -masks) == BIT[WaitCause.CPU_MEMORY]]
    others = [
        one for one in verdicts.demand.spec.requests if one[0] not in verdicts.resources
    ]
    short = zip(others, short_of(verdicts.table, others), strict=True)
    return sorted(name for (name, _), where in short if where[nodes].any())


def _taints(verdicts: Verdicts) -> list[Found]:
    spec = verdicts.demand.spec
    known = {room.node.taints: room.node for room in verdicts.rooms}
    unique = {
        one
        for node in known.values()
        for one in untolerated(spec, node)
        if not one.is_of_setup
    }
    return [
        {"key": one.key, "value": one.value, "effect": one.effect}
        for one in sorted(unique, key=lambda one: (one.key, one.value, one.effect))
    ]


def _free_profiles(index: WorldIndex, resource: str) -> dict[str, int]:
    """Free units of other MIG profiles."""
    found = {
        name: sum(free_of(rooms, name).values())
        for name, rooms in sorted(index.rooms_with.items())
        if is_mig(name) and name != resource
    }
    return {name: units for name, units in found.items() if units}
