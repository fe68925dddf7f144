"""What would let a unit start; each remedy is tried before it is offered (scheduling.md S13).

What keeps the work is found one after another: for the first obstacle candidates are made and
tried. What is not enough alone is completed by candidates for what then remains, and tried again.
To add a cause: write a function that yields candidates, and name it in `CANDIDATES`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from scheduler_view.waits.rules.cause import PER_NODE, Stage, WaitCause
from scheduler_view.waits.rules.explanation import Partial, Remedy, remedy
from scheduler_view.waits.rules.remedies.at_the_door import (
    limit_remedies,
    quota_remedies,
)
from scheduler_view.waits.rules.remedies.before_nodes import SIMPLE, lost_remedies
from scheduler_view.waits.rules.remedies.case import WaitCase
from scheduler_view.waits.rules.remedies.ends import ended, joined
from scheduler_view.waits.rules.remedies.for_nodes import place_remedies
from scheduler_view.waits.rules.trial.obstacle import Obstacle
from scheduler_view.waits.rules.units import STILL_TRIES_MS

MOST_TRIED = 48  # candidates for the first obstacle
MOST_COMPLETED = 3  # of those that are not enough
MOST_ADDED = 12  # candidates that complete one
MOST_TOGETHER = 6
Candidates = Callable[[WaitCase, Sequence[Obstacle]], Iterator[Remedy]]


@dataclass(frozen=True)
class Remedies:
    """What was tried.

    Attributes:
        enough: each lets the work start; most direct first.
        partial: each removes something, and the rest remains.
    """

    enough: tuple[Remedy, ...] = ()
    partial: tuple[Partial, ...] = ()


def remedies_of(case: WaitCase) -> Remedies:
    """The remedies of a unit, each tried."""
    first = case.trial.first()
    if not first:
        is_late = case.finding.stage is Stage.REFUSED
        wait = remedy("wait", at_most_ms=STILL_TRIES_MS)
        return Remedies((wait,) if is_late else ())
    enough, failed = list[Remedy](), list[Remedy]()
    for one in islice(_candidates(case, first), MOST_TRIED):
        if one not in enough and one not in failed:
            (enough if case.trial.starts(one.changes) else failed).append(one)
    partial = []
    for one in failed if not first[0].is_of_nodes else ():
        left = case.trial.remains(one.changes)
        if _is_same(left, first):
            continue
        partial.append(Partial(one, tuple(o.as_value() for o in left)))
        for found in islice(_completed(case, one, left, 2), MOST_TOGETHER):
            if found not in enough:
                enough.append(found)
        if len(partial) == MOST_COMPLETED:
            break
    return Remedies(tuple(enough), tuple(partial))


def _candidates(case: WaitCase, left: Sequence[Obstacle]) -> Iterator[Remedy]:
    make = CANDIDATES.get(left[0].cause)
    if make is not None:
        yield from (one for one in make(case, left) if one.changes)


def _is_same(left: Sequence[Obstacle], before: Sequence[Obstacle]) -> bool:
    """Whether the first obstacle is still there."""
    return (left[0].cause, left[0].detail) == (before[0].cause, before[0].detail)


def _completed(
    case: WaitCase, base: Remedy, left: Sequence[Obstacle], depth: int
) -> Iterator[Remedy]:
    """What lets the work start together with a change that is not enough."""
    failed = None
    for one in islice(_candidates(case, left), MOST_ADDED):
        both = joined([base, one])
        if case.trial.starts(one.changes):
            yield one
        elif case.trial.starts(both.changes):
            yield both
        elif failed is None:
            failed = both
    if failed is not None and depth > 0:
        rest = case.trial.remains(failed.changes)
        if not _is_same(rest, left):
            yield from _completed(case, failed, rest, depth - 1)


def _named(case: WaitCase, found: Sequence[Obstacle]) -> Iterator[Remedy]:
    """The change that a cause names directly."""
    del found
    yield from SIMPLE[case.finding.cause](case.unit, case.finding)


def _volumes(case: WaitCase, found: Sequence[Obstacle]) -> Iterator[Remedy]:
    """A claim that every node lacks, else changes on the nodes that lack its volume."""
    volume = found[0].facts.get("volume")
    if volume is None:
        yield from place_remedies(case, found)
        return
    is_missing = found[0].cause is WaitCause.VOLUME_MISSING
    kind = "create_claim" if is_missing else "provide_volume"
    yield remedy(kind, name=f"{case.unit.namespace}/{volume}")


def _of_claims(case: WaitCase, found: Sequence[Obstacle]) -> Iterator[Remedy]:
    del found
    yield from case.claims


def _not_ready(case: WaitCase, found: Sequence[Obstacle]) -> Iterator[Remedy]:
    """Of a pod that has a node, and of one that looks for a node."""
    if case.finding.stage is Stage.STARTING:
        yield from lost_remedies(case.finding)
    else:
        yield from place_remedies(case, found)


def _victims(case: WaitCase, found: Sequence[Obstacle]) -> Iterator[Remedy]:
    """They end, which has begun; of one that does not, what keeps it is removed."""
    del found
    victims = case.sets[0].pods if case.sets else ()
    if any(pod.is_stuck for pod in victims):
        yield Remedy((ended(victims),))
    else:
        yield remedy("wait_for_end", pods=len(victims))


CANDIDATES: Mapping[WaitCause, Candidates] = {
    **dict.fromkeys(PER_NODE, place_remedies),
    **dict.fromkeys((WaitCause.NO_NODES, WaitCause.RESOURCE_UNKNOWN), place_remedies),
    WaitCause.NODE_NOT_READY: _not_ready,
    WaitCause.PREEMPTING: _victims,
    **dict.fromkeys((WaitCause.QUOTA, WaitCause.QUOTA_OTHER), quota_remedies),
    WaitCause.LIMIT_RANGE: limit_remedies,
    WaitCause.CLAIM_UNALLOCATABLE: _of_claims,
    **dict.fromkeys((WaitCause.VOLUME_MISSING, WaitCause.VOLUME_UNBOUND), _volumes),
    **dict.fromkeys(SIMPLE, _named),
}
