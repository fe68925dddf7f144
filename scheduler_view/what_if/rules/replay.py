"""Replays recorded work in time: who gets GPUs when, on these nodes and by this policy (S36)."""

import heapq
from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from scheduler_view.what_if.rules.cluster import ReplayCluster
from scheduler_view.what_if.rules.fragments import popular_classes
from scheduler_view.what_if.rules.placer import Placed, Placer
from scheduler_view.what_if.rules.policies.catalogue import policy_of
from scheduler_view.what_if.rules.recorded import (
    RecordedPod,
    RecordedUnit,
    RecordedWeeks,
)

_OPENS, _CLOSES, _ENDS, _ARRIVES, _BOUND = range(
    5
)  # at the same instant, in this order
SOON_MS = 60_000  # so long before its recorded bind, work takes its own node only
_EVERY = 500  # events between two reports of progress


@dataclass(frozen=True, slots=True)
class ReplayedUnit:
    """When a unit got its GPUs in the replay; None if it did not before the end."""

    unit: RecordedUnit
    bound_ms: int | None


_Happens = tuple[int, int, int]  # instant, kind, and number of a node, hold or unit


def replay(
    weeks: RecordedWeeks,
    policy: str,
    seed: int = 0,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
    *,
    keeps_nodes: bool = False,
) -> list[ReplayedUnit]:
    """Let all recorded work arrive again, in the order of `weeks.units`.

    Work that held GPUs before the start has them where it had them, if that node is still there and
    has room; else it arrives at the start. Other work arrives when it was created, or when nothing
    but GPUs held it back any more, and takes as long as it took. Waiting work is tried in order of
    priority, then of creation, after every change; a gang is bound as one, and work that fits may
    pass work that does not. Nothing is preempted.

    Args:
        weeks: what was recorded, or would have been in a scenario.
        policy: a name of `policies.catalogue.POLICIES`.
        seed: of Random.
        on_progress: called now and then with events done and to do.
        keeps_nodes: pods go to the node where they were if they fit there; else, as without it,
            to that of the policy, but not in the minute before the recorded bind: seconds between
            an end and a bind decide who gets which GPUs, and that decides others for days.
    """
    return _Replay(weeks, policy, seed, keeps_nodes=keeps_nodes).run(on_progress)


