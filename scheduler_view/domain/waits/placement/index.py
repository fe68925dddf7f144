"""A world prepared for many explanations: what is free on each node, and who is where."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from scheduler_view.domain.waits.placement.gpu_requests import is_gpu
from scheduler_view.domain.waits.units import WorkUnit, find_units
from scheduler_view.domain.waits.world.controllers import ControllerObject
from scheduler_view.domain.waits.world.devices import DeviceClaim
from scheduler_view.domain.waits.world.events import EventObject
from scheduler_view.domain.waits.world.nodes import ClusterNode
from scheduler_view.domain.waits.world.pod_spec import PodSpec, PodTerm
from scheduler_view.domain.waits.world.pods import PodObject
from scheduler_view.domain.waits.world.world import World


class NodeRoom:
    """One node with the pods on it.

    Attributes:
        free: thousandths by resource; below 0 if more is reserved than there is.
        slots: pods that still fit by their number.
        lowest: the lowest priority of a pod on it; None for a node without pods.
        ranked: pods that may be ended by what they hold, best first, by resource; filled on demand.
    """

    __slots__ = ("free", "lowest", "node", "pods", "ports", "ranked", "slots")

    def __init__(
        self, node: ClusterNode, pods: Iterable[PodObject], world: World
    ) -> None:
        self.node = node
        self.ranked: dict[str, list[tuple[PodObject, int]]] = {}
        self.pods = tuple(pods)
        self.free = dict(node.allocatable)
        self.ports: set[tuple[int, str]] = set()
        for pod in self.pods:
            self.ports |= pod.spec.host_ports
            for name, amount in pod.spec.requests:
                self.free[name] = self.free.get(name, 0) - amount
        self.lowest = min(
            (world.priority_of(pod.spec) for pod in self.pods), default=None
        )
        limit = node.allocatable.get("pods")
        self.slots = limit // 1000 - len(self.pods) if limit is not None else 1


class WorldIndex:
    """A world with its units, rooms and events by what they are looked up by."""

    def __init__(self, world: World) -> None:
        self.world = world
        on: dict[str, list[PodObject]] = defaultdict(list)
        for pod in world.pods:
            if pod.holds:
                on[pod.node].append(pod)
        self.known_sets: dict[int, object] = {}  # of blockers, by identity of verdicts
        self.placed = [pod for pods in on.values() for pod in pods]
        self.rooms = {
            node.name: NodeRoom(node, on.get(node.name, ()), world)
            for node in sorted(world.nodes, key=lambda node: node.name)
        }

    @cached_property
    def lowest_priority(self) -> int:
        """Of all pods that hold something; 0 without any."""
        found = [room.lowest for room in self.rooms.values() if room.lowest is not None]
        return min(found, default=0)

    @cached_property
    def units(self) -> tuple[WorkUnit, ...]:
        """Every unit of the cluster."""
        return find_units(self.world)

    @cached_property
    def unit_of(self) -> Mapping[str, WorkUnit]:
        """The unit of a pod, by its uid."""
        return {pod.uid: unit for unit in self.units for pod in unit.pods}

    @cached_property
    def rooms_with(self) -> Mapping[str, list[NodeRoom]]:
        """Nodes whose capacity or allocatable has a GPU resource, by resource."""
        found: dict[str, list[NodeRoom]] = defaultdict(list)
        for room in self.rooms.values():
            node = room.node
            for name in {**node.capacity, **node.allocatable}:
                if (node.capacity.get(name) or node.allocatable.get(name)) and is_gpu(
                    name, self.world.added
                ):
                    found[name].append(room)
        return found

    def candidates(self, resources: Iterable[str]) -> list[NodeRoom]:
        """Nodes that have all these GPU resources; all nodes if none is named (S6)."""
        found: list[NodeRoom] | None = None
        for name in resources:
            having = self.rooms_with.get(name, [])
            if found is None:
                found = having
            else:
                names = {room.node.name for room in having}
                found = [room for room in found if room.node.name in names]
        return list(self.rooms.values()) if found is None else found

    @cached_property
    def _events(self) -> Mapping[tuple[str, str, str, str], list[EventObject]]:
        found: dict[tuple[str, str, str, str], list[EventObject]] = defaultdict(list)
        for event in sorted(self.world.events, key=lambda event: -event.at_ms):
            found[event.reason, event.kind, event.namespace, event.name].append(event)
        return found

    def newest_event(
        self, reason: str, kind: str, namespace: str, name: str, uid: str = ""
    ) -> EventObject | None:
        """The newest event of a reason about an object; one about a namesake is not it."""
        for event in self._events.get((reason, kind, namespace, name), ()):
            if not uid or event.uid in ("", uid):
                return event
        return None

    @cached_property
    def queue_entries(self) -> Mapping[tuple[str, str, str], ControllerObject]:
        """Entries of queues by namespace, kind and name of the work that they are for."""
        return {
            (one.namespace, one.controller.kind, one.controller.name): one
            for one in self.world.controllers
            if one.kind in ("Workload", "PodGroup") and one.controller is not None
        }

    @cached_property
    def queue_reasons(self) -> Mapping[tuple[str, str, str], str]:
        """Why a queue has not let work in, by namespace, kind and name of the work."""
        return {
            (one.namespace, one.controller.kind, one.controller.name): one.queue_reason
            for one in self.world.controllers
            if one.kind in ("Workload", "PodGroup") and one.controller is not None
        }

    @cached_property
    def _claims_of(self) -> Mapping[str, list[DeviceClaim]]:
        """Resource claims by the uid of each pod that they are reserved for, or made for."""
        found: dict[str, list[DeviceClaim]] = defaultdict(list)
        for claim in self.world.claims.values():
            owner = claim.owner.uid if claim.owner and claim.owner.kind == "Pod" else ""
            for uid in claim.pods | ({owner} if owner else set()):
                found[uid].append(claim)
        return found

    def devices_held(self, pod: PodObject, driver: str) -> int:
        """Devices of a driver that were allocated to claims of a pod."""
        return sum(
            one[0] == driver
            for claim in self._claims_of.get(pod.uid, ())
            for one in claim.devices
        )

    def devices_requested(self, pod: PodObject) -> int:
        """Devices that the claims of a pod request."""
        return sum(claim.count for claim in self._claims_of.get(pod.uid, ()))

    @cached_property
    def selected_keys(self) -> frozenset[str]:
        """Labels of pods that any rule of affinity or spread reads."""
        return frozenset(key for pod in self.world.pods for key in _keys_of(pod.spec))

    def in_namespaces(self, term: PodTerm, own: str, namespace: str) -> bool:
        """Whether a term of a pod in `own` looks at pods of a namespace."""
        if namespace in term.namespaces:
            return True
        if term.namespace_selector is not None:
            return term.namespace_selector.matches(
                self.world.namespaces.get(namespace, {})
            )
        return not term.namespaces and namespace == own

    @cached_property
    def kept_away(self) -> Mapping[tuple[PodTerm, str], list[PodObject]]:
        """Placed pods by each of their anti-affinity terms and their namespace."""
        found: dict[tuple[PodTerm, str], list[PodObject]] = defaultdict(list)
        for pod in self.placed:
            for term in pod.spec.anti_affinity:
                found[term, pod.namespace].append(pod)
        return found


def _keys_of(spec: PodSpec) -> Iterator[str]:
    for term in (*spec.affinity, *spec.anti_affinity):
        if term.selector is not None:
            yield from (one.key for one in term.selector.requirements)
    for rule in spec.spread:
        yield from rule.match_keys
        if rule.selector is not None:
            yield from (one.key for one in rule.selector.requirements)
