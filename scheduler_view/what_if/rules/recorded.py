"""Recorded weeks of a cluster: which work requested GPUs, when, and which nodes there were."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from scheduler_view.what_if.rules.cluster import ReplayNode
from scheduler_view.what_if.rules.request import ReplayRequest

OpenRange = tuple[int, int | None]  # in ms; None: it has not ended
WEEK_MS = 7 * 24 * 3_600_000


@dataclass(frozen=True, slots=True)
class RecordedPod:
    """A pod that held GPUs.

    Attributes:
        request: CPU is 0, because it is not recorded.
        milli: what it holds, in thousandths of whole GPUs: units x share.
        bound_ms: when it got its GPUs.
        ended_ms: None while it holds them.
        node: where, as the replay names nodes.
    """

    name: str
    request: ReplayRequest
    milli: int
    bound_ms: int
    ended_ms: int | None
    node: str

    @property
    def length_ms(self) -> int | None:
        """How long it held its GPUs; None while it does."""
        return None if self.ended_ms is None else self.ended_ms - self.bound_ms


@dataclass(frozen=True, slots=True)
class RecordedUnit:
    """Pods that are bound together: a gang, or one pod.

    Attributes:
        created_ms: when the last of its pods was created: it cannot be bound earlier.
        team: empty without one; `tier` is its priority class.
        workload_type: empty if unknown.
        priority: a larger one goes first.
        may_run_on_spot: it may be interrupted (S31), and was on no spot node.
        held_until_ms: until when something other than GPUs held it back; 0 if nothing did.
    """

    name: str
    created_ms: int
    pods: tuple[RecordedPod, ...]
    team: str = ""
    tier: str = ""
    workload_type: str = ""
    priority: int = 0
    may_run_on_spot: bool = False
    held_until_ms: int = 0

    @property
    def bound_ms(self) -> int:
        """When the last of its pods got its GPUs."""
        return max(pod.bound_ms for pod in self.pods)

    @property
    def milli(self) -> int:
        """What all its pods hold, in thousandths of whole GPUs."""
        return sum(pod.milli for pod in self.pods)


@dataclass(frozen=True, slots=True)
class RecordedNode:
    """A node with units of one resource, and when it was there.

    Attributes:
        share: of one GPU, of one of its units.
        resource, model: of its units; `node.model` names both.
        present: ranges in ms, in order; the last end is None if it is still there.
        is_spot: by its labels, as last recorded.
        cordoned: ranges in which it took no new pods.
    """

    node: ReplayNode
    resource: str
    model: str
    share: Fraction
    present: tuple[OpenRange, ...]
    is_spot: bool = False
    cordoned: tuple[OpenRange, ...] = ()

    @property
    def open_ranges(self) -> list[OpenRange]:
        """When it was there and took new pods."""
        found = [*self.present]
        for closed in self.cordoned:
            found = [part for one in found for part in _without(one, closed)]
        return found


@dataclass(frozen=True)
class RecordedWeeks:
    """What was recorded in [start_ms, end_ms).

    Attributes:
        units: that were bound before the end and held GPUs after the start.
        quotas: most thousandths of GPUs that a team may hold at once, in a scenario. None of what
            happened: refused pods were created later, so their effect is in the times.
    """

    start_ms: int
    end_ms: int
    nodes: tuple[RecordedNode, ...]
    units: tuple[RecordedUnit, ...]
    quotas: Mapping[str, int] = field(default_factory=dict)

    @property
    def weeks(self) -> list[tuple[int, int]]:
        """Its whole weeks as (start, end), the first from `start_ms` on."""
        starts = range(self.start_ms, self.end_ms - WEEK_MS + 1, WEEK_MS)
        return [(start, start + WEEK_MS) for start in starts]

    @property
    def installed_milli(self) -> int:
        """Thousandths of whole GPUs of all nodes that were there at the end."""
        return int(
            sum(
                1000 * one.node.gpus * one.share
                for one in self.nodes
                if one.present and _lasts(one.present[-1], self.end_ms)
            )
        )


def _without(one: OpenRange, closed: OpenRange) -> Iterator[OpenRange]:
    """The parts of a range before and after another one."""
    begin, end = one
    since, until = closed
    if since > begin:
        yield begin, since if end is None else min(since, end)
    if until is not None and (end is None or until < end):
        yield max(begin, until), end


def _lasts(present: OpenRange, end_ms: int) -> bool:
    return present[1] is None or present[1] >= end_ms
