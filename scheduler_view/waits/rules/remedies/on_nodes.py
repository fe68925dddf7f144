"""What would make a node possible: one change for each cause that holds there (S13)."""

from collections.abc import Callable, Iterable

from scheduler_view.waits.rules.cause import WaitCause, causes_of, mask_of
from scheduler_view.waits.rules.explanation import Remedy, WaitChange
from scheduler_view.waits.rules.placement.demand import untolerated
from scheduler_view.waits.rules.placement.node_room import NodeRoom
from scheduler_view.waits.rules.placement.verdicts import Verdicts
from scheduler_view.waits.rules.remedies.ends import ended
from scheduler_view.waits.rules.world.nodes import LEAVING, NOT_READY
from scheduler_view.waits.rules.world.pods import PodObject
from scheduler_view.waits.rules.world.selectors import NodeTerm

MOST_NODES = 8  # of each set of causes; pages show no more
_HELD = mask_of(
    *(
        WaitCause.NO_FREE_GPU,
        WaitCause.FRAGMENTED,
        WaitCause.CPU_MEMORY,
        WaitCause.POD_SLOTS,
    ),
    *(WaitCause.HOST_PORT, WaitCause.VOLUME_IN_USE, WaitCause.POD_ANTI_AFFINITY),
)
Changes = tuple[WaitChange, ...]
Ends = Callable[[NodeRoom, int], tuple[PodObject, ...]]


def minimal_masks(masks: Iterable[int]) -> set[int]:
    """The sets of causes of which no other candidate has a proper part."""
    known = set(masks)
    return {m for m in known if not any(o != m and o & m == o for o in known)}


def node_remedies(verdicts: Verdicts, ends: Ends, most: int = 1) -> list[Remedy]:
    """For each minimal set of causes, the changes that leave none, node by node.

    Args:
        ends: pods of a node whose end frees what is short there; none if they may not end.
        most: nodes that are needed at most, if they are more than pages show.
    """
    found: list[Remedy] = []
    for mask in sorted(minimal_masks(verdicts.kinds), reverse=True):
        nodes = verdicts.positions_with(mask)[: max(MOST_NODES, most) if mask else 0]
        for room in verdicts.table.at(nodes):
            parts = [change_of(verdicts, room, c) for c in causes_of(mask & ~_HELD)]
            if mask & _HELD:
                pods = ends(room, mask & _HELD)
                parts.append((ended(pods),) if pods else ())
            if all(parts):
                found.append(Remedy(tuple(c for part in parts for c in part)))
    return found


def change_of(verdicts: Verdicts, room: NodeRoom, cause: WaitCause) -> Changes:
    """What removes one cause on a node; empty if nothing is known to."""
    node = room.node
    if cause is WaitCause.NO_MATCHING_NODE:
        return _matching(verdicts, room)
    if cause in (WaitCause.TAINT, WaitCause.NODE_SETUP):
        return _without_taints(verdicts, room, cause)
    if cause in _OF_NODE:
        return (WaitChange(_OF_NODE[cause], {"node": node.name}),)
    if cause is WaitCause.TOO_BIG:
        return _shrunk(verdicts, room)
    if cause in (WaitCause.VOLUME_ZONE, WaitCause.VOLUME_UNBOUND):
        return _volumes(verdicts, room, cause)
    return (
        _near_others(verdicts) if cause is WaitCause.POD_AFFINITY else _spread(verdicts)
    )


def _without_taints(verdicts: Verdicts, room: NodeRoom, cause: WaitCause) -> Changes:
    """Taints that people set are tolerated; those of a node's setup go when it is set up.

    Nothing helps on a node that is being removed.
    """
    taints = untolerated(verdicts.demand.spec, room.node)
    if cause is WaitCause.NODE_SETUP:
        name = room.node.name
        return tuple(
            WaitChange("finish_setup", {"node": name, "taint": one.key})
            for one in taints
            if one.is_of_setup and LEAVING.isdisjoint(t.key for t in taints)
        )
    return tuple(
        WaitChange(
            "tolerate",
            {"taint": {"key": t.key, "value": t.value, "effect": t.effect}},
        )
        for t in taints
        if t.key not in NOT_READY | LEAVING and not t.is_of_setup
    )


def _spread(verdicts: Verdicts) -> Changes:
    keys = sorted({rule.topology_key for rule in verdicts.demand.spec.spread})
    return tuple(WaitChange("relax_spread", {"key": key}) for key in keys)


_OF_NODE = {
    WaitCause.CORDONED: "uncordon",
    WaitCause.NODE_NOT_READY: "repair_node",
    WaitCause.GPU_UNHEALTHY: "repair_gpus",
}


def _volumes(verdicts: Verdicts, room: NodeRoom, cause: WaitCause) -> Changes:
    kind, names = "move_volume", verdicts.volumes.elsewhere(room.node)
    if cause is WaitCause.VOLUME_UNBOUND:
        kind, names = "provide_volume", verdicts.volumes.unbound(room.node)
    namespace = verdicts.demand.namespace
    return tuple(WaitChange(kind, {"name": f"{namespace}/{one}"}) for one in names)


def _matching(verdicts: Verdicts, room: NodeRoom) -> Changes:
    spec, node = verdicts.demand.spec, room.node
    found = [
        WaitChange("drop_selector", {"key": key})
        for key, value in spec.node_selector
        if node.labels.get(key) != value
    ]
    terms = spec.node_terms
    if terms and not any(term.matches(node.labels, node.name) for term in terms):
        keys = min((_failing(term, room) for term in terms), key=len)
        found += [WaitChange("drop_affinity", {"key": key}) for key in keys]
    return tuple(found)


def _failing(term: NodeTerm, room: NodeRoom) -> list[str]:
    labels = room.node.labels
    name = {"metadata.name": room.node.name}
    keys = [one.key for one in term.labels if not one.matches(labels)]
    return keys + [one.key for one in term.fields if not one.matches(name)]


def _shrunk(verdicts: Verdicts, room: NodeRoom) -> Changes:
    """The largest block of the node, if all of what is too big fits in it."""
    free = [
        max(0, room.free.get(name, 0)) // 1000
        for name, need in verdicts.resources.items()
        if need > room.node.allocatable.get(name, 0)
    ]
    units = min(free, default=0)
    return (WaitChange("shrink_request", {"units": units}),) if units else ()


def _near_others(verdicts: Verdicts) -> Changes:
    """A pod that the affinity names, for each of its terms that is about exact labels."""
    return tuple(
        WaitChange(
            "start_pod",
            {
                "labels": {
                    one.key: one.values[0]
                    for one in term.selector.requirements
                    if one.operator == "In" and one.values
                }
            },
        )
        for term in verdicts.demand.spec.affinity
        if term.selector is not None
    )
