"""Which pods of a node must end to free an amount there; shared by all that wait (S12).

What must end depends on the node and on what is short there, not on who waits. So the sets of
pods are computed once for each node and amount, and the order of nodes once for each request.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from scheduler_view.waits.rules.placement.gpu_requests import gpus_of
from scheduler_view.waits.rules.placement.node_room import NodeRoom
from scheduler_view.waits.rules.placement.node_table import (
    LARGEST,
    NodeTable,
    Positions,
)
from scheduler_view.waits.rules.world.pods import PodObject
from scheduler_view.waits.rules.world.world import HoldFacts, World

NOT_ENDED = frozenset({"DaemonSet", "Node"})  # their pods come back at once
SLOTS = "pods"
NO_FACTS = HoldFacts()
MOST_HELD = LARGEST >> 7  # of one pod: sums of a node's pods stay below 2**63

Amounts = Mapping[str, int]
Amounts64 = NDArray[np.int64]
Holder = tuple[PodObject, int, int]  # what it holds, its priority
Ranked = list[Holder]
Order = tuple[int, int, int, int, str]
_Several = tuple[str, tuple[tuple[str, int], ...], int | None]


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


@dataclass(frozen=True)
class _HolderColumns:
    """The pods that hold a resource, node by node in the order in which they would end."""

    nodes: Positions
    held: Amounts64
    priorities: Amounts64
    busy: Amounts64
    gpus: Amounts64
    idle: Amounts64

    def best_first(self, short: Amounts64, below: int | None) -> Positions:
        """Nodes whose first pods cover what is short there, in the order of `Holders.order`.

        Args:
            short: by node of the cluster; 0 or less where nothing is.
        """
        chosen = np.arange(len(self.nodes))
        if below is not None:
            chosen = np.flatnonzero(self.priorities < below)
        nodes = self.nodes[chosen]
        first = _firsts(nodes)
        lengths = np.diff(np.append(first, len(nodes)))

        def up_to(values: Amounts64) -> Amounts64:
            """The sum of the values of a node up to each pod."""
            sums = np.cumsum(values)
            return sums - np.repeat(sums[first] - values[first], lengths)

        need = short[nodes]
        enough = np.flatnonzero((need > 0) & (up_to(self.held[chosen]) >= need))
        last = enough[_firsts(nodes[enough])]
        counts = last - np.repeat(first, lengths)[last]
        found = nodes[last]
        busy, gpus, idle = (
            up_to(values[chosen])[last] for values in (self.busy, self.gpus, self.idle)
        )
        order = np.lexsort((found, -idle, gpus, counts, busy))
        return found[order]


def _firsts(sorted_values: Positions) -> Positions:
    """Where a new value begins."""
    changes = np.ones(len(sorted_values), dtype=np.bool_)
    changes[1:] = sorted_values[1:] != sorted_values[:-1]
    return np.flatnonzero(changes)


class Holders:
    """The pods on nodes in the order in which they would be ended.

    `below` everywhere: only pods whose priority is lower; None for any.
    """

    def __init__(self, world: World, table: NodeTable) -> None:
        self._world, self._table = world, table
        self._ranked: dict[tuple[str, str], Ranked] = {}
        self._gpus: dict[int, int] = {}
        self._columns: dict[str, _HolderColumns] = {}
        self._sets: dict[tuple[str, str, int, int | None], HolderSet | None] = {}
        self._several: dict[_Several, HolderSet | None] = {}
        self._orders: dict[tuple[str, int, int | None], Positions] = {}
        self.known: dict[tuple[int, int | None], tuple[object, HolderSets]] = {}

    def _rank(self, pod: PodObject, held: int) -> tuple[int, int, int, str]:
        """Larger first, then longer idle, then lower priority, then the larger uid."""
        world = self._world
        idle = world.holds.get(pod.uid, NO_FACTS).idle_since_ms
        idle_ms = world.now_ms - idle if idle is not None else -1
        return held, idle_ms, -world.priority_of(pod.spec), pod.uid

    def order(self, one: HolderSet) -> Order:
        """Least busy in the last hour, then fewest pods and GPUs, longest idle, then by node."""
        weights = [self._weights(pod) for pod in one.pods]
        busy, gpus, idle = (sum(each) for each in zip(*weights, strict=True))
        return busy, len(one.pods), gpus, -idle, one.place

    def _weights(self, pod: PodObject) -> tuple[int, int, int]:
        """Busy in the last hour, thousandths of GPUs, and since how long it is idle, in ms."""
        world, known = self._world, self._world.holds.get(pod.uid, NO_FACTS)
        gpus = self._gpus.get(id(pod.spec))
        if gpus is None:  # pods of a world share their specs, which live as long
            gpus = sum(gpus_of(pod.spec, world.added).values())
            self._gpus[id(pod.spec)] = gpus
        since = known.idle_since_ms
        idle = max(0, world.now_ms - since) if since is not None else 0
        return known.busy_last_hour_ms, min(gpus, MOST_HELD), idle

    def may_end(self, pod: PodObject, below: int | None) -> bool:
        """Whether the end of a pod is of use: it does not come back at once."""
        maker = pod.controller
        if maker is not None and maker.kind in NOT_ENDED:
            return False
        return below is None or self._preempted_by(pod) < below

    def ranked(self, room: NodeRoom, name: str) -> Ranked:
        """Pods of a node that hold a resource and may be ended, in the order of the set."""
        key = room.node.name, name
        if key not in self._ranked:
            found = [
                self.holder(pod, 1000 if name == SLOTS else pod.spec.request(name))
                for pod in room.pods
                if self.may_end(pod, None)
            ]
            self._ranked[key] = self.in_order(one for one in found if one[1])
        return self._ranked[key]

    def holder(self, pod: PodObject, held: int) -> Holder:
        """A pod with what it holds and its priority."""
        return pod, held, self._preempted_by(pod)

    def _preempted_by(self, pod: PodObject) -> int:
        """Its priority; none ends a pod that was deleted long ago and is still there."""
        return LARGEST if pod.is_stuck else self._world.priority_of(pod.spec)

    def in_order(self, found: Iterable[Holder]) -> Ranked:
        """Those that would be ended first, first."""
        return sorted(found, key=lambda one: self._rank(one[0], one[1]), reverse=True)

    def freeing(
        self, room: NodeRoom, name: str, amount: int, below: int | None
    ) -> HolderSet | None:
        """Pods of a node whose end frees an amount of one resource; None if nothing is enough."""
        key = room.node.name, name, amount, below
        if key not in self._sets:
            pods = covering(self.ranked(room, name), amount, below)
            self._sets[key] = (
                HolderSet(room.node.name, pods, {name: amount}) if pods else None
            )
        return self._sets[key]

    def best_first(self, name: str, request: int, below: int | None) -> Positions:
        """Nodes where pods can end until a request fits, in the order of their sets.

        Of nodes where this resource alone is short.
        """
        key = name, request, below
        if key not in self._orders:
            self._orders[key] = self._ordered(name, request, below)
        return self._orders[key]

    def _ordered(self, name: str, request: int, below: int | None) -> Positions:
        table = self._table
        free = 1000 * table.slots if name == SLOTS else table.free(name)
        return self._pods(name).best_first(min(request, LARGEST) - free, below)

    def _pods(self, name: str) -> _HolderColumns:
        if name not in self._columns:
            rows = [
                (
                    place,
                    min(amount, MOST_HELD),
                    max(-LARGEST, min(LARGEST, priority)),
                    *self._weights(pod),
                )
                for place, room in enumerate(self._table.rooms)
                for pod, amount, priority in self.ranked(room, name)
            ]
            columns = np.array(rows, dtype=np.int64).reshape(-1, 6)
            self._columns[name] = _HolderColumns(*columns.T)
        return self._columns[name]

    def freeing_all(
        self,
        room: NodeRoom,
        need: Amounts,
        below: int | None,
        but: Collection[str] = (),
    ) -> HolderSet | None:
        """Pods of a node whose end frees several amounts.

        Args:
            but: uids of pods that may not be ended.
        """
        if not any(pod.uid in but for pod in room.pods):
            key = room.node.name, tuple(need.items()), below
            if key not in self._several:
                is_enough = all(
                    covering(self.ranked(room, name), amount, below)
                    for name, amount in need.items()
                )
                self._several[key] = (
                    self._freed(room, need, below, ()) if is_enough else None
                )
            return self._several[key]
        return self._freed(room, need, below, but)

    def _freed(
        self, room: NodeRoom, need: Amounts, below: int | None, but: Collection[str]
    ) -> HolderSet | None:
        holders = []
        for pod in room.pods:
            if pod.uid not in but and self.may_end(pod, below):
                held = {n: a for n, a in pod.spec.requests if n in need}
                if SLOTS in need:
                    held[SLOTS] = 1000
                if held:
                    holders.append((pod, held))
        holders.sort(
            key=lambda one: self._rank(one[0], sum(one[1].values())), reverse=True
        )
        pods = _sufficient(holders, need)
        return HolderSet(room.node.name, pods, need) if pods else None


def covering(
    ranked: Ranked, need: int, below: int | None = None
) -> tuple[PodObject, ...]:
    """The first pods that cover an amount; none if all are not enough.

    Each is needed: what is too much is less than the last one holds, and others hold no less.
    """
    left = need
    taken = []
    for pod, held, priority in ranked:
        if left <= 0:
            break
        if below is None or priority < below:
            taken.append(pod)
            left -= held
    return tuple(taken) if left <= 0 else ()


def _sufficient(
    ordered: list[tuple[PodObject, dict[str, int]]], need: Amounts
) -> tuple[PodObject, ...]:
    """The first pods until all amounts are covered, without those that are not needed; or none."""
    left = dict(need)
    taken: list[tuple[PodObject, dict[str, int]]] = []
    for pod, held in ordered:
        if not _is_open(left):
            break
        if any(left[name] > 0 and amount for name, amount in held.items()):
            taken.append((pod, held))
            left = {n: v - held.get(n, 0) for n, v in left.items()}
    if _is_open(left):
        return ()
    for one in list(taken):
        without = {n: v + one[1].get(n, 0) for n, v in left.items()}
        if not _is_open(without):
            taken.remove(one)
            left = without
    return tuple(pod for pod, _ in taken)


def _is_open(left: Amounts) -> bool:
    return any(amount > 0 for amount in left.values())
