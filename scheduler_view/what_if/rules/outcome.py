"""What a replay comes to, week by week, beside what was recorded (scheduling.md S36)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scheduler_view.what_if.rules.recorded import RecordedUnit, RecordedWeeks
from scheduler_view.what_if.rules.replay import ReplayedUnit

Range = tuple[int, int]
_HOUR = 3_600_000 * 1000  # milliseconds x thousandths of GPUs in a GPU-hour


@dataclass(frozen=True, slots=True)
class WeekOutcome:
    """One week.

    Attributes:
        gpu_hours: held in the week, on the nodes of the cluster.
        wait_s: mean wait in seconds of the units that were created in it; those that were not bound
            before the end of the replay have waited until then. 0 without units; None if none
            was bound: how long they wait cannot be computed.
        longest_wait_s: the 95th percentile of the same waits.
        units: created in the week.
        unbound: units created in the week that were not bound before the end.
    """

    gpu_hours: float
    wait_s: float | None
    longest_wait_s: float | None
    units: int
    unbound: int


def outcomes(
    weeks: RecordedWeeks,
    found: Sequence[ReplayedUnit],
    elsewhere: Sequence[ReplayedUnit] = (),
) -> list[WeekOutcome]:
    """One for each whole week.

    Args:
        weeks: that were replayed.
        found: the replay.
        elsewhere: units on nodes that are not replayed: their waits count, their GPU-hours do not.
    """
    return [_outcome(week, found, elsewhere, weeks.end_ms) for week in weeks.weeks]


def recorded_outcomes(weeks: RecordedWeeks) -> list[WeekOutcome]:
    """The same of what happened."""
    return outcomes(weeks, [ReplayedUnit(unit, unit.bound_ms) for unit in weeks.units])


def held_hours(found: Iterable[ReplayedUnit], within: Range, end_ms: int) -> float:
    """GPU-hours held in a range; what has not ended is held until `end_ms`."""
    total = 0
    for one in found:
        if one.bound_ms is None:
            continue
        moved = one.bound_ms - one.unit.bound_ms
        for pod in one.unit.pods:
            # a gang begins as one; moved by nothing, each pod keeps its own bind
            begin = pod.bound_ms if not moved else one.bound_ms
            length = pod.length_ms
            end = end_ms if length is None else begin + length
            held = min(end, within[1]) - max(begin, within[0])
            total += pod.milli * max(held, 0)
    return total / _HOUR


def _outcome(
    week: Range,
    found: Sequence[ReplayedUnit],
    elsewhere: Sequence[ReplayedUnit],
    end_ms: int,
) -> WeekOutcome:
    units = [*found, *elsewhere]
    made = [one for one in units if week[0] <= one.unit.created_ms < week[1]]
    unbound = sum(1 for one in made if one.bound_ms is None)
    mean: float | None = 0.0
    longest: float | None = 0.0
    if made and unbound == len(made):
        mean = longest = None
    elif made:
        waits = sorted(_waited_s(one, end_ms) for one in made)
        mean, longest = sum(waits) / len(waits), _quantile(waits, 95)
    return WeekOutcome(
        gpu_hours=held_hours(found, week, end_ms),
        wait_s=mean,
        longest_wait_s=longest,
        units=len(made),
        unbound=unbound,
    )


def _waited_s(one: ReplayedUnit, end_ms: int) -> float:
    until = end_ms if one.bound_ms is None else one.bound_ms
    return (until - one.unit.created_ms) / 1000


def _quantile(ordered: Sequence[float], percent: int) -> float:
    """The value that so many percent do not exceed."""
    return ordered[-(-percent * len(ordered) // 100) - 1]


def differs_ms(unit: RecordedUnit, bound_ms: int | None) -> int | None:
    """How far the bind of the replay is from the recorded one; None without a bind."""
    return None if bound_ms is None else abs(bound_ms - unit.bound_ms)
