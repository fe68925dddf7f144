"""Held time by state, and the three numbers that every page derives from it (N34).

Only this module computes allocated time, efficiency and coverage. A row of a report is,
or has, a `StateTimes`; a ratio of several rows is the ratio of their sum, never a mean of ratios.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from accounting.core.ledger_line import HELD_STATES


@dataclass(frozen=True, slots=True)
class StateTimes:
    """Share-weighted milliseconds of held time by state."""

    busy_ms: int
    idle_ms: int
    unknown_ms: int

    @property
    def allocated_ms(self) -> int:
        """Busy, idle and unknown."""
        return self.busy_ms + self.idle_ms + self.unknown_ms

    @property
    def observed_ms(self) -> int:
        """Busy and idle."""
        return self.busy_ms + self.idle_ms

    @property
    def efficiency(self) -> float | None:
        """Busy / observed, 0 to 1; None if nothing was observed."""
        return self.busy_ms / self.observed_ms if self.observed_ms else None

    @property
    def idle_percent(self) -> int | None:
        """Idle / observed in percent, rounded half up; None if nothing was observed."""
        observed = self.observed_ms
        return (200 * self.idle_ms + observed) // (2 * observed) if observed else None

    @property
    def coverage(self) -> float | None:
        """Observed / allocated, 0 to 1; None if nothing was allocated."""
        return self.observed_ms / self.allocated_ms if self.allocated_ms else None


NO_TIME = StateTimes(0, 0, 0)


def times_of(milliseconds: Mapping[str, int]) -> StateTimes:
    """The held states of a mapping from state to milliseconds."""
    return StateTimes(*(milliseconds[state] for state in HELD_STATES))


def sum_times(several: Iterable[StateTimes]) -> StateTimes:
    """The sum, state by state; zero times for no elements."""
    busy = idle = unknown = 0
    for one in several:
        busy += one.busy_ms
        idle += one.idle_ms
        unknown += one.unknown_ms
    return StateTimes(busy, idle, unknown)
