"""The output of a node's exporter: rows of labels and values, for live text and history.

Both use the same rows, so that they show the same machine. Power and energy are those of the whole
GPU in every row of it, as dcgm-exporter repeats them.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from portal.demo.metrics.labels import gpu_labels
from portal.demo.scenario.activity import (
    STRAY_UTILIZATION,
    Values,
    energy_joules,
    intensity,
    memory_mib,
    power_watts,
    utilization,
)
from portal.demo.scenario.engine import Engine
from portal.demo.scenario.fleet import NodeObject
from portal.demo.scenario.habits import Times
from portal.demo.scenario.hardware import Flavour
from portal.demo.scenario.pod import Seat, SimulatedPod

MEBIBYTE = 1 << 20
_RATIO = [f"{i / 1000:.3f}" for i in range(1001)]
Index = NDArray[np.intp]  # positions in an array of times


@dataclass(frozen=True, slots=True)
class Row:
    """The samples of all metrics with one set of labels.

    Attributes:
        at: which of the requested times have samples.
        values: at these times, as text, by metric name.
    """

    labels: Mapping[str, str]
    at: Index
    values: Mapping[str, list[str]]


def rows(
    engine: Engine, node: NodeObject, times_s: Times, *, is_whole: bool = True
) -> Iterator[Row]:
    """Rows of a node at ascending times, at which its exporter responds.

    Args:
        engine, node, times_s: of the rows.
        is_whole: with memory and power, which the ledger does not need.
    """
    by_slot: dict[int, list[Seat]] = defaultdict(list)
    for seat in engine.seats[node.name]:
        by_slot[seat.unit.slot].append(seat)
    for seats in by_slot.values():
        yield from _Gpu(engine, node, seats, times_s, is_whole=is_whole).rows()


@dataclass(frozen=True, slots=True)
class _Piece:
    """A range of times with one holder, or without one."""

    pod: SimulatedPod | None
    at: Index


class _Gpu:
    """One slot of a node at several times."""

    def __init__(
        self,
        engine: Engine,
        node: NodeObject,
        seats: list[Seat],
        times_s: Times,
        *,
        is_whole: bool,
    ) -> None:
        self.is_whole = is_whole
        self.engine, self.node, self.seats, self.times = engine, node, seats, times_s
        self.slot = seats[0].unit.slot
        self.pieces = [list(_pieces(seat, times_s)) for seat in seats]
        self.busy = [self._busy(*pair) for pair in zip(seats, self.pieces, strict=True)]
        shares = [seat.unit.share for seat in seats]
        parts = zip(self.busy, shares, strict=True)
        self.device: Values = np.minimum(1.0, sum((b * s for b, s in parts), start=0.0))

    def rows(self) -> Iterator[Row]:
        """Rows of the GPU, part by part."""
        if self.node.shape.replicas > 1:
            yield from self._shared()
            return
        for number, seat in enumerate(self.seats):
            for piece in self.pieces[number]:
                yield from self._row(seat, piece, self.busy[number])

    def _shared(self) -> Iterator[Row]:
        """A row for each holder, all with the GPU's values; one row if there is no holder."""
        is_held = np.zeros(len(self.times), bool)
        for number, seat in enumerate(self.seats):
            for piece in self.pieces[number]:
                if piece.pod is not None:
                    is_held[piece.at] = True
                    yield from self._row(seat, piece, self.device)
        nobody = _Piece(None, np.flatnonzero(~is_held))
        yield from self._row(self.seats[0], nobody, self.device)

    def _busy(self, seat: Seat, pieces: Iterable[_Piece]) -> Values:
        busy = np.zeros(len(self.times))
        for piece in pieces:
            if piece.pod is not None:
                at = self.times[piece.at]
                busy[piece.at] = utilization(
                    self.engine.story, piece.pod, seat.index, at
                )
                continue
            for slot, span in self.node.strays:
                if slot == self.slot:
                    times = self.times[piece.at]
                    inside = (times >= span.start_s) & (times < span.end_s)
                    busy[piece.at[inside]] = STRAY_UTILIZATION
        return busy

    def _row(self, seat: Seat, piece: _Piece, busy: Values) -> Iterator[Row]:
        swaps = [at for at, slot, _ in self.node.swaps if slot == self.slot]
        edges = np.searchsorted(self.times, swaps)
        for at in np.split(piece.at, np.searchsorted(piece.at, edges)):
            if len(at):
                uuid = self.node.uuid(self.slot, int(self.times[at[0]]))
                labels = gpu_labels(self.node, seat.unit, uuid, piece.pod)
                yield Row(labels, at, self._values(seat, piece.pod, at, busy[at]))

    def _values(
        self, seat: Seat, pod: SimulatedPod | None, at: Index, busy: Values
    ) -> dict[str, list[str]]:
        flavour, model = self.node.pool.flavour, self.node.pool.model
        times = self.times[at]
        found = {flavour.utilization: utilization_texts(flavour, busy)}
        if self.is_whole:
            memory = memory_mib(pod, model, times) * seat.unit.share
            watts = power_watts(model, self.device[at])
            found[flavour.memory] = _memory_texts(flavour, memory)
            found[flavour.power] = [str(v) for v in np.round(watts, 1).tolist()]
        if flavour.energy:
            joules = energy_joules(model, self.node.joined_s, self.seats, times)
            scaled = np.rint(joules * flavour.energy_scale).astype(np.int64)
            found[flavour.energy] = [str(value) for value in scaled.tolist()]
        for name, what in flavour.intensities:
            found[name] = _ratio_texts(intensity(what, pod, busy))
        return found


def _pieces(seat: Seat, times_s: Times) -> Iterator[_Piece]:
    """The holder of a unit at which times, including times without one."""
    found: list[tuple[SimulatedPod, int, int]] = []
    for pod in reversed(seat.pods):
        if pod.ended_s is not None and pod.ended_s <= times_s[0]:
            break
        low = int(np.searchsorted(times_s, pod.bound_s or 0))
        end = len(times_s)
        high = (
            end if pod.ended_s is None else int(np.searchsorted(times_s, pod.ended_s))
        )
        found.append((pod, low, high))
    at = 0
    for pod, low, high in reversed(found):
        if at < low:
            yield _Piece(None, np.arange(at, low))
        if low < high:
            yield _Piece(pod, np.arange(low, high))
        at = max(at, high)
    if at < len(times_s):
        yield _Piece(None, np.arange(at, len(times_s)))


def _ratio_texts(values: Values) -> list[str]:
    return [_RATIO[i] for i in np.rint(values * 1000).astype(int).tolist()]


def utilization_texts(flavour: Flavour, busy: Values) -> list[str]:
    """Utilization values as an exporter of this flavor writes them."""
    if flavour.is_percent:
        return [str(i) for i in np.rint(busy * 100).astype(int).tolist()]
    return _ratio_texts(busy)


def _memory_texts(flavour: Flavour, mebibytes: NDArray[np.floating]) -> list[str]:
    scale = 1 if flavour.is_mebibytes else MEBIBYTE
    whole = np.floor(mebibytes).astype(np.int64) * scale
    return [str(value) for value in whole.tolist()]
