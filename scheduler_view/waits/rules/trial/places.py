"""Whether waiting work has place on nodes after changes, all members of a gang together (S13)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from scheduler_view.waits.rules.blockers import Blockers
from scheduler_view.waits.rules.cause import WaitCause, mask_of
from scheduler_view.waits.rules.numbers import numbers_of
from scheduler_view.waits.rules.placement.index import WorldIndex
from scheduler_view.waits.rules.placement.node_room import NodeRoom
from scheduler_view.waits.rules.placement.packing import Packing, Shape
from scheduler_view.waits.rules.placement.verdicts import (
    Verdicts,
    demand_of,
    has_place,
    verdicts_of,
)
from scheduler_view.waits.rules.placement.volume_rules import volume_fault
from scheduler_view.waits.rules.trial.changed import Changed
from scheduler_view.waits.rules.trial.obstacle import Obstacle
from scheduler_view.waits.rules.trial.rooms import ChangedIndex
from scheduler_view.waits.rules.world.pod_spec import PodSpec
from scheduler_view.waits.rules.world.pods import PodObject

_RULES = mask_of(
    *(WaitCause.VOLUME_ZONE, WaitCause.VOLUME_IN_USE, WaitCause.VOLUME_UNBOUND),
    *(WaitCause.SPREAD, WaitCause.POD_AFFINITY, WaitCause.POD_ANTI_AFFINITY),
)
"""Causes that changes elsewhere, or of other pods, can remove from a node."""
MOST_IN_ORDER = 64  # steps in which members are placed, where rules between pods matter


@dataclass(frozen=True)
class Seeker:
    """Pods that are alike and look for nodes, as changes leave them.

    Attributes:
        is_new: no scheduler has tried it: it may still preempt for it.
    """

    pod: PodObject
    count: int
    is_new: bool = False


class Places:
    """Looks for nodes for all pods of one trial."""

    def __init__(self, changed: Changed, seekers: Sequence[Seeker]) -> None:
        self._changed, self._seekers = changed, seekers
        self._findings, self._index = changed.work.findings, changed.work.index

    def fault(self) -> Obstacle | None:
        """A volume that keeps the pods off every node; None if there is none."""
        index: WorldIndex = self._index
        if self._changed.volumes or self._changed.volume_claims:
            index = ChangedIndex(self._changed)
        for one in self._seekers:
            if one.pod.spec.volumes:
                fault = volume_fault(index, demand_of(index, one.pod))
                if fault is not None:
                    return Obstacle(fault.cause, {"volume": fault.name})
        return None

    def fit(self) -> bool:
        """Whether all pods have place, or the scheduler can preempt until they have."""
        return self._placed(self._changed) or self._preempt()

    def obstacle(self, *, is_described: bool) -> Obstacle:
        """Why not all pods have place."""
        changed, pod = self._changed, self._seekers[0].pod
        if not (self._index.rooms or changed.rooms):
            return Obstacle(WaitCause.NO_NODES, is_of_nodes=True)
        if changed.rooms or changed.volumes:
            index = ChangedIndex(changed)
            found = verdicts_of(index, demand_of(index, pod))
        else:
            found = self._findings.verdicts(pod)
        if found.cause is WaitCause.RETRY_PENDING:  # for one, but not for all of a gang
            facts: dict[str, object] = {"pods": self._total, "placed": self._count()}
            return Obstacle(WaitCause.NO_FREE_GPU, facts, is_of_nodes=True)
        facts = numbers_of(found) if is_described else {}
        return Obstacle(found.cause, facts, is_of_nodes=True)

    def _count(self) -> int:
        """Pods that have place."""
        packed = self._shapes(self._changed)
        return 0 if packed is None else len(Packing(packed[0]).place_some(packed[1]))

    def _placed(self, changed: Changed) -> bool:
        if not all(
            self._is_plain(changed, self._findings.verdicts(one.pod))
            for one in self._seekers
        ):
            return self._all_open(changed, _RULES) and self._placed_in_order(changed)
        if self._total == 1:
            return self._all_open(changed)
        packed = self._shapes(changed)
        if packed is None:
            return False
        rooms, shapes = packed
        return Packing(rooms).place_all(shapes) is not None

    def _shapes(
        self, changed: Changed
    ) -> tuple[dict[str, NodeRoom], list[tuple[Shape, int]]] | None:
        """Nodes that are open, and the pods that look for them; None if some find none."""
        shapes: list[tuple[Shape, int]] = []
        rooms: dict[str, NodeRoom] = {}
        for one in self._seekers:
            verdicts = self._findings.verdicts(one.pod)
            found = dict(self._open(changed, verdicts, self._total))
            if not found:
                return None
            rooms |= found
            gpus = max(verdicts.resources, default="")
            requests = verdicts.demand.spec.requests
            shapes.append((Shape(gpus, requests, frozenset(found)), one.count))
        return rooms, shapes

    @property
    def _total(self) -> int:
        return sum(one.count for one in self._seekers)

    def _is_plain(self, changed: Changed, verdicts: Verdicts) -> bool:
        """Whether the place of a pod depends on nothing but the node and what is free there."""
        return (
            verdicts.topology.is_empty
            and verdicts.volumes.is_empty
            and not changed.volume_claims
            and (self._total == 1 or not verdicts.demand.spec.host_ports)
        )

    def _open(
        self, changed: Changed, verdicts: Verdicts, most: int, but: int = 0
    ) -> Iterator[tuple[str, NodeRoom]]:
        """Nodes where one pod has place: those that changed first, then as many as are needed.

        Args:
            but: causes of nodes that did not change, which are left out of account.
        """
        touched = changed.rooms
        for name, room in touched.items():
            if has_place(room, verdicts.demand.spec):
                yield name, room
        masks = [mask for mask in verdicts.kinds if not mask & ~but] if but else [0]
        for place in verdicts.positions_with(*masks)[: most + len(touched)].tolist():
            room = verdicts.table.rooms[place]
            if room.node.name not in touched:
                yield room.node.name, room

    def _all_open(self, changed: Changed, but: int = 0) -> bool:
        """Whether there is a node for each, one by one; `but` as in `_open`."""
        return all(
            any(self._open(changed, self._findings.verdicts(one.pod), 1, but))
            for one in self._seekers
        )

    def _placed_in_order(self, changed: Changed) -> bool:
        """A pod after another, each with those before it in sight of rules between pods.

        Of a large gang, pods in different domains of all their rules are placed at once: none of
        them changes what the rules say of the others. False if that takes too many steps.
        """
        placed: list[tuple[str, PodObject]] = []
        steps = 0
        for one in self._seekers:
            left = one.count
            while left:
                steps += 1
                index = ChangedIndex(changed, placed)
                verdicts = verdicts_of(index, demand_of(index, one.pod))
                gpus = max(verdicts.resources, default="")
                rooms = sorted(
                    verdicts.with_mask(0),
                    key=lambda r: (r.free.get(gpus, 0), r.node.name),
                )
                if self._total > MOST_IN_ORDER and not one.pod.spec.affinity:
                    rooms = _apart(rooms, one.pod.spec)
                else:
                    rooms = rooms[:1]
                if not rooms or steps > MOST_IN_ORDER:
                    return False
                for room in rooms[:left]:
                    left -= 1
                    made = replace(one.pod, uid=f"placed-{len(placed)}")
                    placed.append((room.node.name, made))
        return True

    def _preempt(self) -> bool:
        """Whether all would have place if the scheduler ended pods of lower priority.

        What it has tried, it does not preempt for where nothing changed.
        """
        changed, index = self._changed, self._index
        blockers = Blockers(index, changed.work.unit)
        ended = dict(changed.ended)
        for one in self._seekers:
            own = index.world.priority_of(one.pod.spec)
            if own <= index.lowest_priority or not self._may(one.pod.spec):
                return False
            pods = [pod for room in changed.rooms.values() for pod in room.pods]
            if changed.may_preempt or one.is_new:
                verdicts = self._findings.verdicts(one.pod)
                sets = blockers.on_nodes(verdicts, own).best
                pods += [pod for found in sets for pod in found.pods]
                if (
                    self._total > 1
                ):  # a node where one gets place may get place for more
                    nodes = {pod.node for found in sets for pod in found.pods}
                    rooms = [index.rooms[name] for name in sorted(nodes)]
                    rooms += verdicts.with_mask(0)[: self._total]
                    pods += [pod for room in rooms for pod in room.pods]
            ended |= {
                pod.uid: pod
                for pod in pods
                if index.holders.may_end(pod, own) and not blockers.is_own(pod)
            }
        more = replace(changed, ended=ended)
        return len(ended) > len(changed.ended) and self._placed(more)

    def _may(self, spec: PodSpec) -> bool:
        known = self._index.world.classes.get(spec.priority_class)
        is_never = known is not None and known.never_preempts
        return self._changed.may_preempt or not (spec.never_preempts or is_never)


def _apart(rooms: Sequence[NodeRoom], spec: PodSpec) -> list[NodeRoom]:
    """Nodes of which no two are in one domain of a rule, the first ones first."""
    keys = {one.topology_key for one in spec.spread}
    keys |= {one.topology_key for one in spec.anti_affinity}
    taken: set[tuple[str, str]] = set()
    found = []
    for room in rooms:
        labels = room.node.labels
        own = {(key, labels[key]) for key in keys if key in labels}
        if taken.isdisjoint(own):
            taken |= own
            found.append(room)
    return found
