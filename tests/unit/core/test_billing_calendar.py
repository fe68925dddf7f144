"""Ranges of billing days: presets, steps, comparisons, and days of 23 hours.

Skipped: each preset at each date; month ends and leap days stand for them.
"""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting.core.billing_calendar import (
    COMPARISONS,
    PRESETS,
    DayRange,
    compared_with,
    midnight,
    months_later,
    neighbour,
    preset_range,
    unit_later,
    unit_of,
    unit_start,
)

TODAY = date(2026, 11, 20)
DATES = st.dates(date(2020, 1, 1), date(2030, 12, 31))


def span(first: str, after: str) -> DayRange:
    """A range from two ISO dates."""
    return DayRange(date.fromisoformat(first), date.fromisoformat(after))


def test_a_range_without_days_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one day"):
        span("2026-11-20", "2026-11-20")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("today", span("2026-11-20", "2026-11-21")),
        ("yesterday", span("2026-11-19", "2026-11-20")),
        ("this-week", span("2026-11-16", "2026-11-21")),
        ("last-week", span("2026-11-09", "2026-11-16")),
        ("last-7-days", span("2026-11-14", "2026-11-21")),
        ("last-28-days", span("2026-10-24", "2026-11-21")),
        ("month-to-date", span("2026-11-01", "2026-11-21")),
        ("last-month", span("2026-10-01", "2026-11-01")),
        ("quarter-to-date", span("2026-10-01", "2026-11-21")),
        ("last-12-months", span("2025-12-01", "2026-11-21")),
    ],
)
def test_presets_mean_what_they_say(name: str, expected: DayRange) -> None:
    assert preset_range(name, TODAY) == expected


def test_an_unknown_preset_is_refused() -> None:
    with pytest.raises(ValueError, match="next-year"):
        preset_range("next-year", TODAY)


def test_a_running_month_is_compared_with_the_same_elapsed_days() -> None:
    before = compared_with(span("2026-11-01", "2026-11-21"), "prev")
    assert before == span("2026-10-01", "2026-10-21")


def test_a_whole_month_is_compared_with_the_whole_month_before() -> None:
    assert compared_with(span("2026-03-01", "2026-04-01"), "prev") == span(
        "2026-02-01", "2026-03-01"
    )


def test_elapsed_days_stay_inside_a_shorter_month() -> None:
    assert compared_with(span("2026-03-01", "2026-03-31"), "prev") == span(
        "2026-02-01", "2026-03-01"
    )


def test_other_ranges_are_compared_with_the_days_right_before() -> None:
    assert compared_with(span("2026-11-14", "2026-11-21"), "prev") == span(
        "2026-11-07", "2026-11-14"
    )


def test_a_year_earlier_survives_a_leap_day() -> None:
    assert compared_with(span("2028-02-29", "2028-03-01"), "year") == span(
        "2027-02-28", "2027-03-01"
    )


def test_no_comparison_is_none_and_an_unknown_one_is_refused() -> None:
    assert compared_with(span("2026-11-01", "2026-11-21"), "off") is None
    with pytest.raises(ValueError, match="never"):
        compared_with(span("2026-11-01", "2026-11-21"), "never")


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        # a week, a quarter and a year that run: as much of the one before
        (span("2026-11-16", "2026-11-21"), span("2026-11-09", "2026-11-14")),
        (span("2026-10-01", "2026-11-21"), span("2026-07-01", "2026-08-21")),
        (span("2026-01-01", "2026-11-21"), span("2025-01-01", "2025-11-21")),
        # and whole ones
        (span("2026-11-09", "2026-11-16"), span("2026-11-02", "2026-11-09")),
        (span("2026-07-01", "2026-10-01"), span("2026-04-01", "2026-07-01")),
        (span("2026-06-01", "2026-06-08"), span("2026-05-25", "2026-06-01")),
        # one day: the day before
        (span("2026-11-16", "2026-11-17"), span("2026-11-15", "2026-11-16")),
        (span("2026-11-01", "2026-11-02"), span("2026-10-31", "2026-11-01")),
    ],
)
def test_a_calendar_unit_is_compared_with_the_unit_before(
    days: DayRange, expected: DayRange
) -> None:
    assert compared_with(days, "prev") == expected


