"""When waiting units will start: holds end one by one, and what waits is placed (S19).

Only the ends of holds that exist now are played; what is placed stays to the end of the play.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import heapify, heappop, heappush
from itertools import groupby

from scheduler_view.queues.rules.accuracy import EstimatedStart
from scheduler_view.queues.rules.queued import QueuedUnit, Subject
from scheduler_view.queues.rules.remaining import (
    HIGH,
    LOW,
    MEDIAN,
    Group,
    HoldDurations,
)
from scheduler_view.queues.rules.shortages import QuotaShortage
from scheduler_view.waits.rules.cause import WaitCause
from scheduler_view.waits.rules.placement.node_room import NodeRoom
from scheduler_view.waits.rules.placement.packing import Amounts, Packing, Shape

ESTIMATED = frozenset(
    {
        *(WaitCause.NO_FREE_GPU, WaitCause.FRAGMENTED, WaitCause.PREEMPTING),
        *(WaitCause.QUEUE, WaitCause.QUOTA),
    }
)
"""Causes that the end of holds removes; others last until a person changes something."""
ENDS_BY_ITSELF = ESTIMATED | {WaitCause.RETRY_PENDING, WaitCause.STARTING}
MOST_ENDS = 20_000  # of one play; what has not started then has no estimate


@dataclass(frozen=True, slots=True)
class RunningHold:
    """A pod that holds GPUs.

    Attributes:
        requests: thousandths by resource.
        groups: of holds like it, best first.
        is_ending: it ends now, whatever others lasted.
    """

    uid: str
    node: str
    requests: Amounts
    bound_ms: int
    groups: tuple[Group, ...]
    is_ending: bool = False

    def end_ms(
        self, durations: HoldDurations, now_ms: int, quantile: Fraction
    ) -> int | None:
        """When it will probably end; None if that is not known."""
        if self.is_ending:
            return now_ms
        age = max(0, now_ms - self.bound_ms)
        left = durations.remaining(self.groups, age, quantile)
        return None if left is None else now_ms + left


def estimate_starts(
    rooms: Mapping[str, NodeRoom],
    units: Sequence[QueuedUnit],
    holds: Sequence[RunningHold],
    durations: HoldDurations,
    now_ms: int,
    shortages: Mapping[Subject, QuotaShortage] | None = None,
) -> dict[Subject, EstimatedStart]:
    """Estimated starts of units whose cause the end of holds removes.

    The estimate is the play with the median of what holds have left; the range has the plays
    with its tenth and its ninetieth percentile.

    What a queue holds back although it would fit now has none: its quota is not free GPUs.

    Args:
        units: in the order of S17.
        shortages: of units that a quota refuses.
    """
    waits = [one for one in units if _takes_part(one)]
    if not waits:
        return {}

    def starts(quantile: Fraction) -> dict[Subject, int]:
        ends = {
            hold.uid: end
            for hold in holds
            if (end := hold.end_ms(durations, now_ms, quantile)) is not None
        }
        play = _Play(rooms, waits, now_ms)
        opens = {
            subject: one.opens_ms(ends) for subject, one in (shortages or {}).items()
        }
        return play.run(opens, [(ends[h.uid], h) for h in holds if h.uid in ends])

    middle, low, high = starts(MEDIAN), starts(LOW), starts(HIGH)
    return {
        one.subject: EstimatedStart(
            at,
            min(at, low.get(one.subject, at)),
            max(at, high[one.subject]) if one.subject in high else None,
        )
        for one in waits
        if one.cause in ESTIMATED and (at := middle.get(one.subject)) is not None
        if one.cause is not WaitCause.QUEUE or at > now_ms
    }


def _takes_part(one: QueuedUnit) -> bool:
    return bool(one.pods) and (
        one.cause in ESTIMATED or one.cause is WaitCause.RETRY_PENDING
    )


@dataclass(frozen=True, slots=True)
class _Entry:
    """Pods that are placed together: a gang, or one pod of a unit."""

    subject: Subject
    pods: tuple[tuple[Shape, int], ...]

    @property
    def likeness(self) -> tuple[tuple[int, int], ...]:
        """Entries that are alike fit or fail together."""
        return tuple((id(shape), count) for shape, count in self.pods)


_Line = list[tuple[tuple[int, int, str], int, _Entry]]


class _Play:
    """One course of events; of entries that are alike only the first is tried."""

    def __init__(
        self, rooms: Mapping[str, NodeRoom], units: Sequence[QueuedUnit], now_ms: int
    ) -> None:
        self._now_ms, self._units = now_ms, units
        self._packing = Packing(rooms)
        self._lines: dict[tuple[tuple[int, int], ...], _Line] = {}
        self._count = 0
        self._starts: dict[Subject, int] = {}

    def run(
        self,
        opens: Mapping[Subject, int | None],
        ends: Iterable[tuple[int, RunningHold]],
    ) -> dict[Subject, int]:
        """Starts by subject; units that never have place are left out."""
        later: dict[int, list[QueuedUnit]] = {}
        for unit in self._units:
            at = opens.get(unit.subject, self._now_ms)
            if at is not None and at <= self._now_ms:
                self._join(unit)
            elif at is not None:
                later.setdefault(at, []).append(unit)
        self._settle(self._now_ms, list(self._lines))
        events = [(at, hold.uid, hold) for at, hold in ends]
        heapify(events)
        first = [heappop(events) for _ in range(min(MOST_ENDS, len(events)))]
        instants = {at: list(group) for at, group in groupby(first, lambda e: e[0])}
        for at in sorted({*instants, *later}):
            nodes = set()
            for _, _, hold in instants.get(at, ()):
                self._packing.end(hold.requests, hold.node)
                nodes.add(hold.node)
            joined = {key for unit in later.pop(at, ()) for key in self._join(unit)}
            self._settle(at, [*joined, *self._touched(nodes, joined)])
            if not self._lines and not later:
                break
        return self._starts

    def _join(self, unit: QueuedUnit) -> list[tuple[tuple[int, int], ...]]:
        """A gang is one entry; of other units each pod is one."""
        parts = (
            [unit.pods]
            if unit.is_gang
            else [((shape, 1),) for shape, count in unit.pods for _ in range(count)]
        )
        keys = []
        for pods in parts:
            entry = _Entry(unit.subject, pods)
            self._count += 1
            line = self._lines.setdefault(entry.likeness, [])
            heappush(line, (unit.order, self._count, entry))
            keys.append(entry.likeness)
        return keys

    def _touched(
        self, nodes: Iterable[str], but: set[tuple[tuple[int, int], ...]]
    ) -> list[tuple[tuple[int, int], ...]]:
        """Lines whose first entry could use what became free on these nodes."""
        return [
            key
            for key, line in self._lines.items()
            if key not in but
            and any(
                self._packing.fits(shape, node)
                for shape, _ in line[0][2].pods
                for node in nodes
            )
        ]

    def _settle(self, at_ms: int, keys: list[tuple[tuple[int, int], ...]]) -> None:
        """Place what has place, in order; a line whose first entry has none is left."""
        heads = [(self._lines[key][0][:2], key) for key in keys]
        heapify(heads)
        while heads:
            _, key = heappop(heads)
            line = self._lines[key]
            entry = line[0][2]
            if self._packing.place_all(entry.pods) is None:
                continue
            heappop(line)
            self._starts.setdefault(entry.subject, at_ms)
            if line:
                heappush(heads, (line[0][:2], key))
            else:
                del self._lines[key]
