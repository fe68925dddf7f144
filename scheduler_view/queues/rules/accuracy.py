"""How well starts were estimated (scheduling.md S19)."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from statistics import median_low

ENOUGH = 20  # estimates; with fewer their error is not known
HELD = 0.8  # least share of ranges that held, for a time of day to be shown
DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class EstimatedStart:
    """When a unit will be bound, in milliseconds since 1970.

    Attributes:
        low_ms, high_ms: the range; None if that end of it is not known.
    """

    start_ms: int
    low_ms: int | None = None
    high_ms: int | None = None

    def covers(self, at_ms: int) -> bool:
        """Whether an instant is in the range; an unknown end does not limit it."""
        return (self.low_ms is None or self.low_ms <= at_ms) and (
            self.high_ms is None or at_ms <= self.high_ms
        )


@dataclass(frozen=True, slots=True)
class EstimateAccuracy:
    """The error of estimates whose units were bound.

    Attributes:
        count: of estimates.
        median_error_ms: the absolute one, the lower of two middle ones.
        held: the share of estimates whose range had the bind in it.
    """

    count: int
    median_error_ms: int
    held: Fraction


def may_be_shown(one: EstimatedStart, held: float, now_ms: int) -> bool:
    """Whether an estimate may be shown as a time of day: never one that is a date.

    Args:
        held: the measured share of ranges of its pool that held.
    """
    return (
        held >= HELD
        and one.low_ms is not None
        and one.high_ms is not None
        and one.high_ms - now_ms <= DAY_MS
    )


def accuracy_of(
    pairs: Iterable[tuple[EstimatedStart, int]],
) -> EstimateAccuracy | None:
    """The error of estimates and their binds; None while there are fewer than 20."""
    found = list(pairs)
    if len(found) < ENOUGH:
        return None
    return EstimateAccuracy(
        len(found),
        median_low([abs(one.start_ms - bound_ms) for one, bound_ms in found]),
        Fraction(sum(one.covers(bound_ms) for one, bound_ms in found), len(found)),
    )