@pytest.mark.parametrize(
    ("days", "earlier"),
    [
        # units that run up to the newest day: the whole unit before
        (span("2026-11-01", "2026-11-21"), span("2026-10-01", "2026-11-01")),
        (span("2026-10-01", "2026-11-21"), span("2026-07-01", "2026-10-01")),
        (span("2026-11-16", "2026-11-21"), span("2026-11-09", "2026-11-16")),
        (span("2026-01-01", "2026-11-21"), span("2025-01-01", "2026-01-01")),
        (span("2025-12-01", "2026-11-21"), span("2024-12-01", "2025-12-01")),
        # whole units
        (span("2026-03-01", "2026-04-01"), span("2026-02-01", "2026-03-01")),
        (span("2026-07-01", "2026-10-01"), span("2026-04-01", "2026-07-01")),
        (span("2026-09-01", "2026-11-01"), span("2026-07-01", "2026-09-01")),
        # others keep their length, parts of a unit too
        (span("2026-10-01", "2026-10-16"), span("2026-09-16", "2026-10-01")),
        (span("2026-11-09", "2026-11-12"), span("2026-11-06", "2026-11-09")),
        (span("2026-11-14", "2026-11-21"), span("2026-11-07", "2026-11-14")),
        (span("2026-11-20", "2026-11-21"), span("2026-11-19", "2026-11-20")),
        (span("2026-10-05", "2026-10-26"), span("2026-09-14", "2026-10-05")),
    ],
)
def test_earlier_keeps_the_kind_of_range(days: DayRange, earlier: DayRange) -> None:
    assert neighbour(days, -1, TODAY) == earlier


def test_a_preset_says_which_unit_it_is() -> None:
    """On 7 June 2026, a Sunday, the month to date is also a week."""
    days, sunday = span("2026-06-01", "2026-06-08"), date(2026, 6, 7)
    assert neighbour(days, -1, sunday) == span("2026-05-25", "2026-06-01")
    assert neighbour(days, -1, sunday, "month") == span("2026-05-01", "2026-06-01")
    assert compared_with(days, "prev", "month") == span("2026-05-01", "2026-05-08")


@given(DATES, st.sampled_from(["week", "month", "quarter", "year"]))
def test_whole_units_step_there_and_back(day: date, unit: str) -> None:
    start = unit_start(day, unit)
    whole = DayRange(start, unit_later(start, unit, 1))
    before = neighbour(whole, -1, TODAY, unit)
    assert before.after == whole.first
    assert neighbour(before, 1, TODAY, unit) == whole
    assert unit_of(whole) == unit
    assert compared_with(whole, "prev", unit) == before


def test_a_day_has_the_length_of_its_zone() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    spring = span("2026-03-29", "2026-03-30").period(berlin)
    autumn = span("2026-10-25", "2026-10-26").period(berlin)
    assert spring.length_ms == 23 * 3_600_000
    assert autumn.length_ms == 25 * 3_600_000
    assert midnight(date(2026, 10, 25), berlin) == datetime(
        2026, 10, 24, 22, tzinfo=UTC
    )


@given(DATES, st.integers(-30, 30))
def test_months_there_and_back_stay_in_the_month(day: date, months: int) -> None:
    moved = months_later(day, months)
    assert moved.day <= day.day
    assert months_later(moved.replace(day=1), -months) == day.replace(day=1)


@given(DATES, st.sampled_from([preset.name for preset in PRESETS]))
def test_every_preset_holds_a_day_and_can_be_compared(today: date, name: str) -> None:
    chosen = preset_range(name, today)
    assert chosen.days >= 1
    for mode in COMPARISONS:
        before = compared_with(chosen, mode)
        assert before is None or before.first < chosen.first
    assert neighbour(neighbour(chosen, -1), 1).first == chosen.first


@given(DATES, st.integers(1, 60))
def test_days_tile_their_range(first: date, count: int) -> None:
    zone = ZoneInfo("Europe/Berlin")
    whole = DayRange(first, date.fromordinal(first.toordinal() + count))
    parts = [
        DayRange(day, date.fromordinal(day.toordinal() + 1)) for day in whole.each()
    ]
    periods = [part.period(zone) for part in parts]
    assert periods[0].start_ms == whole.period(zone).start_ms
    assert periods[-1].end_ms == whole.period(zone).end_ms
    assert all(
        a.end_ms == b.start_ms for a, b in zip(periods, periods[1:], strict=False)
    )


@pytest.mark.parametrize("length", [1, 6, 7, 8, 20, 28])
def test_matching_weekdays_goes_back_whole_weeks_without_overlap(length: int) -> None:
    days = DayRange(date(2026, 11, 3), date(2026, 11, 3) + timedelta(days=length))
    before = compared_with(days, "weekdays")
    assert before is not None
    assert before.days == length
    assert before.first.weekday() == days.first.weekday()
    assert before.after <= days.first
    assert (days.first - before.after).days < 7
