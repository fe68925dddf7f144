"""Who holds what a pod waits for: sets of pods of which all must end (scheduling.md S12)."""

from collections.abc import Iterable
from heapq import nsmallest

import numpy as np

from scheduler_view.clusters.rules.quota_key import REQUESTS, is_dra
from scheduler_view.waits.rules.cause import BIT, WaitCause, mask_of
from scheduler_view.waits.rules.explanation import Blocker, BlockerSet
from scheduler_view.waits.rules.placement.holders import (
    NO_FACTS,
    SLOTS,
    HolderSet,
    HolderSets,
    Ranked,
    covering,
)
from scheduler_view.waits.rules.placement.index import WorldIndex
from scheduler_view.waits.rules.placement.node_room import NodeRoom
from scheduler_view.waits.rules.placement.node_table import Flags, Positions
from scheduler_view.waits.rules.placement.verdicts import Verdicts, short_of
from scheduler_view.waits.rules.refusals import AdmissionRefusal
from scheduler_view.waits.rules.units import WorkUnit
from scheduler_view.waits.rules.world.pods import PodObject

MOST_KEPT = 32  # sets that are kept of those on all nodes
_RESOURCES = mask_of(
    WaitCause.NO_FREE_GPU,
    WaitCause.FRAGMENTED,
    WaitCause.CPU_MEMORY,
    WaitCause.POD_SLOTS,
)
_USERS = {
    BIT[cause]: cause
    for cause in (
        *(WaitCause.HOST_PORT, WaitCause.VOLUME_IN_USE),
        WaitCause.POD_ANTI_AFFINITY,
    )
}
_AMOUNTS = tuple(
    BIT[cause]
    for cause in (
        *(WaitCause.NO_FREE_GPU, WaitCause.FRAGMENTED),
        *(WaitCause.CPU_MEMORY, WaitCause.POD_SLOTS),
    )
)
DEVICES = "devices"


