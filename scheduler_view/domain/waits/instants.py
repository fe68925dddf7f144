"""The instants of a unit's wait, and the parts between them (scheduling.md S3)."""

from dataclasses import dataclass, fields

from scheduler_view.domain.waits.placement.index import WorldIndex
from scheduler_view.domain.waits.units import WorkUnit
from scheduler_view.domain.waits.world.controllers import ControllerObject
from scheduler_view.domain.waits.world.pods import PodObject


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


def instants_of(
    index: WorldIndex, unit: WorkUnit, *, was_held: bool = False
) -> WaitInstants:
    """The instants that the objects of a cluster show now.

    Args:
        index: of the cluster.
        unit: one of its units.
        was_held: it was not admitted when it was last observed; if it is admitted now and
            nothing shows since when, it is since this observation.
    """
    is_made = unit.top is not None and not (unit.is_lasting and unit.pods)
    created = [unit.top.created_ms] if unit.top and is_made else []
    created += [pod.created_ms for pod in unit.pods]
    if not unit.is_lasting:  # an entry is made with the work, its pods only later
        created += [one.created_ms for one in unit.entries if one.kind == "Workload"]
    begin = min((one for one in created if one is not None), default=None)
    return WaitInstants(
        begin,
        _admitted(index, unit, begin, was_held=was_held),
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
    index: WorldIndex, unit: WorkUnit, created: int | None, *, was_held: bool
) -> int | None:
    if is_held(unit):
        return None
    told = [one.admitted_ms for one in _around(unit)]
    known = [one for one in told if one is not None]
    if known:
        return min(known)
    return index.world.now_ms if was_held else created


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
