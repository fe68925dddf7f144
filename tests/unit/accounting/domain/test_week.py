"""Hours fold into the local week."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from accounting.domain.week import fold_week

BERLIN = ZoneInfo("Europe/Berlin")
MONDAY = datetime(2026, 11, 2, 0, tzinfo=UTC)  # 01:00 in Berlin


def test_hours_belong_where_they_start_locally() -> None:
    hours = fold_week(
        [(MONDAY, 30, 10, 5), (MONDAY + timedelta(days=7), 10, 30, 0)], BERLIN
    )
    assert len(hours) == 168
    one = hours[1]
    assert (one.weekday, one.hour) == (0, 1)
    assert (one.busy_ms, one.idle_ms, one.unknown_ms) == (40, 40, 5)
    assert one.efficiency == 0.5
    assert sum(hour.held_ms for hour in hours) == 85


def test_an_hour_without_data_is_unknown_and_not_idle() -> None:
    hours = fold_week([(MONDAY, 0, 0, 5)], BERLIN)
    assert hours[1].efficiency is None
    assert hours[2].efficiency is None


def test_the_doubled_hour_of_autumn_sums() -> None:
    change = datetime(
        2026, 10, 25, 0, tzinfo=UTC
    )  # 02:00 summer time, then 02:00 again
    hours = fold_week(
        [(change, 1, 0, 0), (change + timedelta(hours=1), 2, 0, 0)], BERLIN
    )
    assert hours[6 * 24 + 2].busy_ms == 3
