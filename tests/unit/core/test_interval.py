"""Half-open periods and the UTC grid (rules.md N1; docs/decisions/0001)."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from accounting.core.interval import (
    HOUR_MS,
    Interval,
    hour_periods,
    to_instant,
    to_ms,
    window_of,
)

NINE = datetime(2026, 10, 1, 9, tzinfo=UTC)
NINE_MS = 1_790_845_200_000


def test_an_instant_is_whole_milliseconds_since_1970() -> None:
    assert to_ms(NINE) == NINE_MS
    assert to_ms(NINE + timedelta(microseconds=1_999)) == NINE_MS + 1
    assert to_ms(datetime(2026, 10, 1, 11, tzinfo=timezone(timedelta(hours=2)))) == (
        NINE_MS
    )
    assert to_instant(NINE_MS + 1) == NINE + timedelta(milliseconds=1)
    assert to_instant(NINE_MS).tzinfo is UTC


def test_a_naive_instant_is_refused() -> None:
    with pytest.raises(ValueError, match=r"datetime\(2026, 10, 1, 0, 0\) has no time"):
        to_ms(datetime(2026, 10, 1))  # noqa: DTZ001


def test_a_period_that_ends_before_it_starts_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"ends before it starts: Interval\(start_ms=2"
    ):
        Interval(2, 1)
    assert Interval(2, 2).length_ms == 0


def test_the_start_belongs_to_it_and_the_end_does_not() -> None:
    period = Interval.of(NINE, NINE + timedelta(hours=1))
    assert (period.start, period.end) == (NINE, NINE + timedelta(hours=1))
    assert period.length_ms == 3_600_000
    inside = [period.start_ms - 1, period.start_ms, period.end_ms - 1, period.end_ms]
    assert [period.contains(at) for at in inside] == [False, True, True, False]


@pytest.mark.parametrize(
    ("other", "common"),
    [
        (Interval(0, 10), None),
        (Interval(0, 11), Interval(10, 11)),
        (Interval(12, 15), Interval(12, 15)),
        (Interval(15, 99), Interval(15, 20)),
        (Interval(20, 30), None),
    ],
)
def test_what_two_periods_share(other: Interval, common: Interval | None) -> None:
    assert Interval(10, 20).intersection(other) == common
    assert other.intersection(Interval(10, 20)) == common


def test_windows_and_hours_lie_on_the_grid() -> None:
    touched = Interval(NINE_MS + 299_999, NINE_MS + 600_001)
    assert [w.start_ms - NINE_MS for w in touched.windows()] == [0, 300_000, 600_000]
    assert {w.length_ms for w in touched.windows()} == {300_000}
    assert list(touched.hours()) == [Interval(NINE_MS, NINE_MS + 3_600_000)]
    exact = Interval(NINE_MS, NINE_MS + 300_000)
    assert list(exact.windows()) == [exact]
    assert list(Interval(NINE_MS, NINE_MS).windows()) == []


def test_a_window_contains_its_start_and_not_its_end() -> None:
    first = Interval(NINE_MS, NINE_MS + 300_000)
    assert window_of(NINE_MS) == window_of(NINE_MS + 299_999) == first
    assert window_of(NINE_MS + 300_000).start_ms == first.end_ms


def test_adjoining_hours_are_one_period_of_a_few_hours_at_most() -> None:
    hours = [NINE + timedelta(hours=n) for n in (4, 0, 1, 2, 7, 3, 1)]
    found = [
        ((period.start_ms - NINE_MS) / HOUR_MS, period.length_ms / HOUR_MS)
        for period in hour_periods(hours, at_most=3)
    ]
    assert found == [(0, 3), (3, 2), (7, 1)]
    assert list(hour_periods([], at_most=3)) == []
