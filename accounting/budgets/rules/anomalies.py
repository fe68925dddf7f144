"""Days on which a team costs much more or less than before (money.md M40).

Amounts are micros by complete day, as in `forecast`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import TypeVar

from accounting.budgets.rules.forecast import (
    MICROS,
    Days,
    expected,
    mean_error,
    residuals,
    window_to,
)
from accounting.core.billing_calendar import DAY

DEFAULT_MINIMUM = 50 * MICROS  # M40: major units of the currency
SHARE, ERRORS = 4, 4  # M40: at least a quarter of the expected, and four mean errors

Key = TypeVar("Key", bound=tuple[str, ...])


@dataclass(frozen=True, slots=True)
class DayCheck:
    """A day against the 28 days before it, in micros."""

    expected: int
    actual: int
    is_anomaly: bool

    @property
    def difference(self) -> int:
        """Actual less expected."""
        return self.actual - self.expected


def check_day(days: Days, day: date, minimum: int = DEFAULT_MINIMUM) -> DayCheck:
    """Compare a complete day with the window of the 28 days before it.

    Args:
        days: complete days, `day` included; later ones do not count.
        day: the day to check.
        minimum: the smallest difference of an anomaly.

    Raises:
        NotEnoughHistory: the window has fewer than 14 complete days.
    """
    window = window_to(days, day - DAY)
    usual, actual = expected(window, day), days[day]
    apart = abs(actual - usual)
    is_large = apart > 0 and apart >= minimum and SHARE * apart >= abs(usual)
    # residuals take longer than all the rest; most days need none
    is_anomaly = is_large and apart >= ERRORS * mean_error(residuals(window))
    return DayCheck(usual, actual, is_anomaly)


def margin(days: Days, day: date, minimum: int = DEFAULT_MINIMUM) -> Fraction:
    """How far from the expected amount an anomaly of a day is at least, in micros (M40).

    Raises:
        NotEnoughHistory: as `check_day`.
    """
    window = window_to(days, day - DAY)
    usual = Fraction(abs(expected(window, day)), SHARE)
    return max(Fraction(minimum), usual, ERRORS * mean_error(residuals(window)))


def driver(parts: Mapping[Key, Days], days: Days, day: date) -> Key | None:
    """The part of a team's amounts that differs most from its own expectation.

    Args:
        parts: amounts by day of each (model, namespace, workload); a day that is absent is 0.
        days: the team's complete days.
        day: the anomaly.

    Returns:
        The key with the largest difference, of equal ones the first by UTF-8 bytes; None without
        parts.
    """
    window = window_to(days, day - DAY)

    def rank(key: Key) -> tuple[int, tuple[bytes, ...]]:
        of_day = parts[key]
        usual = expected({one: of_day.get(one, 0) for one in window}, day)
        return -abs(of_day.get(day, 0) - usual), tuple(one.encode() for one in key)

    return min(parts, key=rank, default=None)
