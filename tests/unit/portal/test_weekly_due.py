"""When a weekly mail is due: in the person's zone, across changes of clocks, once a week."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from accounting.core.billing_calendar import DayRange
from portal.weekly.due import due_at, last_week, week_due

BERLIN, TOKYO = ZoneInfo("Europe/Berlin"), ZoneInfo("Asia/Tokyo")
DENVER, KATHMANDU = ZoneInfo("America/Denver"), ZoneInfo("Asia/Kathmandu")
MINUTE = timedelta(minutes=1)


def week_to(monday: date) -> DayRange:
    return DayRange(monday - timedelta(days=7), monday)


@pytest.mark.parametrize(
    ("monday", "zone", "billing", "hour"),
    [
        (date(2026, 10, 19), BERLIN, BERLIN, 5),  # summer time
        (date(2026, 10, 26), BERLIN, BERLIN, 6),  # the night after clocks went back
        (date(2027, 3, 22), BERLIN, BERLIN, 6),
        (date(2027, 3, 29), BERLIN, BERLIN, 5),  # the night after they went ahead
        (date(2026, 11, 2), DENVER, BERLIN, 14),  # also on a Sunday, in another week
        (date(2026, 11, 23), KATHMANDU, BERLIN, 1.25),
        # Monday 07:00 in Tokyo is Sunday in Berlin: an hour after the week ends there
        (date(2026, 11, 23), TOKYO, BERLIN, 0),
    ],
)
def test_monday_at_seven_by_the_clock_of_the_person(
    monday: date, zone: ZoneInfo, billing: ZoneInfo, hour: float
) -> None:
    midnight = datetime(monday.year, monday.month, monday.day, tzinfo=UTC)
    due = due_at(week_to(monday), zone, billing)
    assert due == midnight + timedelta(hours=hour)
    assert week_due(due - MINUTE, zone, billing, due) is None
    assert week_due(due, zone, billing, due) == week_to(monday)


def test_a_mail_is_due_for_a_day() -> None:
    due = due_at(week_to(date(2026, 11, 23)), BERLIN, BERLIN)
    last = due + timedelta(hours=24) - MINUTE
    assert week_due(last, BERLIN, BERLIN, due) == week_to(date(2026, 11, 23))
    assert week_due(last + MINUTE, BERLIN, BERLIN, due) is None


def test_every_minute_of_a_year_names_each_week_once() -> None:
    now, found = datetime(2026, 6, 1, tzinfo=UTC), []
    while now < datetime(2027, 6, 1, tzinfo=UTC):
        week = week_due(now, BERLIN, BERLIN, now)
        if week and week not in found:
            found.append(week)
        now += timedelta(minutes=30)
    firsts = [week.first for week in found]
    assert len(firsts) == 53
    assert firsts == sorted(firsts)
    assert all(week.after == last_week(now, BERLIN).after for week in found[-1:])


@pytest.mark.parametrize("data_to", [None, datetime(2026, 11, 22, 20, tzinfo=UTC)])
def test_it_waits_three_hours_for_the_end_of_the_week(data_to: datetime | None) -> None:
    week = week_to(date(2026, 11, 23))
    due = due_at(week, BERLIN, BERLIN)
    assert week_due(due + timedelta(hours=2), BERLIN, BERLIN, data_to) is None
    assert week_due(due + timedelta(hours=3), BERLIN, BERLIN, data_to) == week
