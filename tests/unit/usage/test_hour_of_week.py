"""Hours fold into the local week."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from accounting.core.efficiency import StateTimes
from accounting.usage.rules.hour_of_week import WeekHour
from accounting.usage.rules.hour_of_week import fold_week as _fold_week

BERLIN = ZoneInfo("Europe/Berlin")
MONDAY = datetime(2026, 11, 2, 0, tzinfo=UTC)  # 01:00 in Berlin
HOUR = timedelta(hours=1)


def fold_week(
    hours: Iterable[tuple[datetime, int, int, int]],
    zone: ZoneInfo,
    begun: Iterable[datetime] = (),
    read: Iterable[datetime] = (),
) -> list[WeekHour]:
    held = ((start, StateTimes(*times)) for start, *times in hours)
    return _fold_week(held, zone, begun=begun, read=read)


def test_hours_belong_where_they_start_locally() -> None:
    hours = fold_week(
        [(MONDAY, 30, 10, 5), (MONDAY + timedelta(days=7), 10, 30, 0)], BERLIN
    )
    assert len(hours) == 168
    one = hours[1]
    assert (one.weekday, one.hour) == (0, 1)
    assert one.times == StateTimes(40, 40, 5)
    assert one.times.efficiency == 0.5
    assert sum(hour.times.allocated_ms for hour in hours) == 85


def test_an_hour_without_data_is_unknown_and_not_idle() -> None:
    hours = fold_week([(MONDAY, 0, 0, 5)], BERLIN)
    assert hours[1].times.efficiency is None
    assert hours[2].times.efficiency is None


def test_the_doubled_hour_of_autumn_sums() -> None:
    change = datetime(
        2026, 10, 25, 0, tzinfo=UTC
    )  # 02:00 summer time, then 02:00 again
    hours = fold_week(
        [(change, 1, 0, 0), (change + timedelta(hours=1), 2, 0, 0)], BERLIN
    )
    assert hours[6 * 24 + 2].times.busy_ms == 3


def test_hours_outside_the_period_are_told_from_hours_without_data() -> None:
    begun = [MONDAY + HOUR * n for n in range(4)]  # 01:00 to 05:00 in Berlin
    read = [MONDAY, MONDAY + HOUR * 2, MONDAY + HOUR * 3]
    held = [(MONDAY, 30, 10, 0), (MONDAY + HOUR * 3, 0, 0, 5)]
    hours = fold_week(held, BERLIN, begun, read)
    assert [one.hour for one in hours if one.is_in_range] == [1, 2, 3, 4]
    found = [
        (one.times.efficiency, one.times.allocated_ms, one.has_data)
        for one in hours[1:5]
    ]
    assert found == [
        (0.75, 40, True),
        (None, 0, False),
        (None, 0, True),
        (None, 5, True),
    ]


def test_an_hour_of_the_week_has_data_when_any_of_its_weeks_has() -> None:
    begun = [MONDAY, MONDAY + timedelta(days=7)]
    hours = fold_week([], BERLIN, begun, begun[1:])
    assert hours[1].is_in_range
    assert hours[1].has_data
    assert not hours[2].is_in_range


def test_starts_are_read_until_every_hour_of_the_week_is_found() -> None:
    """A range of years has 8,760 starts in each, and 168 of them say everything."""
    starts = iter([MONDAY + n * HOUR for n in range(170)])
    hours = fold_week([], BERLIN, begun=starts)
    assert all(hour.is_in_range for hour in hours)
    assert list(starts) == [MONDAY + n * HOUR for n in (168, 169)]
