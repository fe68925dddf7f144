"""What keeps a pod off each node that could have its GPUs: table B (scheduling.md S6, S7).

All nodes are checked at once, as columns; what follows from the requirements of a pod alone is
computed once for all pods with the same.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property, reduce

import numpy as np
from numpy.typing import NDArray

from scheduler_view.waits.rules.cause import BIT, WaitCause, causes_of, mask_of
from scheduler_view.waits.rules.placement.demand import (
    Demand,
    is_tolerated,
    matches_node,
    tolerates_cordon,
)
from scheduler_view.waits.rules.placement.gpu_requests import gpus_of
from scheduler_view.waits.rules.placement.index import Candidates, WorldIndex
from scheduler_view.waits.rules.placement.node_room import NodeRoom
from scheduler_view.waits.rules.placement.node_table import (
    LARGEST,
    Flags,
    NodeTable,
    Positions,
)
from scheduler_view.waits.rules.placement.topology import TopologyRules
from scheduler_view.waits.rules.placement.volume_rules import VolumeRules
from scheduler_view.waits.rules.world.nodes import LEAVING, NOT_READY, Taint
from scheduler_view.waits.rules.world.pod_spec import PodSpec
from scheduler_view.waits.rules.world.pods import PodObject

_SELECTOR = BIT[WaitCause.NO_MATCHING_NODE]
_SETUP = BIT[WaitCause.NODE_SETUP]
_TAINT, _LOST = BIT[WaitCause.TAINT], BIT[WaitCause.NODE_NOT_READY]
_CORDON = BIT[WaitCause.CORDONED]
_TOO_BIG, _UNHEALTHY = BIT[WaitCause.TOO_BIG], BIT[WaitCause.GPU_UNHEALTHY]
_NO_GPU, _FRAGMENTED = BIT[WaitCause.NO_FREE_GPU], BIT[WaitCause.FRAGMENTED]
_OTHER, _SLOTS = BIT[WaitCause.CPU_MEMORY], BIT[WaitCause.POD_SLOTS]
_PORT = BIT[WaitCause.HOST_PORT]
_ORDER = {cause: place for place, cause in enumerate(WaitCause)}
SHORT_OF_GPUS = mask_of(WaitCause.NO_FREE_GPU, WaitCause.FRAGMENTED)

Masks = NDArray[np.int32]


@dataclass(frozen=True)
class Verdicts:
    """Every candidate of a demand with the set of its causes (`cause.BIT`).

    Attributes:
        resources: GPU resources that the demand requests, in thousandths.
        masks: in the order of the candidates.
        firsts: the first cause of each candidate; None for one that nothing keeps away.
    """

    demand: Demand
    resources: dict[str, int]
    candidates: Candidates
    masks: Masks
    topology: TopologyRules
    volumes: VolumeRules
    firsts: frozenset[WaitCause | None] = field(default_factory=frozenset)
    _positions: dict[tuple[int, ...], Positions] = field(default_factory=dict)

    @property
    def table(self) -> NodeTable:
        """All nodes of the cluster."""
        return self.candidates.table

    @property
    def rooms(self) -> list[NodeRoom]:
        """The candidates, in the order of their names."""
        return self.candidates.rooms

    @property
    def cause(self) -> WaitCause:
        """The latest first cause: the node that came furthest decides (S7)."""
        if not len(self.masks):
            return WaitCause.RESOURCE_UNKNOWN
        if None in self.firsts:
            return WaitCause.RETRY_PENDING
        return max((one for one in self.firsts if one), key=_ORDER.__getitem__)

    @property
    def contributing(self) -> frozenset[WaitCause]:
        """The other first causes."""
        cause = self.cause
        return frozenset(one for one in self.firsts if one and one is not cause)

    @cached_property
    def kinds(self) -> list[int]:
        """The sets of causes that there are, each once."""
        return [int(one) for one in np.unique(self.masks)]

    def positions_with(self, *masks: int) -> Positions:
        """Where in the table the candidates with exactly one of these sets are."""
        if masks not in self._positions:
            found = np.zeros(len(self.masks), dtype=np.bool_)
            for one in masks:
                found |= self.masks == one
            self._positions[masks] = self.candidates.positions[found]
        return self._positions[masks]

    def with_mask(self, *masks: int) -> list[NodeRoom]:
        """Candidates with exactly one of these sets."""
        return self.table.at(self.positions_with(*masks))


def verdicts_of(index: WorldIndex, demand: Demand) -> Verdicts:
    """The verdict of each candidate of a demand."""
    gpus = gpus_of(demand.spec, index.world.added)
    candidates = index.candidates(sorted(gpus))
    topology, volumes = TopologyRules(index, demand), VolumeRules(index, demand)
    masks = node_masks(index.table, demand.spec, gpus)
    if not topology.is_empty:
        masks |= topology.masks
    if not volumes.is_empty:
        masks |= volumes.masks
    masks = masks[candidates.positions]
    _mark_fragmented(masks, candidates, gpus)
    return Verdicts(demand, gpus, candidates, masks, topology, volumes, _firsts(masks))


def _firsts(masks: Masks) -> frozenset[WaitCause | None]:
    lowest = int(np.bitwise_or.reduce(masks & -masks, initial=0))
    found: frozenset[WaitCause | None] = frozenset(causes_of(lowest))
    return found if masks.all() else found | {None}


def node_masks(table: NodeTable, spec: PodSpec, gpus: dict[str, int]) -> Masks:
    """The causes that need nothing but the node and the pods on it."""
    found = table.by_taints(lambda taints: _taint_mask(spec, taints))
    if spec.node_selector or spec.node_terms is not None:
        found[~table.matches(spec)] |= _SELECTOR
    if not tolerates_cordon(spec):
        found[table.is_cordoned] |= _CORDON
    for name, need in gpus.items():
        found |= _gpu_masks(table, name, min(need, LARGEST))
    for one in short_of(table, [one for one in spec.requests if one[0] not in gpus]):
        found[one] |= _OTHER
    found[table.slots < 1] |= _SLOTS
    if spec.host_ports:
        found[_with_ports(table, spec)] |= _PORT
    return found


def has_place(room: NodeRoom, spec: PodSpec) -> bool:
    """Whether `node_masks` has no cause for a node; faster than a table for a few nodes."""
    node, free = room.node, room.free
    return (
        room.slots >= 1
        and all(min(need, LARGEST) <= free.get(name, 0) for name, need in spec.requests)
        and is_tolerated(spec, node.taints)
        and (not node.is_cordoned or tolerates_cordon(spec))
        and room.ports.isdisjoint(spec.host_ports)
        and matches_node(spec, node)
    )


def short_of(table: NodeTable, requests: Iterable[tuple[str, int]]) -> Iterable[Flags]:
    """For each request, the nodes where less is free."""
    return (min(need, LARGEST) > table.free(name) for name, need in requests)


def _with_ports(table: NodeTable, spec: PodSpec) -> Flags:
    ports = spec.host_ports
    return np.array(
        [not r.ports.isdisjoint(ports) for r in table.rooms], dtype=np.bool_
    )


def _taint_mask(spec: PodSpec, taints: tuple[Taint, ...]) -> int:
    found = (
        _mask_of_taint(one) for one in taints if not one.is_tolerated(spec.tolerations)
    )
    return reduce(int.__or__, found, 0)


def _mask_of_taint(taint: Taint) -> int:
    if taint.key in NOT_READY:
        return _LOST
    return _SETUP if taint.is_of_setup or taint.key in LEAVING else _TAINT


def _gpu_masks(table: NodeTable, name: str, need: int) -> Masks:
    """Why nodes do not have the GPUs: their size, their health, or their holders."""
    free, offered, capacity = (
        table.free(name),
        table.allocatable(name),
        table.capacity(name),
    )
    is_held = need > capacity - (offered - free)
    ill = np.where(is_held, _UNHEALTHY | _NO_GPU, _UNHEALTHY)
    lacking = np.where(need > capacity, _TOO_BIG, ill)
    found = np.where(need <= offered, _NO_GPU, lacking)
    return np.where(need > free, found, 0).astype(np.int32)


def _mark_fragmented(
    masks: Masks, candidates: Candidates, gpus: dict[str, int]
) -> None:
    """`fragmented` instead of `no_free_gpu` where the free units of such nodes are enough."""
    short = (masks & -masks) == _NO_GPU
    if not short.any():
        return
    where = candidates.positions[short]
    for name, need in gpus.items():
        free = np.maximum(candidates.table.free(name)[where], 0)
        if float(free.sum(dtype=np.float64)) < need:
            return
    masks[short] = masks[short] & ~_NO_GPU | _FRAGMENTED


def demand_of(index: WorldIndex, pod: PodObject) -> Demand:
    """The demand of a pod; without its namespace and labels where no rule reads them."""
    spec = pod.spec
    if not index.reads_pods(pod):
        namespace = pod.namespace if spec.volumes or spec.claims else ""
        return Demand(namespace, spec, reads_pods=False)
    keys = index.selected_keys
    labels = sorted((k, v) for k, v in pod.labels.items() if k in keys)
    return Demand(pod.namespace, spec, tuple(labels))


def free_of(rooms: Iterable[NodeRoom], resource: str) -> dict[str, int]:
    """Whole free units by node."""
    return {
        room.node.name: max(0, room.free.get(resource, 0)) // 1000 for room in rooms
    }
