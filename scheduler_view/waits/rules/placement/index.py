"""A world prepared for many explanations: what is free on each node, and who is where."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from scheduler_view.clusters.rules.schedulers.kueue import CLUSTER_QUEUE
from scheduler_view.waits.rules.placement.gpu_requests import is_gpu
from scheduler_view.waits.rules.placement.holders import Holders
from scheduler_view.waits.rules.placement.node_room import NodeRoom
from scheduler_view.waits.rules.placement.node_table import NodeTable, Positions
from scheduler_view.waits.rules.units import WorkUnit, find_units
from scheduler_view.waits.rules.world.autoscaling import NodeClaimObject, NodePoolObject
from scheduler_view.waits.rules.world.budgets import BudgetObject
from scheduler_view.waits.rules.world.controllers import ControllerObject
from scheduler_view.waits.rules.world.devices import DeviceClaim
from scheduler_view.waits.rules.world.events import EventObject
from scheduler_view.waits.rules.world.limits import LimitRangeObject, QuotaObject
from scheduler_view.waits.rules.world.pod_spec import PodSpec, PodTerm
from scheduler_view.waits.rules.world.pods import PodObject
from scheduler_view.waits.rules.world.queues import TREES, QueueObject
from scheduler_view.waits.rules.world.selectors import LabelSelector
from scheduler_view.waits.rules.world.world import World


@dataclass(frozen=True)
class Candidates:
    """The nodes that have the GPU resources of a demand (S6), in the order of their names.

    Attributes:
        positions: in the table.
    """

    table: NodeTable
    positions: Positions

    @cached_property
    def rooms(self) -> list[NodeRoom]:
        """The nodes themselves."""
        return self.table.at(self.positions)


class WorldIndex:
    """A world with its units, rooms and events by what they are looked up by."""

    def __init__(self, world: World) -> None:
        self.world = world
        on: dict[str, list[PodObject]] = defaultdict(list)
        for pod in world.pods:
            if pod.holds:
                on[pod.node].append(pod)
        self.placed = [pod for pods in on.values() for pod in pods]
        self.rooms = {
            node.name: NodeRoom(node, on.get(node.name, ()), world)
            for node in sorted(world.nodes, key=lambda node: node.name)
        }
        self.table = NodeTable(list(self.rooms.values()))
        self.holders = Holders(world, self.table)
        self._candidates: dict[tuple[str, ...], Candidates] = {}
        self._labelled: dict[tuple[str, str], dict[str, list[PodObject]]] = {}

    @cached_property
    def pods_in(self) -> Mapping[str, list[PodObject]]:
        """All pods by their namespace."""
        found: dict[str, list[PodObject]] = defaultdict(list)
        for pod in self.world.pods:
            found[pod.namespace].append(pod)
        return found

    @cached_property
    def placed_in(self) -> Mapping[str, list[PodObject]]:
        """Pods on nodes by their namespace."""
        found: dict[str, list[PodObject]] = defaultdict(list)
        for pod in self.placed:
            found[pod.namespace].append(pod)
        return found

    @property
    def placed_namespaces(self) -> Set[str]:
        """Namespaces with pods on nodes."""
        return self.placed_in.keys()

    def placed_matching(
        self, namespace: str, selector: LabelSelector
    ) -> list[PodObject]:
        """Pods on nodes of a namespace that a selector matches."""
        exact = next((one for one in selector.requirements if one.is_exact), None)
        found: Iterable[PodObject] = self.placed_in.get(namespace, ())
        if exact is not None:
            key = namespace, exact.key
            if key not in self._labelled:
                by_value: dict[str, list[PodObject]] = defaultdict(list)
                for pod in found:
                    if exact.key in pod.labels:
                        by_value[pod.labels[exact.key]].append(pod)
                self._labelled[key] = by_value
            found = self._labelled[key].get(exact.values[0], ())
        return [pod for pod in found if selector.matches(pod.labels)]

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
    def pod_at(self) -> Mapping[str, PodObject]:
        """Pods by `namespace/name`."""
        return {pod.path: pod for pod in self.world.pods}

    @cached_property
    def unit_named(self) -> Mapping[str, WorkUnit]:
        """Units by their subject."""
        return {unit.subject: unit for unit in self.units}

    @cached_property
    def quotas_in(self) -> Mapping[str, list[QuotaObject]]:
        """Quotas by their namespace."""
        found: dict[str, list[QuotaObject]] = defaultdict(list)
        for quota in self.world.quotas:
            found[quota.namespace].append(quota)
        return found

    @cached_property
    def limit_ranges_in(self) -> Mapping[str, list[LimitRangeObject]]:
        """Limit ranges by their namespace."""
        found: dict[str, list[LimitRangeObject]] = defaultdict(list)
        for one in self.world.limit_ranges:
            found[one.namespace].append(one)
        return found

    @cached_property
    def rooms_with(self) -> dict[str, list[NodeRoom]]:
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

    @cached_property
    def silent_rooms(self) -> list[NodeRoom]:
        """Nodes whose labels show GPUs, of which they report none of any kind."""
        with_devices = {one.node for one in self.world.devices}
        known = {room.node.name for rooms in self.rooms_with.values() for room in rooms}
        return [
            room
            for name, room in self.rooms.items()
            if room.node.maker and name not in known | with_devices
        ]

    @cached_property
    def zero_pods(self) -> list[PodObject]:
        """Pods that wait, request 0 of a GPU resource and no GPUs, and choose their nodes."""
        added = self.world.added
        return [
            pod
            for pod in self.world.pods
            if pod.waits
            and any(is_gpu(name, added) for name in pod.spec.zeros)
            and not any(is_gpu(name, added) for name, _ in pod.spec.requests)
            and (pod.spec.node_selector or pod.spec.node_terms is not None)
        ]

    def candidates(self, resources: Iterable[str]) -> Candidates:
        """Nodes that have all these GPU resources; all nodes if none is named (S6)."""
        key = tuple(resources)
        if key not in self._candidates:
            table = self.table
            found = np.ones(len(table), dtype=np.bool_)
            for name in key:
                known = name in self.rooms_with
                has = (table.capacity(name) > 0) | (table.allocatable(name) > 0)
                found &= has & known
            self._candidates[key] = Candidates(table, np.flatnonzero(found))
        return self._candidates[key]

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
    def _failed(self) -> Mapping[tuple[str, str, str], list[PodObject]]:
        found: dict[tuple[str, str, str], list[PodObject]] = defaultdict(list)
        for pod in sorted(self.world.pods, key=lambda pod: -(pod.failed_ms or 0)):
            if pod.failure and pod.controller is not None:
                owner = pod.controller
                found[owner.kind, pod.namespace, owner.name].append(pod)
        return found

    def failed_pods(self, maker: ControllerObject) -> list[PodObject]:
        """Pods of a controller that failed, the newest first; those of a namesake are not its."""
        return [
            pod
            for pod in self._failed.get((maker.kind, maker.namespace, maker.name), ())
            if pod.controller is not None
            and (not maker.uid or pod.controller.uid in ("", maker.uid))
        ]

    @cached_property
    def budgets_in(self) -> Mapping[str, list[BudgetObject]]:
        """Disruption budgets by their namespace."""
        found: dict[str, list[BudgetObject]] = defaultdict(list)
        for one in self.world.budgets:
            found[one.namespace].append(one)
        return found

    @cached_property
    def node_pools(self) -> Mapping[str, NodePoolObject]:
        """Karpenter's pools of nodes by name."""
        return {one.name: one for one in self.world.node_pools}

    @cached_property
    def node_claims(self) -> Mapping[str, NodeClaimObject]:
        """Nodes that Karpenter makes, by name."""
        return {one.name: one for one in self.world.node_claims}

    @cached_property
    def queues(self) -> Mapping[tuple[str, str, str], QueueObject]:
        """Queues by kind, namespace (empty for those of the cluster) and name."""
        return {(one.kind, one.namespace, one.name): one for one in self.world.queues}

    @cached_property
    def let_in(self) -> Mapping[str, list[ControllerObject]]:
        """Entries that were let in, by the subject of the queue (`QueueObject.subject`).

        Those of Volcano and KAI also by each queue above theirs.
        """
        found: dict[str, list[ControllerObject]] = defaultdict(list)
        for one in self.world.controllers:
            if one.kind == "Workload" and one.cluster_queue:
                found[f"{CLUSTER_QUEUE}/{one.cluster_queue}"].append(one)
            elif one.scheduler in TREES and one.queue and not one.is_held:
                for name in self.upward(TREES[one.scheduler], one.queue):
                    found[f"Queue/{name}"].append(one)
        return found

    def upward(self, kind: str, name: str) -> Iterator[str]:
        """The names of a queue and of those above it; a cycle ends the way up."""
        seen: set[str] = set()
        while name and name not in seen:
            seen.add(name)
            yield name
            above = self.queues.get((kind, "", name))
            name = above.behind if above is not None else ""

    @cached_property
    def unit_of_entry(self) -> Mapping[tuple[str, str, str], WorkUnit]:
        """The unit that an entry of a queue is for, by kind, namespace and name of the entry."""
        return {
            (one.kind, one.namespace, one.name): unit
            for unit in self.units
            for one in unit.entries
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

    @cached_property
    def _kept_away_by(self) -> Mapping[tuple[str, str], list[tuple[PodTerm, str]]]:
        """Terms of placed pods by a label that they select exactly; others by empty texts."""
        found: dict[tuple[str, str], list[tuple[PodTerm, str]]] = defaultdict(list)
        for term, namespace in self.kept_away:
            selects = term.selector.requirements if term.selector else ()
            exact = ((one.key, one.values[0]) for one in selects if one.is_exact)
            found[next(exact, ("", ""))].append((term, namespace))
        return found

    def keeping_away(
        self, labels: Mapping[str, str], namespace: str
    ) -> list[tuple[PodTerm, str]]:
        """Anti-affinity terms of placed pods that are about a pod with these labels."""
        known = self._kept_away_by
        maybe = [*known.get(("", ""), ())]
        for label in labels.items():
            maybe += known.get(label, ())
        return [
            (term, own)
            for term, own in maybe
            if term.selector is not None
            and term.selector.matches(labels)
            and self.in_namespaces(term, own, namespace)
        ]

    def reads_pods(self, pod: PodObject) -> bool:
        """Whether a rule between pods decides where a pod may run: its own, or a placed pod's."""
        spec = pod.spec
        if spec.affinity or spec.anti_affinity or spec.spread:
            return True
        return bool(self.keeping_away(pod.labels, pod.namespace))


def _keys_of(spec: PodSpec) -> Iterator[str]:
    for term in (*spec.affinity, *spec.anti_affinity):
        if term.selector is not None:
            yield from (one.key for one in term.selector.requirements)
    for rule in spec.spread:
        yield from rule.match_keys
        if rule.selector is not None:
            yield from (one.key for one in rule.selector.requirements)
