"""Time that no finding has taken yet: each millisecond can be taken once."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from accounting.prices.rules.charge import raw_of
from scheduler_view.savings.rules.finding import Finding, Slice, SliceKey, WasteRule
from scheduler_view.savings.rules.held_time import HeldRun, HeldTime
from scheduler_view.waits.rules.activity import Activity


@dataclass(frozen=True, slots=True)
class Claim:
    """A range of a hold that a rule found.

    Attributes:
        start_ms, end_ms: milliseconds since 1970.
        takes_busy: take observed time, busy and idle; else only idle time. Never unknown time.
        parts: only these GPUs and instances; None for all.
        activities: only windows in which the hold was like this; None for all.
    """

    rule: WasteRule
    start_ms: int
    end_ms: int
    takes_busy: bool = False
    parts: Collection[str] | None = None
    activities: Collection[Activity] | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)


class Pieces:
    """What is left of a hold's time.

    A run that a claim cuts is divided in proportion to time, rounded down on the left, so that
    the parts add up.
    """

    def __init__(self, hold: HeldTime) -> None:
        self._pod = hold.pod
        self._left = _held_runs(hold)

    def take(self, claim: Claim) -> Finding | None:
        """The finding of a claim; None if nothing is left of its time."""
        slices: dict[SliceKey, Slice] = {}
        start_ms, end_ms = claim.end_ms, claim.start_ms
        left: list[HeldRun] = []
        for run in self._left:
            if not _meets(run, claim):
                left.append(run)
                continue
            before, inside, after = _cut(run, claim.start_ms, claim.end_ms)
            left.extend(one for one in (before, after) if one is not None)
            amount = inside.idle_ms + (inside.busy_ms if claim.takes_busy else 0)
            if amount:
                _add(slices, inside, amount)
                start_ms = min(start_ms, inside.start_ms)
                end_ms = max(end_ms, inside.end_ms)
            busy_ms = 0 if claim.takes_busy else inside.busy_ms
            left.append(replace(inside, idle_ms=0, busy_ms=busy_ms))
        self._left = left
        if not slices:
            return None
        evidence = dict(claim.evidence)
        elsewhere_ms = evidence.get("idle_ms", 0) - (end_ms - start_ms)
        if elsewhere_ms > 0:  # findings before this one took it
            evidence["elsewhere_ms"] = elsewhere_ms
        return Finding(claim.rule, self._pod, start_ms, end_ms, slices, evidence)


def taken(hold: HeldTime, claims: Iterable[Claim]) -> list[Finding]:
    """The findings of claims, which take time in this order."""
    pieces = Pieces(hold)
    return [found for claim in claims if (found := pieces.take(claim)) is not None]


def _held_runs(hold: HeldTime) -> list[HeldRun]:
    """Runs without what is before the bind and after the end.

    The first and the last window are held in part only: all of their time is there.
    """
    last = max((run.end_ms for run in hold.runs), default=hold.bound_ms)
    end = last if hold.ended_ms is None else hold.ended_ms
    return [
        replace(run, start_ms=start, end_ms=stop)
        for run in hold.runs
        if (start := max(run.start_ms, hold.bound_ms)) < (stop := min(run.end_ms, end))
    ]


def within(hold: HeldTime, start_ms: int, end_ms: int) -> Iterator[HeldRun]:
    """The parts of a hold's runs in a range, also those that findings took."""
    for run in _held_runs(hold):
        if run.start_ms < end_ms and start_ms < run.end_ms:
            yield _cut(run, start_ms, end_ms)[1]


def outside(hold: HeldTime, ranges: Iterable[tuple[int, int]]) -> Iterator[HeldRun]:
    """The parts of a hold's runs that are in none of some ranges.

    Args:
        ranges: start and end of each, in order of time.
    """
    at = hold.bound_ms
    for start, end in ranges:
        yield from within(hold, at, start)
        at = max(at, end)
    yield from within(hold, at, max((run.end_ms for run in hold.runs), default=at))


def _meets(run: HeldRun, claim: Claim) -> bool:
    return (
        run.start_ms < claim.end_ms
        and claim.start_ms < run.end_ms
        and (claim.parts is None or run.part in claim.parts)
        and (claim.activities is None or run.of_hold in claim.activities)
    )


def _cut(
    run: HeldRun, start_ms: int, end_ms: int
) -> tuple[HeldRun | None, HeldRun, HeldRun | None]:
    """A run before, in and after a range that it meets."""
    before = after = None
    if run.start_ms < start_ms:
        before, run = _divided(run, start_ms)
    if end_ms < run.end_ms:
        run, after = _divided(run, end_ms)
    return before, run, after


def _divided(run: HeldRun, at_ms: int) -> tuple[HeldRun, HeldRun]:
    length, part = run.end_ms - run.start_ms, at_ms - run.start_ms
    busy, idle, unknown = (
        amount * part // length for amount in (run.busy_ms, run.idle_ms, run.unknown_ms)
    )
    left = replace(run, end_ms=at_ms, busy_ms=busy, idle_ms=idle, unknown_ms=unknown)
    right = replace(
        run,
        start_ms=at_ms,
        busy_ms=run.busy_ms - busy,
        idle_ms=run.idle_ms - idle,
        unknown_ms=run.unknown_ms - unknown,
    )
    return left, right


def _add(slices: dict[SliceKey, Slice], run: HeldRun, amount: int) -> None:
    one = slices.setdefault(SliceKey(run.day, run.team, run.currency), Slice())
    one.gpu_ms += amount
    one.of_ledger(run.idle_ms, run.rate)
    if run.rate is None:
        one.unpriced_ms += amount
    else:
        one.raw += raw_of(amount, run.rate)
