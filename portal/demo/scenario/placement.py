"""Where pods may run: free units of nodes, the node of a pod, and which pods end for another."""

from collections import defaultdict
from collections.abc import Callable, Iterable

from portal.demo.scenario.fleet import NodeObject
from portal.demo.scenario.pod import Request, Seat, SimulatedPod

Priority = Callable[[SimulatedPod], int]


class SeatMap:
    """The nodes of the cluster and who holds their units."""

    def __init__(self) -> None:
        self.nodes: dict[str, NodeObject] = {}
        self.seats: dict[str, list[Seat]] = {}  # by node name
        self._free: dict[tuple[str, str], list[Seat]] = {}  # by node name and pool
        self._pools: dict[str, list[NodeObject]] = defaultdict(list)

    def join(self, node: NodeObject) -> list[str]:
        """Add a node; its pools."""
        self.nodes[node.name] = node
        units = node.shape.units(node.pool.gpus)
        seats = [Seat(node, index, unit) for index, unit in enumerate(units)]
        self.seats[node.name] = seats
        pools = _pools_of(seats)
        for pool in pools:
            free = [seat for seat in seats if node.pool_of(seat.unit) == pool]
            self._free[node.name, pool] = free
            self._pools[pool].append(node)
        return pools

    def leave(self, node: NodeObject) -> list[SimulatedPod]:
        """Use a node no longer; the pods on it."""
        for pool in self.pools_of(node):
            self._pools[pool].remove(node)
            self._free[node.name, pool] = []
        found = {seat.holder for seat in self.seats[node.name] if seat.holder}
        return sorted(found, key=lambda pod: pod.key)

    def pools_of(self, node: NodeObject) -> list[str]:
        """The pools of a node's units."""
        return _pools_of(self.seats[node.name])

    def nodes_of(self, pools: Iterable[str]) -> dict[str, NodeObject]:
        """The nodes of some pools, by name."""
        return {node.name: node for pool in pools for node in self._pools[pool]}

    def find(
        self, request: Request, now_s: int, *, is_packed: bool
    ) -> tuple[NodeObject, str] | None:
        """The node for a pod, in the first of its pools that has one.

        Args:
            is_packed: use the node with the fewest free units, instead of the one with most.
        """
        if request.model:
            return None  # no node has it
        sign = 1 if is_packed else -1
        for pool in request.pools:
            fitting = [
                node
                for node in self._pools[pool]
                if len(self._free[node.name, pool]) >= request.gpus
                and not (node.cordons and node.is_cordoned(now_s))
            ]
            if fitting:
                free = self._free
                node = min(
                    fitting, key=lambda n: (sign * len(free[n.name, pool]), n.name)
                )
                return node, pool
        return None

    def take(self, pod: SimulatedPod, node: NodeObject, pool: str) -> int:
        """Give a pod its units; since when all of them are free."""
        gpus = pod.request.gpus
        free = self._free[node.name, pool]
        seats, self._free[node.name, pool] = free[:gpus], free[gpus:]
        free_s = 0
        for seat in seats:
            if seat.pods:
                free_s = max(free_s, seat.pods[-1].ended_s or 0)
            seat.holder = pod
            seat.pods.append(pod)
        pod.node, pod.units = node, tuple(seat.index for seat in seats)
        return free_s

    def release(self, pod: SimulatedPod) -> list[str]:
        """Free the units of a pod; their pools."""
        if pod.node is None:
            return []
        seats = [self.seats[pod.node.name][index] for index in pod.units]
        for seat in seats:
            pool = pod.node.pool_of(seat.unit)
            seat.holder = None
            if pod.node in self._pools[pool]:  # it is not being removed
                self._free[pod.node.name, pool].append(seat)  # used last
        return _pools_of(seats)

    def victims(
        self, pod: SimulatedPod, priority: Priority, now_s: int
    ) -> tuple[NodeObject, list[SimulatedPod]] | None:
        """The node on which the fewest pods of the lowest priorities must end for a pod.

        Of equal priorities the newest end first, as Kubernetes chooses them.
        """
        own, gpus = priority(pod), pod.request.gpus
        found = []
        for pool in pod.request.pools:
            for node in self._pools[pool]:
                if node.is_cordoned(now_s):
                    continue
                chosen = self._on_node(node, pool, gpus, own, priority)
                if chosen:
                    worst = max(priority(one) for one in chosen)
                    found.append((worst, len(chosen), node.name, node, chosen))
        if not found:
            return None
        *_, node, chosen = min(found, key=lambda one: one[:3])
        return node, chosen

    def _on_node(
        self, node: NodeObject, pool: str, gpus: int, own: int, priority: Priority
    ) -> list[SimulatedPod]:
        """The pods that must end on a node; none if that is not enough."""
        lower = {
            seat.holder
            for seat in self.seats[node.name]
            if seat.holder is not None
            and seat.holder.preempted_s is None
            and priority(seat.holder) < own
            and node.pool_of(seat.unit) == pool
        }
        left = gpus - len(self._free[node.name, pool])
        chosen: list[SimulatedPod] = []
        for one in sorted(
            lower, key=lambda pod: (priority(pod), -(pod.bound_s or 0), pod.key)
        ):
            if left <= 0:
                break
            chosen.append(one)
            left -= one.request.gpus
        return chosen if left <= 0 else []


def _pools_of(seats: Iterable[Seat]) -> list[str]:
    """Each pool once, in the order of the seats."""
    return list(dict.fromkeys(seat.node.pool_of(seat.unit) for seat in seats))
