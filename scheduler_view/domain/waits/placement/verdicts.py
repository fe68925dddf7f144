"""What keeps a pod off each node that could have its GPUs: table B (scheduling.md S6, S7)."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from scheduler_view.domain.waits.cause import BIT, WaitCause, first_of, mask_of
from scheduler_view.domain.waits.placement.demand import (
    Demand,
    matches_node,
    tolerates_cordon,
)
from scheduler_view.domain.waits.placement.gpu_requests import gpus_of
from scheduler_view.domain.waits.placement.index import NodeRoom, WorldIndex
from scheduler_view.domain.waits.placement.topology import TopologyRules
from scheduler_view.domain.waits.placement.volume_rules import VolumeRules
from scheduler_view.domain.waits.world.nodes import NOT_READY, Taint
from scheduler_view.domain.waits.world.pods import PodObject

_SELECTOR = BIT[WaitCause.NO_MATCHING_NODE]
_TAINT, _LOST = BIT[WaitCause.TAINT], BIT[WaitCause.NODE_NOT_READY]
_CORDON = BIT[WaitCause.CORDONED]
_TOO_BIG, _UNHEALTHY = BIT[WaitCause.TOO_BIG], BIT[WaitCause.GPU_UNHEALTHY]
_NO_GPU, _FRAGMENTED = BIT[WaitCause.NO_FREE_GPU], BIT[WaitCause.FRAGMENTED]
_OTHER, _SLOTS = BIT[WaitCause.CPU_MEMORY], BIT[WaitCause.POD_SLOTS]
_PORT = BIT[WaitCause.HOST_PORT]
SHORT_OF_GPUS = mask_of(WaitCause.NO_FREE_GPU, WaitCause.FRAGMENTED)


@dataclass(frozen=True)
class Verdicts:
    """Every candidate of a demand with the set of its causes (`cause.BIT`).

    Attributes:
        resources: GPU resources that the demand requests, in thousandths.
        firsts: the first cause of each candidate; None for one that nothing keeps away.
    """

    demand: Demand
    resources: dict[str, int]
    rooms: list[NodeRoom]
    masks: list[int]
    topology: TopologyRules
    volumes: VolumeRules
    firsts: frozenset[WaitCause | None] = field(default_factory=frozenset)

    @property
    def cause(self) -> WaitCause:
        """The latest first cause: the node that came furthest decides (S7)."""
        if not self.rooms:
            return WaitCause.RESOURCE_UNKNOWN
        if None in self.firsts:
            return WaitCause.RETRY_PENDING
        order = list(WaitCause)
        return max((one for one in self.firsts if one), key=order.index)

    @property
    def contributing(self) -> frozenset[WaitCause]:
        """The other first causes."""
        return frozenset(one for one in self.firsts if one and one is not self.cause)

    def with_mask(self, *masks: int) -> list[NodeRoom]:
        """Candidates with exactly one of these sets."""
        return [r for r, m in zip(self.rooms, self.masks, strict=True) if m in masks]


def verdicts_of(index: WorldIndex, demand: Demand) -> Verdicts:
    """The verdict of each candidate of a demand."""
    spec = demand.spec
    gpus = gpus_of(spec, index.world.added)
    rooms = index.candidates(sorted(gpus))
    others = [(n, need) for n, need in spec.requests if n not in gpus]
    checks = _NodeChecks(demand, list(gpus.items()), others)
    topology, volumes = TopologyRules(index, demand), VolumeRules(index, demand)
    masks = [checks.mask(room) for room in rooms]
    if not topology.is_empty or not volumes.is_empty:
        masks = [
            mask | volumes.mask(room.node) | topology.mask(room.node)
            for mask, room in zip(masks, rooms, strict=True)
        ]
    masks = _with_fragmented(masks, rooms, gpus)
    return Verdicts(
        demand,
        gpus,
        rooms,
        masks,
        topology,
        volumes,
        frozenset(first_of(mask) for mask in set(masks)),
    )


class _NodeChecks:
    """The checks of a node that need nothing but the node and the pods on it."""

    def __init__(
        self, demand: Demand, gpus: list[tuple[str, int]], others: list[tuple[str, int]]
    ) -> None:
        self._spec, self._gpus, self._others = demand.spec, gpus, others
        self._selects = bool(demand.spec.node_selector) or (
            demand.spec.node_terms is not None
        )
        self._cordon = 0 if tolerates_cordon(demand.spec) else _CORDON
        self._taints: dict[tuple[Taint, ...], int] = {}

    def mask(self, room: NodeRoom) -> int:
        node, spec = room.node, self._spec
        found = 0
        if self._selects and not matches_node(spec, node):
            found |= _SELECTOR
        if node.taints:
            found |= self._taint_mask(node.taints)
        if node.is_cordoned:
            found |= self._cordon
        for name, need in self._gpus:
            if need > room.free.get(name, 0):
                found |= _gpu_mask(room, name, need)
        for name, need in self._others:
            if need > room.free.get(name, 0):
                found |= _OTHER
        if room.slots < 1:
            found |= _SLOTS
        if spec.host_ports and not room.ports.isdisjoint(spec.host_ports):
            found |= _PORT
        return found

    def _taint_mask(self, taints: tuple[Taint, ...]) -> int:
        known = self._taints.get(taints)
        if known is None:
            known = 0
            for one in taints:
                if not one.is_tolerated(self._spec.tolerations):
                    known |= _LOST if one.key in NOT_READY else _TAINT
            self._taints[taints] = known
        return known


def _gpu_mask(room: NodeRoom, name: str, need: int) -> int:
    """Why a node does not have the GPUs: its size, their health, or their holders."""
    offered = room.node.allocatable.get(name, 0)
    if need <= offered:
        return _NO_GPU
    capacity = room.node.capacity.get(name, 0)
    if need > capacity:
        return _TOO_BIG
    held = offered - room.free.get(name, 0)
    return _UNHEALTHY | (_NO_GPU if need > capacity - held else 0)


def _with_fragmented(
    masks: list[int], rooms: list[NodeRoom], gpus: dict[str, int]
) -> list[int]:
    """`fragmented` instead of `no_free_gpu` where the free units of such nodes are enough."""
    short = [
        i for i, mask in enumerate(masks) if first_of(mask) is WaitCause.NO_FREE_GPU
    ]
    if not short or any(
        sum(max(0, rooms[i].free.get(name, 0)) for i in short) < need
        for name, need in gpus.items()
    ):
        return masks
    found = list(masks)
    for i in short:
        found[i] = found[i] & ~_NO_GPU | _FRAGMENTED
    return found


def demand_of(index: WorldIndex, pod: PodObject) -> Demand:
    """The demand of a pod; without its namespace where no rule reads it."""
    keys, spec = index.selected_keys, pod.spec
    labels = sorted((k, v) for k, v in pod.labels.items() if k in keys)
    is_read = (
        *(spec.affinity, spec.anti_affinity, spec.spread, spec.volumes, spec.claims),
        index.kept_away,
    )
    return Demand(pod.namespace if any(is_read) else "", spec, tuple(labels))


def free_of(rooms: Iterable[NodeRoom], resource: str) -> dict[str, int]:
    """Whole free units by node."""
    return {
        room.node.name: max(0, room.free.get(resource, 0)) // 1000 for room in rooms
    }
