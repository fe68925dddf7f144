"""Work that something other than GPUs held back: quotas, gates, selectors, gangs (S36).

What was recorded is followed on the nodes where it was. Work that waited although there was room
for it waited for something that is not recorded; a replay holds it back as long.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple

from scheduler_view.what_if.rules.cluster import ReplayCluster
from scheduler_view.what_if.rules.placer import Placed, Placer
from scheduler_view.what_if.rules.policies.best_fit import BestFit
from scheduler_view.what_if.rules.recorded import RecordedPod, RecordedWeeks
from scheduler_view.what_if.rules.request import ReplayRequest

LATENCY_MS = 60_000  # room for a shorter time: the scheduler had not looked yet
_ENDS, _CLOSES, _OPENS, _BINDS, _ARRIVES = range(
    5
)  # at the same instant, in this order
_EVERY = 500  # events between two reports of progress


class _Happens(NamedTuple):
    """Something that was recorded: of a node, or of a pod of a unit, by their numbers."""

    at_ms: int
    kind: int
    number: int
    pod: int = 0


@dataclass(slots=True)
class _Waiting:
    """The pods of a unit that are not bound, and since when there is room for all of them."""

    left: list[RecordedPod]
    room_since: int | None = None


def held_back(
    weeks: RecordedWeeks,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> RecordedWeeks:
    """The same weeks, each unit with the instant until which it was held back.

    That is the end of the last time, longer than a minute, in which there was room for the pods of
    the unit that were not bound yet.

    Args:
        on_progress: called now and then with events done and all events.
    """
    until = _Followed(weeks).until(on_progress)
    units = tuple(
        replace(unit, held_until_ms=until.get(number, 0))
        for number, unit in enumerate(weeks.units)
    )
    return replace(weeks, units=units)


class _Followed:
    """What was recorded, instant by instant."""

    def __init__(self, weeks: RecordedWeeks) -> None:
        self.weeks = weeks
        self.cluster = ReplayCluster(one.node for one in weeks.nodes)
        self.placer = Placer(self.cluster, BestFit())
        self.numbers = {node.name: at for at, node in enumerate(self.cluster.nodes)}
        self.waiting: dict[int, _Waiting] = {}
        self.placed: dict[tuple[int, int], Placed] = {}
        self.found: dict[int, int] = {}

    def until(self, on_progress: Callable[[int, int], None]) -> dict[int, int]:
        """Until when units were held back, by number; those that were not have none."""
        for node in range(len(self.cluster.nodes)):
            self.cluster.set_open(node, is_open=False)
        events = sorted(one for one in self._events() if one.at_ms < self.weeks.end_ms)
        done = 0
        for at_ms, at_once in groupby(events, key=lambda one: one.at_ms):
            for one in at_once:
                self._happens(one)
                done += 1
                if not done % _EVERY:
                    on_progress(done, len(events))
            self._look(at_ms)
        return self.found

    def _events(self) -> Iterator[_Happens]:
        for one in self.weeks.nodes:
            number = self.numbers[one.node.name]
            for begin, end in one.open_ranges:
                yield _Happens(begin, _OPENS, number)
                if end is not None:
                    yield _Happens(end, _CLOSES, number)
        for number, unit in enumerate(self.weeks.units):
            if unit.bound_ms > unit.created_ms:
                yield _Happens(unit.created_ms, _ARRIVES, number)
            for at, pod in enumerate(unit.pods):
                yield _Happens(pod.bound_ms, _BINDS, number, at)
                if pod.ended_ms is not None:
                    yield _Happens(pod.ended_ms, _ENDS, number, at)

    def _happens(self, one: _Happens) -> None:
        if one.kind in (_OPENS, _CLOSES):
            self.cluster.set_open(one.number, is_open=one.kind == _OPENS)
        elif one.kind == _ARRIVES:
            unit = self.weeks.units[one.number]
            left = [pod for pod in unit.pods if pod.bound_ms > one.at_ms]
            self.waiting[one.number] = _Waiting(left)
        elif one.kind == _BINDS:
            self._bind(one)
        elif (placed := self.placed.pop((one.number, one.pod), None)) is not None:
            pod = self.weeks.units[one.number].pods[one.pod]
            self.placer.end(pod.request, placed)

    def _bind(self, one: _Happens) -> None:
        pod = self.weeks.units[one.number].pods[one.pod]
        waiting = self.waiting.get(one.number)
        if waiting is not None:
            waiting.left.remove(pod)
            if not waiting.left:
                self._note(one.at_ms, one.number, waiting)
                del self.waiting[one.number]
        node = self.numbers.get(pod.node)
        if node is None:
            return
        was_open = bool(self.cluster.is_open[node])
        self.cluster.set_open(
            node, is_open=True
        )  # it was bound there, whatever samples show
        placed = self.placer.place_on(pod.request, node)
        self.cluster.set_open(node, is_open=was_open)
        if placed is not None:
            self.placed[one.number, one.pod] = placed

    def _look(self, at_ms: int) -> None:
        """Which units there is room for from now on."""
        known: dict[tuple[ReplayRequest, ...], bool] = {}
        for number, one in self.waiting.items():
            requests = tuple(pod.request for pod in one.left)
            if requests not in known:
                known[requests] = self._has_room(requests)
            if not known[requests]:
                self._note(at_ms + 1, number, one)  # after what took the room
                one.room_since = None
            elif one.room_since is None:
                one.room_since = at_ms

    def _note(self, at_ms: int, number: int, one: _Waiting) -> None:
        """The room for a unit is gone, or the unit is bound."""
        if one.room_since is not None and at_ms - one.room_since > LATENCY_MS:
            self.found[number] = at_ms

    def _has_room(self, requests: tuple[ReplayRequest, ...]) -> bool:
        taken: list[Placed] = []
        for request in requests:
            placed = self.placer.place(request)
            if placed is None:
                break
            taken.append(placed)
        for request, placed in zip(requests, taken, strict=False):
            self.placer.end(request, placed)
        return len(taken) == len(requests)
