"""Held time by hour of the week, to find hours with free capacity."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import product
from zoneinfo import ZoneInfo

from accounting.core.efficiency import NO_TIME, StateTimes, sum_times

HOURS_OF_DAY = 24
DAYS_OF_WEEK = 7


@dataclass(frozen=True, slots=True)
class WeekHour:
    """One hour of the week, over all weeks of a period, share-weighted milliseconds.

    Attributes:
        weekday: 0 is Monday.
        hour: 0 to 23, local.
        times: held time by state.
        is_in_range: the period contains the start of such an hour.
        has_data: data was read for such an hour, so that no held time means that nothing was held.
    """

    weekday: int
    hour: int
    times: StateTimes = NO_TIME
    is_in_range: bool = True
    has_data: bool = True


def fold_week(
    hours: Iterable[tuple[datetime, StateTimes]],
    zone: ZoneInfo,
    *,
    begun: Iterable[datetime],
    read: Iterable[datetime],
) -> list[WeekHour]:
    """Sum hours by their position in the local week.

    Args:
        hours: (start of a UTC hour, held time in it), in any order.
        zone: of the reader; an hour belongs to the hour of the week in which it starts.
        begun: the start of every UTC hour of the period, up to the newest data.
        read: the start of the hours that have data. As `begun`, read only as far as needed.

    Returns:
        All 168 hours, Monday 00:00 first.
    """
    sums: dict[tuple[int, int], StateTimes] = {}
    for start, times in hours:
        key = _place(start, zone)
        sums[key] = sum_times([sums.get(key, NO_TIME), times])
    in_range = _places(begun, zone, sums)
    known = _places(read, zone, sums)
    return [
        WeekHour(*key, sums.get(key, NO_TIME), key in in_range, key in known)
        for key in product(range(DAYS_OF_WEEK), range(HOURS_OF_DAY))
    ]


def _place(start: datetime, zone: ZoneInfo) -> tuple[int, int]:
    local = start.astimezone(zone)
    return local.weekday(), local.hour


def _places(
    starts: Iterable[datetime], zone: ZoneInfo, some: Iterable[tuple[int, int]]
) -> set[tuple[int, int]]:
    """Some places of the week and those of starts, which are not read once all are found."""
    found = set(some)
    pending = iter(starts)
    while len(found) < DAYS_OF_WEEK * HOURS_OF_DAY:
        start = next(pending, None)
        if start is None:
            break
        found.add(_place(start, zone))
    return found
