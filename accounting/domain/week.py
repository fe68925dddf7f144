"""Held time by hour of the week: is there capacity at night that could be lent?"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

HOURS_OF_DAY = 24
DAYS_OF_WEEK = 7


@dataclass(frozen=True, slots=True)
class WeekHour:
    """One hour of the week, over all weeks of a period, share-weighted milliseconds.

    Attributes:
        weekday: 0 is Monday.
        hour: 0 to 23, local.
    """

    weekday: int
    hour: int
    busy_ms: int = 0
    idle_ms: int = 0
    unknown_ms: int = 0

    @property
    def efficiency(self) -> float | None:
        """Busy / (busy + idle); None when nothing was observed."""
        observed = self.busy_ms + self.idle_ms
        return self.busy_ms / observed if observed else None

    @property
    def held_ms(self) -> int:
        """Busy + idle + unknown."""
        return self.busy_ms + self.idle_ms + self.unknown_ms


def fold_week(
    hours: Iterable[tuple[datetime, int, int, int]], zone: ZoneInfo
) -> list[WeekHour]:
    """Sum hours by their place in the local week.

    Args:
        hours: (start of a UTC hour, busy, idle, unknown milliseconds), in any order.
        zone: of the reader; an hour belongs where it starts.

    Returns:
        All 168 hours, Monday 00:00 first; those without data hold nothing.
    """
    sums: dict[tuple[int, int], tuple[int, int, int]] = {}
    for start, busy, idle, unknown in hours:
        local = start.astimezone(zone)
        key = (local.weekday(), local.hour)
        before = sums.get(key, (0, 0, 0))
        sums[key] = (before[0] + busy, before[1] + idle, before[2] + unknown)
    return [
        WeekHour(weekday, hour, *sums.get((weekday, hour), (0, 0, 0)))
        for weekday in range(DAYS_OF_WEEK)
        for hour in range(HOURS_OF_DAY)
    ]