class _Replay:
    def __init__(
        self, weeks: RecordedWeeks, policy: str, seed: int, *, keeps_nodes: bool
    ) -> None:
        self.weeks = weeks
        self.keeps_nodes = keeps_nodes
        self.cluster = ReplayCluster(one.node for one in weeks.nodes)
        classes = popular_classes(pod.request for u in weeks.units for pod in u.pods)
        made = policy_of(policy, self.cluster, seed, classes)
        self.placer = Placer(self.cluster, made)
        self.numbers = {node.name: at for at, node in enumerate(self.cluster.nodes)}
        self.bound: dict[int, int] = {}
        self.held: Counter[str] = Counter()
        self.running: dict[int, tuple[str, RecordedPod, Placed]] = {}
        self.waiting: list[tuple[int, int, int]] = []  # -priority, created, number
        self.holds = 0

    def run(self, on_progress: Callable[[int, int], None]) -> list[ReplayedUnit]:
        weeks = self.weeks
        self.events: list[_Happens] = list(self._nodes())
        self._open_now()
        arrivals = self._start()
        for number in arrivals:
            unit = weeks.units[number]
            at_ms = max(weeks.start_ms, unit.created_ms, unit.held_until_ms)
            self.events.append((at_ms, _ARRIVES, number))
            if self.keeps_nodes and unit.bound_ms > at_ms:
                self.events.append((unit.bound_ms, _BOUND, number))
        heapq.heapify(self.events)
        done = 0
        while self.events and self.events[0][0] < weeks.end_ms:
            now = self.events[0][0]
            is_freed, fresh, again = False, [], []
            while self.events and self.events[0][0] == now:
                _, kind, number = heapq.heappop(self.events)
                done += 1
                if not done % _EVERY:
                    on_progress(done, done + len(self.events))
                if kind == _ARRIVES:
                    fresh.append(number)
                elif kind == _BOUND:
                    again.append(number)
                else:
                    is_freed = True
                    self._change(kind, number)
            self._try(now, fresh, again, tries_all=is_freed)
        return [
            ReplayedUnit(unit, self.bound.get(number))
            for number, unit in enumerate(weeks.units)
        ]

    def _nodes(self) -> Iterator[_Happens]:
        """All nodes begin closed; one that is there at the start opens then."""
        start = self.weeks.start_ms
        for one in self.weeks.nodes:
            number = self.numbers[one.node.name]
            self.cluster.set_open(number, is_open=False)
            for begin, end in one.open_ranges:
                if end is None or end > start:
                    yield max(begin, start), _OPENS, number
                    if end is not None:
                        yield end, _CLOSES, number

    def _open_now(self) -> None:
        start = self.weeks.start_ms
        for at_ms, kind, number in self.events:
            if at_ms == start and kind == _OPENS:
                self.cluster.set_open(number, is_open=True)

    def _start(self) -> list[int]:
        """Give work of before the start its GPUs; the numbers of all work that arrives."""
        arrivals = []
        for number, unit in enumerate(self.weeks.units):
            if unit.bound_ms >= self.weeks.start_ms:
                arrivals.append(number)
                continue
            taken: list[Placed] = []
            for pod in unit.pods:
                node = self.numbers.get(pod.node)
                placed = None
                if node is not None:
                    placed = self.placer.place_on(pod.request, node)
                if placed is None:
                    break
                taken.append(placed)
            if len(taken) < len(unit.pods):
                self._undo(unit, taken)
                arrivals.append(number)
                continue
            self._hold(number, unit, taken, bound_ms=None)
        return arrivals

    def _change(self, kind: int, number: int) -> None:
        """A node opens or closes, or a hold ends."""
        if kind != _ENDS:
            self.cluster.set_open(number, is_open=kind == _OPENS)
            return
        team, pod, placed = self.running.pop(number)
        self.placer.end(pod.request, placed)
        self.held[team] -= pod.milli

    def _try(
        self,
        now: int,
        fresh: Sequence[int],
        again: Sequence[int],
        *,
        tries_all: bool,
    ) -> None:
        """Bind what can be bound now. Without anything freed, only new work can be."""
        keys = [self._key(number) for number in fresh]
        for key in keys:
            insort(self.waiting, key)
        keys += (key for key in map(self._key, again) if key in self.waiting)
        failed: set[tuple[object, ...]] = set()
        bound = set()
        for key in list(self.waiting) if tries_all else sorted(keys):
            unit = self.weeks.units[key[2]]
            requests: tuple[object, ...] = tuple(pod.request for pod in unit.pods)
            if self._is_soon(unit, now):
                requests = (*requests, *(pod.node for pod in unit.pods))
            if requests in failed or not self._has_quota(unit, self.weeks.quotas):
                continue
            if self._bind(key[2], unit, now):
                bound.add(key)
            else:
                failed.add(requests)
        if bound:
            self.waiting = [key for key in self.waiting if key not in bound]

    def _has_quota(self, unit: RecordedUnit, quotas: Mapping[str, int]) -> bool:
        limit = quotas.get(unit.team)
        return limit is None or self.held[unit.team] + unit.milli <= limit

    def _bind(self, number: int, unit: RecordedUnit, now: int) -> bool:
        taken: list[Placed] = []
        for pod in unit.pods:
            placed = self._place(pod, is_soon=self._is_soon(unit, now))
            if placed is None:
                self._undo(unit, taken)
                return False
            taken.append(placed)
        self._hold(number, unit, taken, bound_ms=now)
        return True

    def _key(self, number: int) -> tuple[int, int, int]:
        unit = self.weeks.units[number]
        return -unit.priority, unit.created_ms, number

    def _is_soon(self, unit: RecordedUnit, now: int) -> bool:
        """Whether it is bound in a minute, so that its own node is about to be free."""
        return self.keeps_nodes and 0 < unit.bound_ms - now <= SOON_MS

    def _place(self, pod: RecordedPod, *, is_soon: bool) -> Placed | None:
        node = self.numbers.get(pod.node) if self.keeps_nodes else None
        if node is not None:
            placed = self.placer.place_on(pod.request, node)
            if placed is not None or is_soon:
                return placed
        return self.placer.place(pod.request)

    def _undo(self, unit: RecordedUnit, taken: Sequence[Placed]) -> None:
        for pod, placed in zip(unit.pods, taken, strict=False):
            self.placer.end(pod.request, placed)

    def _hold(
        self,
        number: int,
        unit: RecordedUnit,
        taken: Sequence[Placed],
        bound_ms: int | None,
    ) -> None:
        """`bound_ms` None: since before the start, when each pod was bound in fact."""
        self.bound[number] = unit.bound_ms if bound_ms is None else bound_ms
        for pod, placed in zip(unit.pods, taken, strict=True):
            self.held[unit.team] += pod.milli
            if pod.length_ms is None:
                continue
            self.holds += 1
            self.running[self.holds] = unit.team, pod, placed
            begin = pod.bound_ms if bound_ms is None else bound_ms
            event = (begin + pod.length_ms, _ENDS, self.holds)
            if bound_ms is None:
                self.events.append(event)  # before they become a heap
            else:
                heapq.heappush(self.events, event)