class Blockers:
    """Finds holders; `unit` is the one that waits.

    `below` everywhere: only pods whose priority is lower; None for any.
    """

    def __init__(self, index: WorldIndex, unit: WorkUnit) -> None:
        self._index, self._unit = index, unit
        self._holders = index.holders
        self._own = {pod.uid for pod in unit.pods}
        self._counted: Ranked = []
        self._gang = self._own if unit.gang_size is not None else frozenset[str]()

    def on_nodes(self, verdicts: Verdicts, below: int | None = None) -> HolderSets:
        """One set for each node where nothing else is short.

        Units without members on nodes share their sets.
        """
        own = self._gang_nodes()
        key = id(verdicts), below
        if len(own):
            return self._found(verdicts, below, own)
        if key not in self._holders.known:  # with its verdicts: their id stays theirs
            found = self._found(verdicts, below, own)
            self._holders.known[key] = verdicts, found
        return self._holders.known[key][1]

    def _gang_nodes(self) -> Positions:
        """Where members of its own gang are: they are in no set."""
        at = self._index.table.position
        names = {pod.node for pod in self._unit.bound} if self._gang else set()
        found = [at[name] for name in names if name in at]
        return np.array(sorted(found), dtype=np.int64)

    def _found(
        self, verdicts: Verdicts, below: int | None, own: Positions
    ) -> HolderSets:
        table, best, count = verdicts.table, list[HolderSet](), 0
        is_held = np.zeros(len(table), dtype=np.bool_)
        is_held[verdicts.positions_with(*_AMOUNTS)] = True
        lacking = _lacking(verdicts)
        alone = np.sum([short for _, _, short in lacking], axis=0) == 1
        alone[own] = False
        for name, request, short in lacking:
            nodes = self._holders.best_first(name, request, below)
            chosen = nodes[(is_held & alone & short)[nodes]]
            count += len(chosen)
            rooms = table.at(chosen[:MOST_KEPT])
            best += [
                one
                for room in rooms
                if (one := self._freed(room, name, request, below)) is not None
            ]
        rest = [
            self.freeing(verdicts, room, below)
            for room in table.at(np.flatnonzero(is_held & ~alone))
        ]
        rest += [
            self._using(verdicts, room, cause, below)
            for mask, cause in _USERS.items()
            for room in verdicts.with_mask(mask)
        ]
        known = [one for one in rest if one is not None]
        order = self._holders.order
        return HolderSets(
            nsmallest(MOST_KEPT, [*best, *known], key=order), count + len(known)
        )

    def _freed(
        self, room: NodeRoom, name: str, request: int, below: int | None
    ) -> HolderSet | None:
        free = 1000 * room.slots if name == SLOTS else room.free.get(name, 0)
        return self._holders.freeing(room, name, request - free, below)

    def freeing(
        self, verdicts: Verdicts, room: NodeRoom, below: int | None = None
    ) -> HolderSet | None:
        """Pods of a node whose end frees all resources that are short there."""
        need = {
            name: amount - room.free.get(name, 0)
            for name, amount in verdicts.demand.spec.requests
            if amount > room.free.get(name, 0)
        }
        if room.slots < 1:
            need[SLOTS] = 1000 * (1 - room.slots)
        if len(need) == 1 and self._gang.isdisjoint(pod.uid for pod in room.pods):
            ((name, amount),) = need.items()
            return self._holders.freeing(room, name, amount, below)
        return self._holders.freeing_all(room, need, below, self._gang)

    def _using(
        self, verdicts: Verdicts, room: NodeRoom, cause: WaitCause, below: int | None
    ) -> HolderSet | None:
        """All pods that use what the waiting pod needs alone; None if one of them stays."""
        if cause is WaitCause.HOST_PORT:
            ports = verdicts.demand.spec.host_ports
            users = [p for p in room.pods if p.spec.host_ports & ports]
        elif cause is WaitCause.VOLUME_IN_USE:
            users = verdicts.volumes.users
        else:
            users = verdicts.topology.keepers(room)
        if not users or not all(
            pod.uid not in self._gang and self._holders.may_end(pod, below)
            for pod in users
        ):
            return None
        ordered = sorted(users, key=lambda pod: pod.path)
        return HolderSet(room.node.name, tuple(ordered), {})

    def of_quota(
        self, namespace: str, refusal: AdmissionRefusal, below: int | None = None
    ) -> HolderSets:
        """Pods that a quota counts, until one more fits; its own pods are counted too.

        Args:
            below: only pods on nodes, as what waits itself holds no GPU.
        """
        resource = refusal.key.removeprefix(REQUESTS)
        need = refusal.used + refusal.requested - refusal.hard
        if need <= 0 or refusal.requested > refusal.hard or refusal.must_specify:
            return HolderSets()
        self._counted = self.counted(namespace, refusal)
        if below is not None:
            self._counted = [one for one in self._counted if one[0].node]
        pods = covering(self._counted, need, below)
        if not pods:
            return HolderSets()
        return HolderSets([HolderSet("", pods, {resource: need})], 1)

    def counted(self, namespace: str, refusal: AdmissionRefusal) -> Ranked:
        """Pods that a quota counts, with the thousandths that each holds, in their order."""
        resource = refusal.key.removeprefix(REQUESTS)
        amount = self._devices_of if is_dra(refusal.key) else _request_of
        return self._holders.in_order(
            self._holders.holder(pod, held)
            for pod in self._index.pods_in.get(namespace, ())
            if pod.is_live
            and (not refusal.classes or pod.spec.priority_class in refusal.classes)
            and (held := amount(pod, resource))
        )

    def of_devices(self, driver: str, room: NodeRoom, short: int) -> HolderSet | None:
        """Pods whose claims have devices of a driver on a node, until enough are free."""
        ranked = self._holders.in_order(
            self._holders.holder(pod, count)
            for pod in room.pods
            if pod.uid not in self._gang
            and (count := 1000 * self._index.devices_held(pod, driver))
        )
        pods = covering(ranked, short)
        return HolderSet(room.node.name, pods, {DEVICES: short}) if pods else None

    def ends(
        self, verdicts: Verdicts, room: NodeRoom, mask: int
    ) -> tuple[PodObject, ...]:
        """Foreign pods whose end removes some causes of a node; none if there are no such pods."""
        if not mask & ~_RESOURCES:
            found = self.freeing(verdicts, room)
        elif mask in _USERS:
            found = self._using(verdicts, room, _USERS[mask], None)
        else:
            found = None
        if found is None or any(self.is_own(pod) for pod in found.pods):
            return ()
        return found.pods

    def equals(self, one: HolderSet) -> list[PodObject]:
        """For a set of one pod on a node, others there of which each holds as much."""
        room = self._index.rooms.get(one.place)
        if len(one.pods) != 1 or len(one.need) != 1:
            return []
        name = next(iter(one.need))
        ranked = self._counted if room is None else self._holders.ranked(room, name)
        held = next((a for pod, a, _ in ranked if pod is one.pods[0]), None)
        return [p for p, a, _ in ranked if a == held and p is not one.pods[0]]

    def shown(self, one: HolderSet) -> BlockerSet:
        """A set with what is known of each pod."""
        return BlockerSet(one.place, tuple(self._blocker(pod, one) for pod in one.pods))

    def is_own(self, pod: PodObject) -> bool:
        """Whether a pod belongs to the unit that waits."""
        return pod.uid in self._own

    def _devices_of(self, pod: PodObject, resource: str) -> int:
        return 1000 * self._index.devices_requested(pod)

    def _blocker(self, pod: PodObject, of: HolderSet) -> Blocker:
        index = self._index
        unit = index.unit_of.get(pod.uid)
        resource = next(iter(of.need), "")
        held = pod.spec.request(resource) // 1000
        if resource == DEVICES or is_dra(resource):
            held = index.devices_requested(pod)
        return Blocker(
            pod.path,
            pod.uid,
            unit.subject if unit else f"Pod/{pod.path}",
            resource,
            held,
            index.world.priority_of(pod.spec),
            pod.spec.priority_class,
            pod.uid in self._own,
            pod.scheduled.since_ms if pod.scheduled and pod.node else None,
            index.world.holds.get(pod.uid, NO_FACTS).idle_since_ms,
            pod.ending_ms if pod.is_stuck else None,
            pod.finalizers if pod.is_stuck else (),
            not pod.node,
        )


def _lacking(verdicts: Verdicts) -> list[tuple[str, int, Flags]]:
    """Each request of a pod, and a place for it, with the nodes where less is free."""
    requests, table = verdicts.demand.spec.requests, verdicts.table
    found = [
        (name, need, short)
        for (name, need), short in zip(requests, short_of(table, requests), strict=True)
    ]
    return [*found, (SLOTS, 1000, table.slots < 1)]


def _request_of(pod: PodObject, resource: str) -> int:
    return pod.spec.request(resource)


def pods_of(sets: Iterable[HolderSet]) -> list[PodObject]:
    """The pods of some sets, each once, in their order."""
    return list({pod.uid: pod for one in sets for pod in one.pods}.values())
