"""Nodes as columns: checks of all nodes at once instead of one by one (scheduling.md S7).

Every column has one value for each node, in the order of their names. Amounts are thousandths;
larger ones than 2**60 count as that.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scheduler_view.waits.rules.placement.node_room import NodeRoom
from scheduler_view.waits.rules.world.nodes import Taint
from scheduler_view.waits.rules.world.pod_spec import PodSpec
from scheduler_view.waits.rules.world.selectors import LabelRequirement, NodeTerm

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
        found = np.zeros(len(self.values) + 1, dtype=np.bool_)
        found[[self._places[one] for one in values if one in self._places]] = True
        return found[self.codes]

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {value: place for place, value in enumerate(self.values)}

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

    def __init__(
        self, rooms: Sequence[NodeRoom], before: "NodeTable | None" = None
    ) -> None:
        self.rooms = list(rooms)
        self._before = before
        self._free: dict[str, Amounts] = {}
        self._allocatable: dict[str, Amounts] = {}
        self._capacity: dict[str, Amounts] = {}
        self._labels: dict[str, LabelColumn] = {}
        self._required: dict[LabelRequirement, Flags] = {}
        self._domains: dict[frozenset[str], list[dict[str, str]]] = {}
        self._places: list[int] = []  # where it differs from `before`

    def patched(self, rooms: Mapping[str, NodeRoom]) -> "NodeTable":
        """These nodes, some with other amounts, pods or taints but the same labels; new ones last.

        What does not differ is copied from this table.
        """
        found = NodeTable(self.rooms, self)
        for name, room in rooms.items():
            place = self.position.get(name, len(found.rooms))
            found._places.append(place)
            found.rooms[place : place + 1] = [room]
        if len(found.rooms) == len(self.rooms):
            found._labels, found._required = self._labels, self._required
            found.position = self.position
        return found

    def _patch(
        self, before: NDArray[Any], of: Callable[[NodeRoom], float]
    ) -> NDArray[Any]:
        """A column of the table before, with the values of nodes that differ."""
        found = (
            np.resize(before, len(self.rooms))
            if len(before)
            else np.zeros(len(self.rooms), dtype=before.dtype)
        )
        for place in self._places:
            found[place] = of(self.rooms[place])
        return found

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
        return self.column("_free", name, lambda room: room.free)

    def allocatable(self, name: str) -> Amounts:
        """What nodes offer of a resource."""
        return self.column("_allocatable", name, lambda room: room.node.allocatable)

    def capacity(self, name: str) -> Amounts:
        """What nodes have of a resource, the ill parts included."""
        return self.column("_capacity", name, lambda room: room.node.capacity)

    def column(
        self, kind: str, name: str, of: Callable[[NodeRoom], Mapping[str, int]]
    ) -> Amounts:
        """The amounts of one kind of a resource."""
        known: dict[str, Amounts] = getattr(self, kind)
        if name not in known and self._before is None:
            found = [_bounded(of(room).get(name, 0)) for room in self.rooms]
            known[name] = np.array(found, dtype=np.int64)
        elif name not in known and self._before is not None:
            known[name] = self._patch(
                self._before.column(kind, name, of),
                lambda room: _bounded(of(room).get(name, 0)),
            )
        return known[name]

    @cached_property
    def slots(self) -> Amounts:
        """Pods that still fit by their number."""
        if self._before is not None:
            return self._patch(self._before.slots, lambda r: _bounded(r.slots))
        return np.array([_bounded(room.slots) for room in self.rooms], dtype=np.int64)

    @cached_property
    def is_cordoned(self) -> Flags:
        """Nodes that are cordoned."""
        if self._before is not None:
            return self._patch(self._before.is_cordoned, lambda r: r.node.is_cordoned)
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

        def code(room: NodeRoom) -> int:
            return places.setdefault(room.node.taints, len(places))

        if self._before is not None:
            known, values = self._before._taints  # noqa: SLF001  # of the same class
            places |= {value: n for n, value in enumerate(values)}
            return self._patch(known, code), list(places)
        codes = [code(room) for room in self.rooms]
        return np.array(codes, dtype=np.int32), list(places)

    def by_taints(self, of: Callable[[tuple[Taint, ...]], int]) -> NDArray[np.int32]:
        """A number by node that follows from its taints; equal ones are tested once."""
        codes, values = self._taints
        return np.array([of(taints) for taints in values], dtype=np.int32)[codes]

    def label(self, key: str) -> LabelColumn:
        """The values of a label, or of the field `metadata.name`."""
        if key not in self._labels and self._before is None:
            self._labels[key] = column_of(
                [room.node.labels.get(key) for room in self.rooms]
            )
        elif key not in self._labels and self._before is not None:
            known = self._before.label(key)
            values = list(known.values)
            self._labels[key] = LabelColumn(
                self._patch(
                    known.codes, lambda r: _code(values, r.node.labels.get(key))
                ),
                values,
            )
        return self._labels[key]

    def domains(self, keys: frozenset[str]) -> list[dict[str, str]]:
        """The values of some labels that nodes have together, each once."""
        if keys not in self._domains:
            labels = [room.node.labels for room in self.rooms]
            names = sorted(keys)
            found = (
                tuple(own[n] for n in names) for own in labels if own.keys() >= keys
            )
            self._domains[keys] = [
                dict(zip(names, one, strict=True)) for one in dict.fromkeys(found)
            ]
        return self._domains[keys]

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


def _code(values: list[str], value: str | None) -> int:
    """The place of a value, which is added if it is new."""
    if value is None:
        return -1
    if value not in values:
        values.append(value)
    return values.index(value)


def _bounded(amount: int) -> int:
    return max(-LARGEST, min(LARGEST, amount))
