"""The instants of a unit's wait, and the parts between them (scheduling.md S3)."""

from dataclasses import dataclass, fields

from scheduler_view.waits.rules.placement.index import WorldIndex
from scheduler_view.waits.rules.units import WorkUnit
from scheduler_view.waits.rules.world.controllers import ControllerObject
from scheduler_view.waits.rules.world.pods import PodObject


@dataclass(frozen=True, slots=True)
class WaitParts:
    """Milliseconds of each part; None while its end is not known."""

    admission_ms: int | None
    scheduling_ms: int | None
    startup_ms: int | None
    warmup_ms: int | None


@dataclass(frozen=True, slots=True)
class WaitInstants:
    """When a unit reached each step, in milliseconds since 1970; None while it has not.

    Attributes:
        bound_ms: a gang's last member that makes it complete; else the first pod.
        first_busy_ms: begin of the first busy sample.
    """

    created_ms: int | None = None
    admitted_ms: int | None = None
    bound_ms: int | None = None
    started_ms: int | None = None
    first_busy_ms: int | None = None

    @property
    def parts(self) -> WaitParts:
        """Admission, scheduling, start-up and warm-up."""
        return WaitParts(
            _between(self.created_ms, self.admitted_ms),
            _between(self.admitted_ms, self.bound_ms),
            _between(self.bound_ms, self.started_ms),
            _between(self.started_ms, self.first_busy_ms),
        )

    @property
    def wait_ms(self) -> int | None:
        """From its creation to its bind."""
        return _between(self.created_ms, self.bound_ms)

    def then(self, later: "WaitInstants") -> "WaitInstants":
        """With what a later observation adds: the first attempt's instants stay."""
        return WaitInstants(
            *(
                getattr(later if getattr(self, one.name) is None else self, one.name)
                for one in fields(self)
            )
        )


def _between(start: int | None, end: int | None) -> int | None:
    """Clocks of different machines may disagree: never below 0."""
    return None if start is None or end is None else max(0, end - start)


MADE_WITHIN_MS = 60_000  # pods of work that nothing holds back are made so soon


def instants_of(
    index: WorldIndex,
    unit: WorkUnit,
    *,
    was_held: bool = False,
    was_refused: bool = False,
) -> WaitInstants:
    """The instants that the objects of a cluster show now.

    Args:
        index: of the cluster.
        unit: one of its units.
        was_held: it was not admitted when it was last observed; if it is admitted now and
            nothing shows since when, it is since this observation.
        was_refused: it had no pods when it was last observed, as they were not let in; they are
            let in since the first of them was made.
    """
    is_made = unit.top is not None and not (unit.is_lasting and unit.pods)
    created = [unit.top.created_ms] if unit.top and is_made else []
    created += [pod.created_ms for pod in unit.pods]
    if not unit.is_lasting:  # an entry is made with the work, its pods only later
        created += [one.created_ms for one in unit.entries if one.kind == "Workload"]
    begin = min((one for one in created if one is not None), default=None)
    return WaitInstants(
        begin,
        _admitted(index, unit, begin, was_held=was_held, was_refused=was_refused),
        _last_needed(unit, [_bound(pod) for pod in unit.bound]),
        _last_needed(unit, [pod.started_ms for pod in unit.bound]),
    )


def is_held(unit: WorkUnit) -> bool:
    """Whether a queue, a suspension or a gate keeps a unit from the scheduler."""
    if unit.bound:
        return False
    return (
        any(one.is_suspended or one.is_held for one in _around(unit))
        or any(pod.spec.gates for pod in unit.waiting)
    )  # fmt: skip


def held_group(unit: WorkUnit) -> ControllerObject | None:
    """The pod group of a unit that its queue holds back, in Volcano or KAI; else None."""
    groups = (one for one in _around(unit) if one.kind == "PodGroup")
    return next((one for one in groups if one.is_held), None)


def _admitted(
    index: WorldIndex,
    unit: WorkUnit,
    created: int | None,
    *,
    was_held: bool,
    was_refused: bool,
) -> int | None:
    """None also if its pods were made later than it, and nothing shows what was in between."""
    if is_held(unit) or is_refused(unit):
        return None
    told = [one.admitted_ms for one in _around(unit)]
    known = [one for one in told if one is not None]
    if known:
        return min(known)
    if was_held:
        return index.world.now_ms
    made = [one for pod in unit.pods if (one := pod.created_ms) is not None]
    first = min(made, default=created)
    if was_refused or created is None or first is None:
        return first
    return created if first - created <= MADE_WITHIN_MS else None


def is_refused(unit: WorkUnit) -> bool:
    """Whether none of its pods was made: they are not let in, or the controller is not so far."""
    return bool(unit.missing) and not unit.pods


def _around(unit: WorkUnit) -> list[ControllerObject]:
    """The unit's own object, its makers, and the entries of queues for them."""
    return [*([unit.top] if unit.top else []), *unit.makers, *unit.entries]


def _bound(pod: PodObject) -> int | None:
    """When a pod got its node; a pod that was made with a node has no condition."""
    if pod.scheduled is None or not pod.scheduled.is_true:
        return pod.created_ms
    return pod.scheduled.since_ms


def _last_needed(unit: WorkUnit, instants: list[int | None]) -> int | None:
    """Of a gang the one that makes it complete, else the first; None if there is none."""
    known = sorted(one for one in instants if one is not None)
    needed = unit.gang_size or 1
    return known[needed - 1] if len(known) >= needed else None
