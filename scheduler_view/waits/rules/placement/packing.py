"""Places pods one after another, each on the node where least is left (scheduling.md S16, S19).

What is free on a node shrinks with each placed pod and grows with each one that ends. Rules
between pods (spread, affinity, ports, volumes) count as they are now.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush

from scheduler_view.waits.rules.cause import WaitCause, mask_of
from scheduler_view.waits.rules.placement.node_room import NodeRoom
from scheduler_view.waits.rules.placement.verdicts import Verdicts

_COUNTED = mask_of(
    WaitCause.NO_FREE_GPU,
    WaitCause.FRAGMENTED,
    WaitCause.CPU_MEMORY,
    WaitCause.POD_SLOTS,
)
"""What `Packing` counts itself; any other cause keeps a pod off a node."""
Amounts = tuple[tuple[str, int], ...]


@dataclass(frozen=True, eq=False)
class Shape:
    """Pods that are alike: what each requests, and the nodes that it may use.

    Compared by identity: pods of one demand share their shape.

    Attributes:
        resource: the GPU resource, whose rest decides which node is best.
        requests: thousandths by resource.
    """

    resource: str
    requests: Amounts
    nodes: frozenset[str]

    @property
    def need(self) -> int:
        """Thousandths of the GPU resource."""
        return dict(self.requests).get(self.resource, 0)


Placed = tuple[Shape, str]  # with its node


def shape_of(verdicts: Verdicts, resource: str) -> Shape:
    """The shape of a demand: available nodes where nothing but free amounts can be short."""
    nodes = verdicts.candidates.positions[(verdicts.masks & ~_COUNTED) == 0]
    return Shape(
        resource,
        verdicts.demand.spec.requests,
        frozenset(
            room.node.name
            for room in verdicts.table.at(nodes)
            if room.node.is_available
        ),
    )


class Packing:
    """What is free on each node while pods are placed and end."""

    def __init__(
        self, rooms: Mapping[str, NodeRoom], shapes: Iterable[Shape] = ()
    ) -> None:
        self._rooms = rooms
        self._changed: dict[str, dict[str, int]] = {}  # free amounts by node
        self._slots: dict[str, int] = {}
        self._order: dict[int, list[tuple[int, str]]] = {}
        self._shapes: dict[int, Shape] = {}
        self._using: dict[str, list[int]] = {}
        for shape in shapes:
            self._add(shape)

    def _add(self, shape: Shape) -> list[tuple[int, str]]:
        known = self._order.get(id(shape))
        if known is not None:
            return known
        order: list[tuple[int, str]] = []
        self._order[id(shape)], self._shapes[id(shape)] = order, shape
        for name in shape.nodes:
            self._using.setdefault(name, []).append(id(shape))
            self._offer(id(shape), name)
        return order

    def _offer(self, number: int, name: str) -> None:
        shape = self._shapes[number]
        free = self._free(name).get(shape.resource, 0)
        if free >= shape.need:
            heappush(self._order[number], (free, name))

    def _free(self, name: str) -> Mapping[str, int]:
        return self._changed[name] if name in self._changed else self._rooms[name].free

    def _left(self, name: str) -> int:
        """Pods that still fit by their number."""
        return self._slots.get(name, self._rooms[name].slots)

    def fits(self, shape: Shape, name: str) -> bool:
        """Whether a pod has place on a node now."""
        if name not in shape.nodes or self._left(name) < 1:
            return False
        free = self._free(name)
        return all(free.get(key, 0) >= amount for key, amount in shape.requests)

    def place(self, shape: Shape) -> str | None:
        """Place one pod; returns its node, None if it has place on none."""
        order = self._add(shape)
        while order:
            free, name = order[0]
            is_current = self._free(name).get(shape.resource, 0) == free
            if is_current and self.fits(shape, name):
                self._change(shape.requests, name, -1)
                return name
            heappop(order)  # offered again when the node changes
        return None

    def end(self, requests: Amounts, name: str) -> None:
        """A pod on a node has ended; unknown nodes are ignored."""
        if name in self._rooms:
            self._change(requests, name, 1)

    def _change(self, requests: Amounts, name: str, sign: int) -> None:
        if name not in self._changed:
            self._changed[name] = dict(self._rooms[name].free)
        free = self._changed[name]
        for key, amount in requests:
            free[key] = free.get(key, 0) + sign * amount
        self._slots[name] = self._left(name) + sign
        for number in self._using.get(name, ()):
            self._offer(number, name)

    def place_all(self, pods: Iterable[tuple[Shape, int]]) -> list[Placed] | None:
        """Place a gang whole; None, and nothing of it, if not all have place."""
        placed: list[Placed] = []
        for shape, count in pods:
            for _ in range(count):
                name = self.place(shape)
                if name is None:
                    for other, node in placed:
                        self.end(other.requests, node)
                    return None
                placed.append((shape, name))
        return placed

    def place_some(self, pods: Iterable[tuple[Shape, int]]) -> list[Placed]:
        """Place as many pods as have place."""
        placed: list[Placed] = []
        for shape, count in pods:
            for _ in range(count):
                name = self.place(shape)
                if name is None:
                    break
                placed.append((shape, name))
        return placed
