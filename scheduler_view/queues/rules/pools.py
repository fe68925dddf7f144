"""Pools: one GPU resource of one model, in which work waits (scheduling.md S15)."""

from dataclasses import dataclass

from scheduler_view.waits.rules.placement.demand import matches_node
from scheduler_view.waits.rules.placement.index import WorldIndex
from scheduler_view.waits.rules.placement.node_room import NodeRoom
from scheduler_view.waits.rules.world.nodes import MODEL_LABELS, model_of
from scheduler_view.waits.rules.world.pod_spec import PodSpec


@dataclass(frozen=True, slots=True, order=True)
class ResourcePool:
    """One resource, as Kubernetes spells it, and one model.

    Attributes:
        model: of the nodes' product label; empty if no node shows it.
    """

    resource: str
    model: str = ""


class Pools:
    """The pools of a cluster: one for each resource and model that a node has."""

    def __init__(self, index: WorldIndex) -> None:
        self.rooms: dict[ResourcePool, list[NodeRoom]] = {}
        for resource, rooms in index.rooms_with.items():
            for room in rooms:
                pool = ResourcePool(resource, model_of(room.node.labels))
                self.rooms.setdefault(pool, []).append(room)
        self._known: dict[tuple[str, int], tuple[ResourcePool, ...]] = {}

    def of(self, resource: str, spec: PodSpec) -> tuple[ResourcePool, ...]:
        """The pools that a pod may use: it waits in each.

        A selector that no node matches leaves the models that it names, which have no nodes.
        """
        key = resource, id(spec)
        if key not in self._known:
            self._known[key] = self._found(resource, spec)
        return self._known[key]

    def _found(self, resource: str, spec: PodSpec) -> tuple[ResourcePool, ...]:
        own = {pool: rooms for pool, rooms in self.rooms.items() if
               pool.resource == resource}  # fmt: skip
        may_use = [
            pool
            for pool, rooms in own.items()
            if any(matches_node(spec, room.node) for room in rooms)
        ]
        if may_use:
            return tuple(sorted(may_use))
        named = [ResourcePool(resource, model) for model in _named(spec)]
        return tuple(sorted(named or own or [ResourcePool(resource)]))


def _named(spec: PodSpec) -> list[str]:
    """Models that a node selector names."""
    return [value for key, value in spec.node_selector if key in MODEL_LABELS]


def available_of(rooms: list[NodeRoom], resource: str) -> int:
    """Whole free units on nodes that are ready and not cordoned."""
    return sum(
        max(0, room.free.get(resource, 0)) // 1000
        for room in rooms
        if room.node.is_available
    )


def capacity_of(rooms: list[NodeRoom], resource: str) -> int:
    """Whole units that the nodes offer."""
    return sum(room.node.allocatable.get(resource, 0) // 1000 for room in rooms)
