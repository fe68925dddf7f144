"""Rules of volumes, prepared for one demand: those of the pod, and those of each node."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scheduler_view.waits.rules.cause import BIT, WaitCause
from scheduler_view.waits.rules.placement.demand import Demand
from scheduler_view.waits.rules.placement.index import WorldIndex
from scheduler_view.waits.rules.world.nodes import ClusterNode
from scheduler_view.waits.rules.world.pods import PodObject
from scheduler_view.waits.rules.world.selectors import NodeTerm
from scheduler_view.waits.rules.world.storage import ONE_POD, VolumeClaim, fits

CLAIM, CLASS, VOLUME = "PersistentVolumeClaim", "StorageClass", "PersistentVolume"

_IN_USE = BIT[WaitCause.VOLUME_IN_USE]
_ZONE = BIT[WaitCause.VOLUME_ZONE]
_UNBOUND = BIT[WaitCause.VOLUME_UNBOUND]
Terms = tuple[NodeTerm, ...]


@dataclass(frozen=True, slots=True)
class VolumeFault:
    """A volume that keeps a pod off every node, before nodes are looked at."""

    cause: WaitCause
    name: str


def volume_fault(index: WorldIndex, demand: Demand) -> VolumeFault | None:
    """A claim that is missing, or that is bound at once and is not bound."""
    world = index.world
    if CLAIM in world.unread:
        return None
    for name in demand.spec.volumes:
        if (demand.namespace, name) not in world.volume_claims:
            return VolumeFault(WaitCause.VOLUME_MISSING, name)
    for name in demand.spec.volumes:
        claim = world.volume_claims[demand.namespace, name]
        if not claim.is_bound and not _is_bound_later(index, claim):
            return VolumeFault(WaitCause.VOLUME_UNBOUND, name)
    return None


def _is_bound_later(index: WorldIndex, claim: VolumeClaim) -> bool:
    kind = index.world.storage_classes.get(claim.storage_class)
    return kind.waits if kind is not None else CLASS in index.world.unread


class VolumeRules:
    """On which nodes the volumes of a demand can be used."""

    def __init__(self, index: WorldIndex, demand: Demand) -> None:
        self._zones: list[tuple[str, Terms]] = []
        self._choices: list[tuple[str, list[Terms | None]]] = []
        self._everywhere = 0
        self._table = index.table
        self.users: list[PodObject] = []
        world = index.world
        for name in demand.spec.volumes:
            claim = world.volume_claims.get((demand.namespace, name))
            if claim is None:
                continue
            if ONE_POD in claim.modes:
                self.users += _users(index, claim)
            if claim.volume:
                self._bound(index, claim)
            elif VOLUME not in world.unread:
                self._unbound(index, claim)
        if self.users:
            self._everywhere |= _IN_USE

    @property
    def zones(self) -> list[NodeTerm]:
        """The first term of each volume that only some nodes can use."""
        return [terms[0] for _, terms in self._zones if terms]

    @property
    def is_empty(self) -> bool:
        """Whether no node is affected."""
        return not (self._zones or self._choices or self._everywhere)

    @property
    def masks(self) -> NDArray[np.int32]:
        """The causes that hold on each node."""
        table = self._table
        found = np.full(len(table), self._everywhere, dtype=np.int32)
        for _, terms in self._zones:
            found[~table.any_term(terms)] |= _ZONE
        for _, choices in self._choices:
            if None not in choices:
                usable = np.zeros(len(table), dtype=np.bool_)
                for one in choices:
                    usable |= table.any_term(one or ())
                found[~usable] |= _UNBOUND
        return found

    def elsewhere(self, node: ClusterNode) -> list[str]:
        """Claims whose volume the node cannot use."""
        return [name for name, terms in self._zones if not _match(terms, node)]

    def unbound(self, node: ClusterNode) -> list[str]:
        """Claims for which the node has no volume."""
        return [
            name
            for name, choices in self._choices
            if not any(_match(terms, node) for terms in choices)
        ]

    def _bound(self, index: WorldIndex, claim: VolumeClaim) -> None:
        found = index.world.volumes.get(claim.volume)
        if found is not None and found.terms is not None:
            self._zones.append((claim.name, found.terms))

    def _unbound(self, index: WorldIndex, claim: VolumeClaim) -> None:
        kind = index.world.storage_classes.get(claim.storage_class)
        if kind is None or not kind.waits or kind.has_provisioner:
            return
        free = [v.terms for v in index.world.volumes.values() if fits(claim, v)]
        self._choices.append((claim.name, list(free)))


def _users(index: WorldIndex, claim: VolumeClaim) -> list[PodObject]:
    return [
        pod
        for pod in index.placed_in.get(claim.namespace, ())
        if claim.name in pod.spec.volumes
    ]


def _match(terms: Terms | None, node: ClusterNode) -> bool:
    return terms is None or any(one.matches(node.labels, node.name) for one in terms)
