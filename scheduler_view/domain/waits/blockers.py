"""Who holds what a pod waits for: sets of pods of which all must end (scheduling.md S12)."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from heapq import nsmallest

from scheduler_view.domain.quotas.quota_key import REQUESTS, is_dra
from scheduler_view.domain.waits.cause import BIT, WaitCause, mask_of
from scheduler_view.domain.waits.explanation import Blocker, BlockerSet
from scheduler_view.domain.waits.placement.index import NodeRoom, WorldIndex
from scheduler_view.domain.waits.placement.verdicts import Verdicts
from scheduler_view.domain.waits.refusals import AdmissionRefusal
from scheduler_view.domain.waits.units import WorkUnit
from scheduler_view.domain.waits.world.pods import PodObject
from scheduler_view.domain.waits.world.world import HoldFacts

MOST_KEPT = 32  # sets that are kept of those on all nodes
NOT_ENDED = frozenset({"DaemonSet", "Node"})  # their pods come back at once
_NOTHING = HoldFacts()
_HELD = (
    *(
        WaitCause.NO_FREE_GPU,
        WaitCause.FRAGMENTED,
        WaitCause.CPU_MEMORY,
        WaitCause.POD_SLOTS,
    ),
    *(WaitCause.HOST_PORT, WaitCause.VOLUME_IN_USE, WaitCause.POD_ANTI_AFFINITY),
)
_MASKS = {BIT[cause]: cause for cause in _HELD}
_RESOURCES = mask_of(
    WaitCause.NO_FREE_GPU,
    WaitCause.FRAGMENTED,
    WaitCause.CPU_MEMORY,
    WaitCause.POD_SLOTS,
)
DEVICES, SLOTS = "devices", "pods"

Amounts = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class HolderSet:
    """A sufficient set before it is shown.

    Attributes:
        place: the node; empty for a quota.
        need: thousandths that are short, by resource.
    """

    place: str
    pods: tuple[PodObject, ...]
    need: Amounts


@dataclass(frozen=True, slots=True)
class HolderSets:
    """The best sufficient sets, and how many there are."""

    best: list[HolderSet] = field(default_factory=list)
    count: int = 0


class Blockers:
    """Finds holders; `unit` is the one that waits."""

    def __init__(self, index: WorldIndex, unit: WorkUnit) -> None:
        self._index, self._unit = index, unit
        self._own = {pod.uid for pod in unit.pods}
        self._counted: list[tuple[PodObject, int]] = []
        self._gang = self._own if unit.gang_size is not None else frozenset[str]()

    def on_nodes(
        self, verdicts: Verdicts, only: Callable[[PodObject], bool] | None = None
    ) -> HolderSets:
        """One set for each node where nothing else is short.

        Units without pods on nodes share their sets.

        Args:
            only: pods that may be in a set.
        """
        is_shared = only is None and not any(pod.node for pod in self._unit.pods)
        known = self._index.known_sets.get(id(verdicts)) if is_shared else None
        if isinstance(known, HolderSets):
            return known
        found = []
        for room, mask in zip(verdicts.rooms, verdicts.masks, strict=True):
            cause = _MASKS.get(mask)
            if cause is not None:
                one = self._on_node(verdicts, room, cause, only)
                if one is not None:
                    found.append(one)
        sets = HolderSets(nsmallest(MOST_KEPT, found, key=self._order), len(found))
        if is_shared:
            self._index.known_sets[id(verdicts)] = sets
        return sets

    def of_quota(
        self,
        namespace: str,
        refusal: AdmissionRefusal,
        only: Callable[[PodObject], bool] | None = None,
    ) -> HolderSets:
        """Pods that a quota counts, until one more fits; its own pods are counted too."""
        resource = refusal.key.removeprefix(REQUESTS)
        need = refusal.used + refusal.requested - refusal.hard
        if need <= 0 or refusal.requested > refusal.hard or refusal.must_specify:
            return HolderSets()
        self._counted = self.counted(namespace, refusal)
        self._counted.sort(key=lambda one: self._rank(*one), reverse=True)
        pods = _covering(self._counted, need, only)
        if not pods:
            return HolderSets()
        return HolderSets([HolderSet("", pods, {resource: need})], 1)

    def counted(
        self, namespace: str, refusal: AdmissionRefusal
    ) -> list[tuple[PodObject, int]]:
        """Pods that a quota counts, with the thousandths that each holds of it."""
        resource = refusal.key.removeprefix(REQUESTS)
        amount = self._devices_of if is_dra(refusal.key) else _request_of
        return [
            (pod, held)
            for pod in self._index.world.pods
            if pod.namespace == namespace
            and pod.is_live
            and (not refusal.classes or pod.spec.priority_class in refusal.classes)
            and (held := amount(pod, resource))
        ]

    def of_devices(self, driver: str, room: NodeRoom, short: int) -> HolderSet | None:
        """Pods whose claims have devices of a driver on a node, until enough are free."""
        holders = [
            (pod, count)
            for pod in room.pods
            if pod.uid not in self._gang
            and (count := 1000 * self._index.devices_held(pod, driver))
        ]
        holders.sort(key=lambda one: self._rank(*one), reverse=True)
        pods = _covering(holders, short, None)
        return HolderSet(room.node.name, pods, {DEVICES: short}) if pods else None

    def ends(
        self, verdicts: Verdicts, room: NodeRoom, mask: int
    ) -> tuple[PodObject, ...]:
        """Foreign pods whose end removes some causes of a node; none if there are no such pods."""
        if not mask & ~_RESOURCES:
            found = self.freeing(verdicts, room)
        elif mask in _MASKS:
            found = self._on_node(verdicts, room, _MASKS[mask], None)
        else:
            found = None
        if found is None or any(self.is_own(pod) for pod in found.pods):
            return ()
        return found.pods

    def shown(self, one: HolderSet) -> BlockerSet:
        """A set with what is known of each pod."""
        return BlockerSet(one.place, tuple(self._blocker(pod, one) for pod in one.pods))

    def is_own(self, pod: PodObject) -> bool:
        """Whether a pod belongs to the unit that waits."""
        return pod.uid in self._own

    def _on_node(
        self,
        verdicts: Verdicts,
        room: NodeRoom,
        cause: WaitCause,
        only: Callable[[PodObject], bool] | None,
    ) -> HolderSet | None:
        if cause is WaitCause.HOST_PORT:
            ports = verdicts.demand.spec.host_ports
            users = [p for p in room.pods if p.spec.host_ports & ports]
        elif cause is WaitCause.VOLUME_IN_USE:
            users = verdicts.volumes.users
        elif cause is WaitCause.POD_ANTI_AFFINITY:
            users = verdicts.topology.keepers(room)
        else:
            return self.freeing(verdicts, room, only)
        if not users or not all(
            self._may_end(pod) and (only is None or only(pod)) for pod in users
        ):
            return None
        ordered = sorted(users, key=lambda pod: pod.path)
        return HolderSet(room.node.name, tuple(ordered), {})

    def freeing(
        self,
        verdicts: Verdicts,
        room: NodeRoom,
        only: Callable[[PodObject], bool] | None = None,
    ) -> HolderSet | None:
        """Pods of a node whose end frees all resources that are short there."""
        need = {
            name: amount - room.free.get(name, 0)
            for name, amount in verdicts.demand.spec.requests
            if amount > room.free.get(name, 0)
        }
        if room.slots < 1:
            need[SLOTS] = 1000 * (1 - room.slots)
        if len(need) == 1:
            ((name, amount),) = need.items()
            pods = _covering(self._ranked(room, name), amount, self._foreign(only))
            return HolderSet(room.node.name, pods, need) if pods else None
        holders = []
        for pod in room.pods:
            if self._may_end(pod) and (only is None or only(pod)):
                held = {n: a for n, a in pod.spec.requests if n in need}
                if SLOTS in need:
                    held[SLOTS] = 1000
                if held:
                    holders.append((pod, held))
        return self._sufficient(room.node.name, holders, need)

    def equals(self, one: HolderSet) -> list[PodObject]:
        """For a set of one pod on a node, others there of which each holds as much."""
        room = self._index.rooms.get(one.place)
        if len(one.pods) != 1 or len(one.need) != 1:
            return []
        name = next(iter(one.need))
        ranked = self._counted if room is None else self._ranked(room, name)
        held = {pod.uid: amount for pod, amount in ranked}.get(one.pods[0].uid)
        return [p for p, a in ranked if a == held and p is not one.pods[0]]

    def _ranked(self, room: NodeRoom, name: str) -> list[tuple[PodObject, int]]:
        """Pods of a node that hold a resource and may be ended, in the order of the set."""
        found = room.ranked.get(name)
        if found is None:
            found = [
                (pod, 1000 if name == SLOTS else pod.spec.request(name))
                for pod in room.pods
                if pod.controller is None or pod.controller.kind not in NOT_ENDED
            ]
            found = [one for one in found if one[1]]
            found.sort(key=lambda one: self._rank(*one), reverse=True)
            room.ranked[name] = found
        return found

    def _foreign(
        self, only: Callable[[PodObject], bool] | None
    ) -> Callable[[PodObject], bool] | None:
        """`only`, without members of its own gang."""
        if not self._gang:
            return only
        gang = self._gang
        return lambda pod: pod.uid not in gang and (only is None or only(pod))

    def _may_end(self, pod: PodObject) -> bool:
        maker = pod.controller
        return pod.uid not in self._gang and (
            maker is None or maker.kind not in NOT_ENDED
        )

    def _sufficient(
        self, place: str, holders: list[tuple[PodObject, dict[str, int]]], need: Amounts
    ) -> HolderSet | None:
        """Largest first until covered, then without those that are not needed; None if not."""
        ordered = sorted(
            holders,
            key=lambda one: self._rank(one[0], sum(one[1].values())),
            reverse=True,
        )
        left = dict(need)
        taken: list[tuple[PodObject, dict[str, int]]] = []
        for pod, held in ordered:
            if not _is_open(left):
                break
            if any(left[name] > 0 and amount for name, amount in held.items()):
                taken.append((pod, held))
                left = {n: v - held.get(n, 0) for n, v in left.items()}
        if _is_open(left):
            return None
        for one in list(taken):
            without = {n: v + one[1].get(n, 0) for n, v in left.items()}
            if not _is_open(without):
                taken.remove(one)
                left = without
        return HolderSet(place, tuple(pod for pod, _ in taken), need)

    def _rank(self, pod: PodObject, held: int) -> tuple[int, int, int, str]:
        """Larger first, then longer idle, then lower priority, then the larger uid."""
        world = self._index.world
        idle = world.holds.get(pod.uid, _NOTHING).idle_since_ms
        idle_ms = world.now_ms - idle if idle is not None else -1
        return held, idle_ms, -world.priority_of(pod.spec), pod.uid

    def _order(self, one: HolderSet) -> tuple[int, int, str]:
        holds = self._index.world.holds
        busy = sum(holds.get(p.uid, _NOTHING).busy_last_hour_ms for p in one.pods)
        return busy, len(one.pods), one.place

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
            index.world.holds.get(pod.uid, _NOTHING).idle_since_ms,
        )


def _covering(
    ranked: list[tuple[PodObject, int]],
    need: int,
    only: Callable[[PodObject], bool] | None,
) -> tuple[PodObject, ...]:
    """The first pods that cover an amount, without those that are not needed; or none."""
    left = need
    taken: list[tuple[PodObject, int]] = []
    for one in ranked:
        if left <= 0:
            break
        if only is None or only(one[0]):
            taken.append(one)
            left -= one[1]
    if left > 0:
        return ()
    for one in list(taken):
        if left + one[1] <= 0:
            taken.remove(one)
            left += one[1]
    return tuple(pod for pod, _ in taken)


def _request_of(pod: PodObject, resource: str) -> int:
    return pod.spec.request(resource)


def _is_open(left: Amounts) -> bool:
    return any(amount > 0 for amount in left.values())


def pods_of(sets: Iterable[HolderSet]) -> list[PodObject]:
    """The pods of some sets, each once, in their order."""
    return list({pod.uid: pod for one in sets for pod in one.pods}.values())
