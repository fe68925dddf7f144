"""One node with the pods on it: what is free there."""

from collections.abc import Iterable

from scheduler_view.waits.rules.world.nodes import ClusterNode
from scheduler_view.waits.rules.world.pods import PodObject
from scheduler_view.waits.rules.world.world import World


class NodeRoom:
    """One node with the pods on it.

    Attributes:
        free: thousandths by resource; below 0 if more is reserved than there is.
        slots: pods that still fit by their number.
        lowest: the lowest priority of a pod on it; None for a node without pods.
    """

    __slots__ = ("free", "lowest", "node", "pods", "ports", "slots")

    def __init__(
        self, node: ClusterNode, pods: Iterable[PodObject], world: World
    ) -> None:
        self.node = node
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
