"""What changes make of a cluster and of waiting work; nothing is copied that does not change."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from scheduler_view.waits.rules.cause import WaitCause
from scheduler_view.waits.rules.placement.node_room import NodeRoom
from scheduler_view.waits.rules.trial.work import Work
from scheduler_view.waits.rules.world.containers import ContainerAsk
from scheduler_view.waits.rules.world.limits import LimitRangeObject
from scheduler_view.waits.rules.world.nodes import ClusterNode
from scheduler_view.waits.rules.world.pod_spec import PodSpec
from scheduler_view.waits.rules.world.pods import PodObject
from scheduler_view.waits.rules.world.storage import Volume, VolumeClaim

SpecChange = Callable[[PodSpec], PodSpec]
AskChange = Callable[[ContainerAsk], ContainerAsk]


@dataclass
class Changed:
    """The differences from the observed cluster; `effects.EFFECTS` fills it.

    Attributes:
        cleared: causes that are gone, whatever else is there.
        ended: pods that have ended, by uid.
        nodes: changed ones, by name.
        added: new nodes.
        freed: thousandths that become free by node and resource.
        specs: what the pods of the work require instead.
        asks: what their containers request instead.
        hard: limits of quotas, by path and key.
        ranges: limit ranges that are replaced, by path.
        volume_claims, volumes: new or replaced ones.
        devices: that the claim of the work requests; None if as it is.
        may_preempt: the scheduler may end pods of lower priority for it.
        is_satisfied: it wants no more pods than it has.
    """

    work: Work
    cleared: set[WaitCause] = field(default_factory=set)
    ended: dict[str, PodObject] = field(default_factory=dict)
    nodes: dict[str, ClusterNode] = field(default_factory=dict)
    added: list[ClusterNode] = field(default_factory=list)
    freed: dict[str, dict[str, int]] = field(default_factory=dict)
    specs: list[SpecChange] = field(default_factory=list)
    asks: list[AskChange] = field(default_factory=list)
    hard: dict[tuple[str, str], int] = field(default_factory=dict)
    ranges: dict[str, LimitRangeObject] = field(default_factory=dict)
    volume_claims: dict[tuple[str, str], VolumeClaim] = field(default_factory=dict)
    volumes: dict[str, Volume] = field(default_factory=dict)
    devices: int | None = None
    may_preempt: bool = False
    is_satisfied: bool = False

    def end(self, paths: object) -> None:
        """Pods have ended, by `namespace/name`; unknown ones are ignored."""
        for path in paths if isinstance(paths, list) else []:
            pod = self.work.index.pod_at.get(path)
            if pod is not None:
                self.ended[pod.uid] = pod

    def node(self, name: str) -> ClusterNode | None:
        """A node as changed so far."""
        room = self.work.index.rooms.get(name)
        return self.nodes.get(name) or (room.node if room else None)

    def spec(self, spec: PodSpec) -> PodSpec:
        """What a pod of the work requires."""
        for change in self.specs:
            spec = change(spec)
        return spec

    def ask(self, ask: ContainerAsk) -> ContainerAsk:
        """What a container of the work requests."""
        for change in self.asks:
            ask = change(ask)
        return ask

    @cached_property
    def rooms(self) -> Mapping[str, NodeRoom]:
        """The nodes on which something is different, the new ones included."""
        index = self.work.index
        names = {pod.node for pod in self.ended.values() if pod.holds}
        names |= {*self.nodes, *self.freed}
        found = {}
        for name in sorted(names & index.rooms.keys()):
            room = index.rooms[name]
            pods = (pod for pod in room.pods if pod.uid not in self.ended)
            made = NodeRoom(self.nodes.get(name, room.node), pods, index.world)
            for resource, amount in self.freed.get(name, {}).items():
                made.free[resource] = made.free.get(resource, 0) + amount
            found[name] = made
        return found | {one.name: NodeRoom(one, (), index.world) for one in self.added}
