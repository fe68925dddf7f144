"""In a what-if, a share of the work that may run on spot nodes runs there (scheduling.md S31, S36).

Spot nodes are added and removed as this work needs them: it starts when it was created, and leaves
the nodes of the cluster to other work. A preempted pod starts again, from its last checkpoint if it
has any. Without preemptions it takes as long as it took; with them, on average, at most

    (e^x - 1) / x

times as long, where x is the number of preemptions expected in its length, or between two
checkpoints (preemptions at random instants; what was computed since then is lost, S30).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

from scheduler_view.what_if.rules.recorded import (
    RecordedPod,
    RecordedUnit,
    RecordedWeeks,
)

DAY_MS = 24 * 3_600_000
MOST_EXPECTED = 10  # preemptions: work would take more than 2,000 times as long


class SpotShareError(ValueError):
    """No work of these weeks may run on spot, or it would hardly ever end there."""


@dataclass(frozen=True, slots=True)
class SpotShare:
    """How much runs on spot, and what that means.

    Attributes:
        share: of the GPU time of the work that may; above 0, at most 1.
        preempted_per_day: how often a pod is preempted in 24 hours on a spot node, on average.
        checkpoint_ms: between two checkpoints; None: a preempted pod starts from its beginning.
        rate: of a GPU-hour on spot; None: no money.
    """

    share: Fraction
    preempted_per_day: Decimal
    checkpoint_ms: int | None = None
    rate: Decimal | None = None

    def longer(self, length_ms: int) -> float:
        """How many times as long a pod takes on average, at most; at least 1.

        Raises:
            SpotShareError: with more than `MOST_EXPECTED` preempted attempts.
        """
        attempt = length_ms if self.checkpoint_ms is None else self.checkpoint_ms
        expected = float(self.preempted_per_day) * min(length_ms, attempt) / DAY_MS
        if expected > MOST_EXPECTED:
            raise SpotShareError(
                f"work of {length_ms / 3_600_000:.1f} hours would hardly ever end on spot with "
                f"{self.preempted_per_day} preemptions a day: name a shorter time between "
                "checkpoints"
            )
        return math.expm1(expected) / expected if expected else 1.0


@dataclass(frozen=True, slots=True)
class WorkOnSpot:
    """Recorded weeks, divided.

    Attributes:
        weeks: without the work that runs on spot.
        moved: the work that does, each unit from when it was created on.
        moved_ms, eligible_ms: of the time of all work that may run on spot, in thousandths of
            GPUs times milliseconds.
    """

    weeks: RecordedWeeks
    moved: tuple[RecordedUnit, ...] = ()
    moved_ms: int = 0
    eligible_ms: int = 0


@dataclass(frozen=True, slots=True)
class SpotWeek:
    """What runs on spot in a week: without preemptions, and at most with them on average.

    Attributes:
        least_ms, most_ms: in thousandths of GPUs times milliseconds.
        least_preempted, most_preempted: pods.
    """

    least_ms: int = 0
    most_ms: int = 0
    least_preempted: float = 0.0
    most_preempted: float = 0.0


def on_spot(weeks: RecordedWeeks, wanted: SpotShare | None) -> WorkOnSpot:
    """Choose units, in order of creation, so that their time is nearest to the share so far.

    Raises:
        SpotShareError: if no work may run on spot, or it would hardly ever end there.
    """
    if wanted is None:
        return WorkOnSpot(weeks)
    within = (weeks.start_ms, weeks.end_ms)
    moved: list[RecordedUnit] = []
    moved_ms = eligible_ms = 0
    for unit in weeks.units:
        if not unit.may_run_on_spot:
            continue
        held = sum(_held_ms(pod, within, weeks.end_ms) for pod in unit.pods)
        eligible_ms += held
        if moved_ms + Fraction(held, 2) <= wanted.share * eligible_ms:
            moved_ms += held
            moved.append(unit)
    if not eligible_ms:
        raise SpotShareError("no work of these weeks may run on spot")
    chosen = {id(unit) for unit in moved}
    kept = tuple(unit for unit in weeks.units if id(unit) not in chosen)
    started = tuple(_started(unit, weeks.start_ms) for unit in moved)
    for pod in (pod for unit in started for pod in unit.pods):
        wanted.longer(_length_ms(pod, weeks.end_ms))  # refused before any replay
    return WorkOnSpot(replace(weeks, units=kept), started, moved_ms, eligible_ms)


def spot_weeks(found: WorkOnSpot, wanted: SpotShare) -> Sequence[SpotWeek]:
    """One for each whole week."""
    return [_spot_week(found, wanted, week) for week in found.weeks.weeks]


def _spot_week(found: WorkOnSpot, wanted: SpotShare, week: tuple[int, int]) -> SpotWeek:
    end_ms, daily = found.weeks.end_ms, float(wanted.preempted_per_day)
    least = most = 0
    least_preempted = most_preempted = 0.0
    for pod in (pod for unit in found.moved for pod in unit.pods):
        held = _held_ms(pod, week, end_ms)
        longer = wanted.longer(_length_ms(pod, end_ms))
        least += held
        most += round(held * longer)
        preempted = daily * held / pod.milli / DAY_MS if pod.milli else 0.0
        least_preempted += preempted
        most_preempted += preempted * longer
    return SpotWeek(least, most, least_preempted, most_preempted)


def _started(unit: RecordedUnit, start_ms: int) -> RecordedUnit:
    """The unit without its wait; what was bound before the weeks keeps its instants."""
    if unit.bound_ms < start_ms:
        return unit
    begin = max(unit.created_ms, start_ms)
    pods = tuple(
        replace(
            pod,
            bound_ms=begin,
            ended_ms=None if pod.length_ms is None else begin + pod.length_ms,
        )
        for pod in unit.pods
    )
    return replace(unit, pods=pods)


def _length_ms(pod: RecordedPod, end_ms: int) -> int:
    return end_ms - pod.bound_ms if pod.length_ms is None else pod.length_ms


def _held_ms(pod: RecordedPod, within: tuple[int, int], end_ms: int) -> int:
    """Of a hold, in thousandths of GPUs times milliseconds."""
    end = pod.bound_ms + _length_ms(pod, end_ms)
    return pod.milli * max(0, min(end, within[1]) - max(pod.bound_ms, within[0]))
