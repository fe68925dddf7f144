"""What is not in order with the nodes that could have the GPUs of a pod (scheduling.md S6, S7)."""

from collections.abc import Iterable, Iterator

from scheduler_view.waits.rules.cause import BIT, WaitCause
from scheduler_view.waits.rules.placement.demand import (
    is_tolerated,
    matches_node,
    tolerates_cordon,
    untolerated,
)
from scheduler_view.waits.rules.placement.index import WorldIndex
from scheduler_view.waits.rules.placement.node_room import NodeRoom
from scheduler_view.waits.rules.placement.verdicts import Verdicts
from scheduler_view.waits.rules.world.nodes import LEAVING, Taint
from scheduler_view.waits.rules.world.pods import PodObject

MOST = 8  # nodes of each kind that are named
MOST_KEPT = 100  # of a cluster, of each kind
Notes = dict[str, object]


def notes_of_nodes(index: WorldIndex, verdicts: Verdicts) -> Notes:
    """Nodes that report no GPUs, that are not set up, and whose drain a budget blocks.

    Keys without nodes are left out.
    """
    found: dict[str, list[dict[str, object]]] = {
        "silent_nodes": [_silent(one) for one in _silent_rooms(index, verdicts)],
        "setup_nodes": [_setup(verdicts, one) for one in _setup_rooms(verdicts)],
        "drains": [
            drain for room in _cordoned(verdicts) for drain in drains_of(index, room)
        ],
    }
    return {name: nodes[:MOST] for name, nodes in found.items() if nodes}


def notes_of_cluster(index: WorldIndex) -> list[dict[str, object]]:
    """The same of all nodes with GPUs, also if nothing waits, and pods that request 0 GPUs there.

    Each has a `kind`, which is a key of `notes_of_nodes` or `zero_pods`; by kind, then by node.
    """
    names = {room.node.name for rooms in index.rooms_with.values() for room in rooms}
    rooms = [index.rooms[name] for name in sorted(names)]
    silent = index.silent_rooms
    found: dict[str, list[dict[str, object]]] = {
        "silent_nodes": [_silent(one) for one in silent],
        "setup_nodes": [
            _setup_of(one, one.node.taints)
            for one in (*rooms, *silent)
            if any(_keeps_all_away(t) for t in one.node.taints)
        ],
        "drains": [
            drain
            for one in rooms
            if one.node.is_cordoned
            for drain in drains_of(index, one)
        ],
        "zero_pods": [note for one in rooms for note in _zero_pods(index, one)],
    }
    return [
        {"kind": kind, **one}
        for kind, notes in found.items()
        for one in notes[:MOST_KEPT]
    ]


def _keeps_all_away(taint: Taint) -> bool:
    return taint.is_of_setup or taint.key in LEAVING


def _zero_pods(index: WorldIndex, room: NodeRoom) -> Iterator[dict[str, object]]:
    """Pods of a namespace that wait, request 0 GPUs, and select a node with GPUs."""
    kept: dict[tuple[str, str], int] = {}
    for pod in index.zero_pods:
        spec = pod.spec
        if matches_node(spec, room.node):
            taints = untolerated(spec, room.node)
            key = pod.namespace, taints[0].key if taints else ""
            kept[key] = kept.get(key, 0) + 1
    for (namespace, taint), pods in sorted(kept.items()):
        found = {"node": room.node.name, "namespace": namespace, "pods": pods}
        yield found | ({"taint": taint} if taint else {})


def _silent_rooms(index: WorldIndex, verdicts: Verdicts) -> Iterator[NodeRoom]:
    """Nodes without any GPU resource that would suit the pod by all but their GPUs."""
    spec = verdicts.demand.spec
    for room in index.silent_rooms:
        node = room.node
        if (
            any(name.startswith(node.maker) for name in verdicts.resources)
            and matches_node(spec, node)
            and is_tolerated(spec, node.taints)
            and (not node.is_cordoned or tolerates_cordon(spec))
        ):
            yield room


def _silent(room: NodeRoom) -> dict[str, object]:
    gpus = room.node.labeled_gpus
    return {"node": room.node.name} | ({} if gpus is None else {"gpus": gpus})


def _setup_rooms(verdicts: Verdicts) -> list[NodeRoom]:
    return [
        room
        for mask in verdicts.kinds
        if mask & BIT[WaitCause.NODE_SETUP]
        for room in verdicts.with_mask(mask)[:MOST]
    ]


def _setup(verdicts: Verdicts, room: NodeRoom) -> dict[str, object]:
    return _setup_of(room, untolerated(verdicts.demand.spec, room.node))


def _setup_of(room: NodeRoom, taints: Iterable[Taint]) -> dict[str, object]:
    key = next(one.key for one in taints if _keeps_all_away(one))
    return {"node": room.node.name, "taint": key, "is_leaving": key in LEAVING}


def _cordoned(verdicts: Verdicts) -> list[NodeRoom]:
    return [
        room
        for mask in verdicts.kinds
        if mask & BIT[WaitCause.CORDONED]
        for room in verdicts.with_mask(mask)[:MOST]
    ]


def drains_of(index: WorldIndex, room: NodeRoom) -> Iterator[dict[str, object]]:
    """Budgets that keep pods on a node which takes no new ones: its drain does not end."""
    kept: dict[tuple[str, str], list[PodObject]] = {}
    for pod in room.pods:
        for budget in index.budgets_in.get(pod.namespace, ()):
            if budget.refuses(pod):
                kept.setdefault((budget.namespace, budget.name), []).append(pod)
    for (namespace, name), pods in sorted(kept.items()):
        yield {
            "node": room.node.name,
            "budget": f"{namespace}/{name}",
            "pods": len(pods),
        }
