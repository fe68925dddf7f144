"""How well a replay of what happened agrees with what was recorded (scheduling.md S36)."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from scheduler_view.what_if.rules.outcome import differs_ms, held_hours
from scheduler_view.what_if.rules.recorded import RecordedWeeks
from scheduler_view.what_if.rules.replay import ReplayedUnit

NEAR_MS = 60_000
BINDS, HOURS = 0.95, 0.01  # calibrated: at least, at most
REFUSED_BINDS, REFUSED_HOURS = 0.5, 0.1  # no answer: below, above
HELD, REFUSED_HELD = 0.1, 0.5  # of the units: calibrated at most, no answer above


class Trust(StrEnum):
    """What a what-if may say."""

    CALIBRATED = "calibrated"  # ranges and money
    INEXACT = "inexact"  # ranges with the error, no money
    REFUSED = "refused"  # nothing


@dataclass(frozen=True, slots=True)
class Calibration:
    """The error of the replay.

    Attributes:
        policy: that was replayed.
        units: created and bound in the weeks.
        near: of these, those that the replay bound within 60 s of the recorded bind.
        hours, recorded_hours: GPU-hours of the replay and as recorded.
        held: of the units, those that something other than GPUs held back.
    """

    policy: str
    units: int
    near: int
    hours: float
    recorded_hours: float
    held: int = 0

    @property
    def held_share(self) -> float:
        """0 without units."""
        return self.held / self.units if self.units else 0.0

    @property
    def near_share(self) -> float:
        """0 without units: nothing can be compared."""
        return self.near / self.units if self.units else 0.0

    @property
    def hours_error(self) -> float:
        """Relative; 0 if nothing was held in either."""
        if not self.recorded_hours:
            return 1.0 if self.hours else 0.0
        return abs(self.hours - self.recorded_hours) / self.recorded_hours

    @property
    def trust(self) -> Trust:
        """By S36: 95% of binds within 60 s, GPU-hours within 1%, at most 10% held back."""
        is_near = self.near_share >= BINDS and self.hours_error <= HOURS
        if is_near and self.held_share <= HELD:
            return Trust.CALIBRATED
        is_far = self.near_share < REFUSED_BINDS or self.hours_error > REFUSED_HOURS
        if is_far or self.held_share > REFUSED_HELD:
            return Trust.REFUSED
        return Trust.INEXACT


def calibrate(
    weeks: RecordedWeeks, policy: str, found: Sequence[ReplayedUnit]
) -> Calibration:
    """Compare a replay of unchanged weeks with what was recorded."""
    new = [one for one in found if one.unit.created_ms >= weeks.start_ms]
    distances = [differs_ms(one.unit, one.bound_ms) for one in new]
    within = (weeks.start_ms, weeks.end_ms)
    recorded = [ReplayedUnit(unit, unit.bound_ms) for unit in weeks.units]
    return Calibration(
        policy=policy,
        units=len(new),
        near=sum(1 for ms in distances if ms is not None and ms <= NEAR_MS),
        hours=held_hours(found, within, weeks.end_ms),
        recorded_hours=held_hours(recorded, within, weeks.end_ms),
        held=sum(1 for one in new if one.unit.held_until_ms),
    )


def nearest(found: Sequence[Calibration]) -> Calibration:
    """The one with most binds near the recorded ones, of equals the best GPU-hours."""
    return max(found, key=lambda one: (one.near_share, -one.hours_error))
