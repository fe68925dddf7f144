"""What each change makes of the cluster and of the work (table in scheduling.md S13).

To add a change: write its effect here, its text in `waits/wording.py`, and a row of the table.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from accounting.metering.rules.units.mig_profiles import parse
from scheduler_view.waits.rules.cause import QUEUES, WaitCause
from scheduler_view.waits.rules.explanation import WaitChange
from scheduler_view.waits.rules.queue_holders import queue_holders
from scheduler_view.waits.rules.trial.asks import (
    add_request,
    change_request,
    grow_request,
    raise_limit_range,
    set_limit,
    shrink_request,
)
from scheduler_view.waits.rules.trial.changed import Changed
from scheduler_view.waits.rules.world.lenient import milli
from scheduler_view.waits.rules.world.nodes import NOT_READY, ClusterNode
from scheduler_view.waits.rules.world.pod_spec import PodSpec, Toleration
from scheduler_view.waits.rules.world.selectors import LabelRequirement, NodeTerm
from scheduler_view.waits.rules.world.storage import Volume, VolumeClaim

Details = Mapping[str, Any]
Effect = Callable[[Changed, Details], None]
NEW_NODE = "a-new-node"
_MOST_PODS = 110_000  # thousandths: what a kubelet takes without other settings


def apply(changed: Changed, changes: Iterable[WaitChange]) -> None:
    """Carries out changes one after another; one without an effect lets nothing start."""
    for one in changes:
        effect = EFFECTS.get(one.kind)
        if effect is not None:
            effect(changed, one.details)


def clears(*causes: WaitCause) -> Effect:
    """The effect of a change that removes causes, whatever else keeps the work."""

    def effect(changed: Changed, details: Details) -> None:
        del details
        changed.cleared |= set(causes)

    return effect


def respec(of: Callable[[PodSpec, Details], PodSpec]) -> Effect:
    """The effect of a change of what the pods of the work require."""

    def effect(changed: Changed, details: Details) -> None:
        changed.specs.append(lambda spec: of(spec, details))

    return effect


def _end(changed: Changed, details: Details) -> None:
    changed.end(details.get("pods") or [details.get("pod")])


def _end_gang(changed: Changed, details: Details) -> None:
    unit = changed.work.index.unit_named.get(details["object"])
    changed.end([pod.path for pod in unit.pods] if unit else [])


def _end_victims(changed: Changed, details: Details) -> None:
    del details
    changed.end(changed.work.finding.facts.get("victims"))


def _end_old(changed: Changed, details: Details) -> None:
    """A rollout ends some of its old pods first."""
    work = changed.work
    new = {one.maker.name for one in work.members if one.maker}
    new |= {m.pod.controller.name for m in work.members if m.pod.controller}
    old = [p for p in work.unit.bound if p.controller and p.controller.name not in new]
    changed.end([pod.path for pod in old[: details["to"]]])


def _node(of: Callable[[ClusterNode], ClusterNode]) -> Effect:
    def effect(changed: Changed, details: Details) -> None:
        node = changed.node(details["node"])
        if node is not None:
            changed.nodes[node.name] = of(node)

    return effect


def _ready(node: ClusterNode) -> ClusterNode:
    taints = tuple(one for one in node.taints if one.key not in NOT_READY)
    return replace(node, is_ready=True, taints=taints)


def _healthy(node: ClusterNode) -> ClusterNode:
    names = {*node.capacity, *node.allocatable}
    return replace(
        node,
        allocatable={
            name: max(node.capacity.get(name, 0), node.allocatable.get(name, 0))
            if "/" in name
            else node.allocatable.get(name, 0)
            for name in names
        },
    )


def _add_node(changed: Changed, details: Details) -> None:
    """Nodes as large as the largest of those with such GPUs, and with what the change names."""
    work = changed.work
    offered = {name: work.usual(name) for name in work.need}
    offered["pods"] = _MOST_PODS
    if details.get("units"):
        gpus = work.verdicts.resources if work.verdicts else {}
        offered |= dict.fromkeys(gpus, 1000 * details["units"])
    offered |= {n: milli(v) or 0 for n, v in details.get("also", {}).items()}
    for number in range(details.get("nodes", 1)):
        name = f"{NEW_NODE}-{number}"
        labels = {"kubernetes.io/hostname": name} | details.get("labels", {})
        changed.added.append(
            ClusterNode(name, labels, allocatable=offered, capacity=offered)
        )


def _add_gpus(changed: Changed, details: Details) -> None:
    """GPUs become free, node by node, on nodes where nothing else is short."""
    left, name = 1000 * details["units"], details["resource"]
    need = changed.work.need.get(name, 0)
    for room in changed.work.short_of_gpus:
        offered, free = room.node.allocatable.get(name, 0), room.free.get(name, 0)
        if left <= 0 or not need or offered < need:
            continue
        more = min(left, max(0, offered // need * need - free))
        changed.freed[room.node.name] = {name: more}
        left -= more


def _node_on_its_way(changed: Changed, details: Details) -> None:
    """An autoscaler adds a node for the pod, as large as the largest of such nodes."""
    del details
    _add_node(changed, {"labels": changed.work.labels or {}})


def _report_gpus(changed: Changed, details: Details) -> None:
    """As many GPUs as the labels of the node show, else as many as are requested."""
    node = changed.node(details["node"])
    if node is not None:
        need, shown = changed.work.need, node.labeled_gpus
        gpus = changed.work.verdicts.resources if changed.work.verdicts else {}
        more = {name: 1000 * shown if shown else need.get(name, 0) for name in gpus}
        offered = {**node.allocatable, **more}
        changed.nodes[node.name] = replace(node, allocatable=offered, capacity=offered)


def _set_up(changed: Changed, details: Details) -> None:
    """The node has lost the taint of its setup."""
    node = changed.node(details["node"])
    if node is not None:
        taints = tuple(one for one in node.taints if one.key != details["taint"])
        changed.nodes[node.name] = replace(node, taints=taints)


def _end_let_in(changed: Changed, details: Details) -> None:
    """Work that the queue let in ends, the largest first, until enough units are free.

    The generator made sure that so much of its quota is in use.
    """
    changed.cleared |= QUEUES
    index, left = changed.work.index, details.get("units")
    for one in queue_holders(index, details["object"]):
        unit = index.unit_named.get(one.unit)
        changed.end([pod.path for pod in unit.bound] if unit else [])
        left = left - one.units if isinstance(left, int | float) else left
        if isinstance(left, int | float) and left <= 0:
            return


def _shrink_total(changed: Changed, details: Details) -> None:
    """All pods together request at most so many GPUs, each an equal part of them."""
    changed.cleared |= QUEUES
    unit, most = changed.work.unit, milli(str(details["to"])) or 0
    pods = max(1, len(unit.waiting) + unit.missing_count)
    part = max(1, most // 1000 // pods)
    shrink_request(changed, {"units": part})


def _tolerate(spec: PodSpec, details: Details) -> PodSpec:
    taint = details["taint"]
    known = Toleration(taint["key"], "Equal", taint["value"], taint["effect"])
    return replace(spec, tolerations=(*spec.tolerations, known))


def _drop_selector(spec: PodSpec, details: Details) -> PodSpec:
    kept = tuple(one for one in spec.node_selector if one[0] != details["key"])
    return replace(spec, node_selector=kept)


def _drop_affinity(spec: PodSpec, details: Details) -> PodSpec:
    def without(found: tuple[LabelRequirement, ...]) -> tuple[LabelRequirement, ...]:
        return tuple(one for one in found if one.key != details["key"])

    terms = [
        NodeTerm(without(term.labels), without(term.fields))
        for term in spec.node_terms or ()
    ]
    is_open = any(not (term.labels or term.fields) for term in terms)
    return replace(spec, node_terms=None if is_open or not terms else tuple(terms))


def _relax_spread(spec: PodSpec, details: Details) -> PodSpec:
    kept = tuple(one for one in spec.spread if one.topology_key != details["key"])
    return replace(spec, spread=kept)


def _start_pod(spec: PodSpec, details: Details) -> PodSpec:
    """A pod that it must be near runs where it could run."""
    labels = details["labels"]
    kept = tuple(
        one
        for one in spec.affinity
        if one.selector is None or not one.selector.matches(labels)
    )
    return replace(spec, affinity=kept)


def _remove_gate(spec: PodSpec, details: Details) -> PodSpec:
    return replace(spec, gates=tuple(g for g in spec.gates if g != details["gate"]))


def _partition(changed: Changed, details: Details) -> None:
    """A node whose free profiles have as many slices is partitioned otherwise."""
    name, family = details["resource"], details["resource"].partition("/mig-")[0]
    for room in changed.work.index.rooms.values():
        free = sum(
            amount // 1000 * _slices(one)
            for one, amount in room.free.items()
            if one.startswith(f"{family}/mig-")
        )
        if free >= max(1, _slices(name)) and room.node.is_available:
            need = changed.work.need.get(name, 0)
            offered = {**room.node.allocatable, name: need}
            changed.nodes[room.node.name] = replace(
                room.node, allocatable=offered, capacity=offered
            )
            return


def _slices(resource: str) -> int:
    """Slices of a GPU that a device of a MIG profile takes; 0 for a name that is none."""
    profile = parse(resource.partition("/mig-")[2].removesuffix(".shared"))
    return profile.slices if profile else 0


def _tier(changed: Changed, details: Details) -> None:
    name = details.get("name", "")
    known = changed.work.index.world.classes.get(name)
    priority = known.value if known else 0
    changed.may_preempt = known is not None and not known.never_preempts
    changed.specs.append(
        lambda spec: replace(spec, priority_class=name, priority=priority)
    )


def _may_preempt(changed: Changed, details: Details) -> None:
    del details
    changed.may_preempt = True


def _raise_quota(changed: Changed, details: Details) -> None:
    changed.hard[details["quota"], details["key"]] = milli(details["to"]) or 0


def _satisfied(changed: Changed, details: Details) -> None:
    top = changed.work.unit.top
    changed.is_satisfied = top is None or details["to"] < (top.replicas or 0)


def _volume(changed: Changed, details: Details) -> None:
    """A volume that every node can use is bound to the claim."""
    namespace, _, name = details["name"].partition("/")
    known = changed.work.index.world.volume_claims.get((namespace, name))
    claim = known or VolumeClaim(namespace, name, "", "", is_bound=False)
    bound = f"of-{name}"
    changed.volume_claims[namespace, name] = replace(claim, volume=bound, is_bound=True)
    changed.volumes[bound] = Volume(bound, claim.storage_class, is_free=False)


_OF_QUEUES = (
    *("queue_admits", "raise_queue", "raise_queue_value"),
    *("change_queue", "create_queue", "resume_queue", "repair_queue"),
    *("allow_namespace", "activate", "pass_check"),
)


EFFECTS: Mapping[str, Effect] = {
    "end_pod": _end,
    "end_pods": _end,
    "move_pod": _end,  # the generator made sure that it fits elsewhere
    "delete_pod": _end,
    "end_gang": _end_gang,
    "wait_for_end": _end_victims,
    "allow_unavailable": _end_old,
    "uncordon": _node(lambda node: replace(node, is_cordoned=False)),
    "repair_node": _node(_ready),
    "repair_gpus": _node(_healthy),
    "add_node": _add_node,
    "add_gpus": _add_gpus,
    "tolerate": respec(_tolerate),
    "drop_selector": respec(_drop_selector),
    "drop_affinity": respec(_drop_affinity),
    "relax_spread": respec(_relax_spread),
    "start_pod": respec(_start_pod),
    "remove_gate": respec(_remove_gate),
    "shrink_request": shrink_request,
    "change_request": change_request,
    "grow_request": grow_request,
    "add_request": add_request,
    "set_limit": set_limit,
    "raise_limit_range": raise_limit_range,
    "change_geometry": _partition,
    "raise_tier": _tier,
    "lower_tier": _tier,
    "allow_preemption": _may_preempt,
    "raise_quota": _raise_quota,
    "scale_down": _satisfied,
    "create_claim": _volume,
    "provide_volume": _volume,
    "move_volume": _volume,
    "create_priority_class": clears(WaitCause.PRIORITY_CLASS_MISSING),
    "create_resource_claim": clears(WaitCause.CLAIM_MISSING),
    "create_claim_template": clears(WaitCause.CLAIM_MISSING),
    "create_device_class": clears(WaitCause.DEVICE_CLASS_MISSING),
    "publish_devices": clears(WaitCause.CLAIM_UNALLOCATABLE),
    "change_claim_selector": clears(WaitCause.CLAIM_UNALLOCATABLE),
    "end_let_in": _end_let_in,
    "shrink_total": _shrink_total,
    **dict.fromkeys(_OF_QUEUES, clears(*QUEUES)),
    "wait_for_node": _node_on_its_way,
    "raise_node_pool": _node_on_its_way,
    "repair_plugin": _report_gpus,
    "finish_setup": _set_up,
    "free_claim": clears(WaitCause.CLAIM_ELSEWHERE),
    "retry_failed": clears(WaitCause.BACK_OFF),
    "repair_container": clears(WaitCause.CRASH_LOOP),
    "wait_for_init": clears(WaitCause.INIT_CONTAINER),
    "resume": clears(WaitCause.SUSPENDED),
    "start_scheduler": clears(WaitCause.NOT_TRIED),
    "wait": clears(WaitCause.RETRY_PENDING),
    "repair_image": clears(WaitCause.IMAGE_PULL),
    "repair_config": clears(WaitCause.CONTAINER_CONFIG),
}
