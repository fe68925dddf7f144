"""Nodes as columns: checks of all nodes at once instead of one by one (scheduling.md S7).

Every column has one value for each node, in the order of their names. Amounts are thousandths;
larger ones than 2**60 count as that.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from scheduler_view.domain.waits.placement.node_room import NodeRoom
from scheduler_view.domain.waits.world.nodes import Taint
from scheduler_view.domain.waits.world.pod_spec import PodSpec
from scheduler_view.domain.waits.world.selectors import LabelRequirement, NodeTerm

Amounts = NDArray[np.int64]
Positions = NDArray[np.int64]
Flags = NDArray[np.bool_]

LARGEST = 1 << 60
NAME = "metadata.name"  # the only field that a node selector may name


@dataclass(frozen=True)
class LabelColumn:
    """One label: `values[codes[i]]` is the value at node i; code -1 means that it has none."""

    codes: NDArray[np.int32]
    values: Sequence[str]

    def where(self, is_meant: Callable[[str | None], bool]) -> Flags:
        """The nodes whose value is meant; each value is tested once."""
        return self.spread([is_meant(value) for value in (*self.values, None)])

    def among(self, values: Collection[str]) -> Flags:
        """The nodes that have one of the values."""
        return self.where(lambda value: value in values)

    def spread(self, by_value: Sequence[bool]) -> Flags:
        """By node what is known by value; the last one is for nodes without the label."""
        return np.array(by_value, dtype=np.bool_)[self.codes]


def column_of(found: Sequence[str | None]) -> LabelColumn:
    """A column of the values of all nodes."""
    places: dict[str, int] = {}
    codes = [
        -1 if value is None else places.setdefault(value, len(places))
        for value in found
    ]
    return LabelColumn(np.array(codes, dtype=np.int32), list(places))


class NodeTable:
    """The nodes of a cluster, in the order of their names."""

    def __init__(self, rooms: Sequence[NodeRoom]) -> None:
        self.rooms = list(rooms)
        self._free: dict[str, Amounts] = {}
        self._allocatable: dict[str, Amounts] = {}
        self._capacity: dict[str, Amounts] = {}
        self._labels: dict[str, LabelColumn] = {}
        self._required: dict[LabelRequirement, Flags] = {}

    def __len__(self) -> int:
        return len(self.rooms)

    def at(self, positions: Positions) -> list[NodeRoom]:
        """The nodes at some positions."""
        return [self.rooms[one] for one in positions.tolist()]

    @cached_property
    def position(self) -> Mapping[str, int]:
        """Positions by the name of the node."""
        return {room.node.name: place for place, room in enumerate(self.rooms)}

    def free(self, name: str) -> Amounts:
        """What is free of a resource; below 0 if more is reserved than there is."""
        return _column(self._free, name, (room.free for room in self.rooms))

    def allocatable(self, name: str) -> Amounts:
        """What nodes offer of a resource."""
        found = (room.node.allocatable for room in self.rooms)
        return _column(self._allocatable, name, found)

    def capacity(self, name: str) -> Amounts:
        """What nodes have of a resource, the ill parts included."""
        found = (room.node.capacity for room in self.rooms)
        return _column(self._capacity, name, found)

    @cached_property
    def slots(self) -> Amounts:
        """Pods that still fit by their number."""
        found = [max(-LARGEST, min(LARGEST, room.slots)) for room in self.rooms]
        return np.array(found, dtype=np.int64)

    @cached_property
    def is_cordoned(self) -> Flags:
        """Nodes that are cordoned."""
        return np.array([room.node.is_cordoned for room in self.rooms], dtype=np.bool_)

    @cached_property
    def lowest(self) -> NDArray[np.float64]:
        """The lowest priority of a pod on the node; infinite without pods."""
        found = [
            float("inf") if room.lowest is None else room.lowest for room in self.rooms
        ]
        return np.array(found, dtype=np.float64)

    @cached_property
    def _taints(self) -> tuple[NDArray[np.int32], list[tuple[Taint, ...]]]:
        places: dict[tuple[Taint, ...], int] = {}
        codes = [places.setdefault(r.node.taints, len(places)) for r in self.rooms]
        return np.array(codes, dtype=np.int32), list(places)

    def by_taints(self, of: Callable[[tuple[Taint, ...]], int]) -> NDArray[np.int32]:
        """A number by node that follows from its taints; equal ones are tested once."""
        codes, values = self._taints
        return np.array([of(taints) for taints in values], dtype=np.int32)[codes]

    def label(self, key: str) -> LabelColumn:
        """The values of a label, or of the field `metadata.name`."""
        if key not in self._labels:
            self._labels[key] = column_of(
                [room.node.labels.get(key) for room in self.rooms]
            )
        return self._labels[key]

    @cached_property
    def _names(self) -> LabelColumn:
        return column_of([room.node.name for room in self.rooms])

    def matches(self, spec: PodSpec) -> Flags:
        """Nodes that the node selector and the required node affinity match."""
        found = np.ones(len(self), dtype=np.bool_)
        for key, value in spec.node_selector:
            found &= self._meets(LabelRequirement(key, "In", (value,)))
        return (
            found if spec.node_terms is None else found & self.any_term(spec.node_terms)
        )

    def any_term(self, terms: Sequence[NodeTerm]) -> Flags:
        """Nodes that one of the terms matches; an empty term matches none."""
        found = np.zeros(len(self), dtype=np.bool_)
        for term in terms:
            if term.labels or term.fields:
                met = np.ones(len(self), dtype=np.bool_)
                for one in term.labels:
                    met &= self._meets(one)
                for one in term.fields:
                    met &= self._names.where(partial(_names_meet, one))
                found |= met
        return found

    def _meets(self, one: LabelRequirement) -> Flags:
        if one not in self._required:
            self._required[one] = self.label(one.key).where(
                lambda value: one.matches({} if value is None else {one.key: value})
            )
        return self._required[one]


def _names_meet(one: LabelRequirement, name: str | None) -> bool:
    return one.matches({} if name is None else {NAME: name})


def _column(
    known: dict[str, Amounts], name: str, found: Iterable[Mapping[str, int]]
) -> Amounts:
    if name not in known:
        known[name] = np.array(
            [max(-LARGEST, min(LARGEST, one.get(name, 0))) for one in found],
            dtype=np.int64,
        )
    return known[name]
