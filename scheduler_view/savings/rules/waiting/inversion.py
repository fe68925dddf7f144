"""Work that waited although pods of lower priority held enough for it (scheduling.md S21)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from scheduler_view.savings.rules.amounts import FindingSum
from scheduler_view.savings.rules.finding import Finding, SliceKey, WasteRule
from scheduler_view.savings.rules.held_time import HeldTime
from scheduler_view.savings.rules.pieces import within

OBSERVED_AFTER_MS = (
    660_000  # a wait that is observed so soon was inverted from its begin
)


@dataclass(frozen=True, slots=True)
class InvertedStretch:
    """A part of a wait in which the same pods of lower priority held enough.

    Attributes:
        units: that it waited for.
        lower_units: that these pods held together.
        lower_since_ms: when the last of them was bound.
        pods: their numbers.
        is_first: nothing of the wait was observed before it.
    """

    start_ms: int
    end_ms: int
    priority: int
    units: int
    lower_units: int
    lower_since_ms: int
    pods: tuple[int, ...]
    is_first: bool = True

    @property
    def taken(self) -> int:
        """Units that it would have taken of these pods."""
        return min(self.units, self.lower_units)


def inversions(
    unit: int,
    team: int,
    since_ms: int | None,
    stretches: Sequence[InvertedStretch],
    holds: Mapping[int, HeldTime],
) -> list[Finding]:
    """One finding for each range without a gap.

    Counted is the observed time of the pods that held, from the later of the wait and their
    bind, times the part of their units that the waiting unit would have taken. It is of the team
    that waited.

    Args:
        unit: its number.
        since_ms: since when it waited; None if unknown.
        stretches: in order of time.
        holds: of the pods, by number; those that are missing count nothing.
    """
    found = (
        _finding(unit, team, group, holds) for group in _groups(since_ms, stretches)
    )
    return [one for one in found if one is not None]


def _groups(
    since_ms: int | None, stretches: Iterable[InvertedStretch]
) -> Iterator[list[InvertedStretch]]:
    """Stretches that touch, each from the bind of its pods on."""
    group: list[InvertedStretch] = []
    for one in stretches:
        start = one.start_ms
        is_early = since_ms is not None and 0 <= start - since_ms <= OBSERVED_AFTER_MS
        if since_ms is not None and is_early and one.is_first:
            start = since_ms
        start = max(start, one.lower_since_ms)
        if start >= one.end_ms:
            continue
        if group and group[-1].end_ms < start:
            yield group
            group = []
        group.append(replace(one, start_ms=start))
    if group:
        yield group


def _finding(
    unit: int,
    team: int,
    group: Sequence[InvertedStretch],
    holds: Mapping[int, HeldTime],
) -> Finding | None:
    amounts = FindingSum()
    for one in group:
        held: dict[tuple[int, str, Decimal | None], int] = {}
        for pod in one.pods:
            if pod not in holds:
                continue
            for run in within(holds[pod], one.start_ms, one.end_ms):
                key = run.day, run.currency, run.rate
                held[key] = held.get(key, 0) + run.times.observed_ms
        for (day, currency, rate), gpu_ms in held.items():
            amounts.add(
                SliceKey(day, team, currency),
                gpu_ms * one.taken // one.lower_units,
                rate,
                (one.start_ms, one.end_ms),
            )
    last = group[-1]
    evidence = {
        "waited_units": last.units,
        "lower_units": last.lower_units,
        "priority": last.priority,
    }
    return amounts.finding(WasteRule.INVERSION, unit, evidence)
