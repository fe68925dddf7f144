"""Ranges as people type them, on Friday 20 November 2026.

Covers each form once or more, what may mean two things, and what means nothing. Leaves out
other languages than English, but for the dates of those who write the day first.
"""

import contextlib
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting.core.billing_calendar import DayRange, preset_range
from accounting.kit.tags import units
from accounting.usage.rules.date_range_parts import RangeError
from accounting.usage.rules.date_ranges import EXAMPLES, parse_words, preset_named

TODAY = date(2026, 11, 20)


def span(first: str, last: str) -> DayRange:
    """Both days count."""
    return DayRange(
        date.fromisoformat(first),
        date.fromordinal(date.fromisoformat(last).toordinal() + 1),
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        # calendar weeks and months, not the days up to today
        ("last week", span("2026-11-09", "2026-11-15")),
        ("previous week", span("2026-11-09", "2026-11-15")),
        ("this week", span("2026-11-16", "2026-11-20")),
        ("last month", span("2026-10-01", "2026-10-31")),
        ("this month", span("2026-11-01", "2026-11-20")),
        ("month to date", span("2026-11-01", "2026-11-20")),
        ("MTD", span("2026-11-01", "2026-11-20")),
        ("quarter", span("2026-10-01", "2026-11-20")),
        ("last quarter", span("2026-07-01", "2026-09-30")),
        ("this year", span("2026-01-01", "2026-11-20")),
        ("year to date", span("2026-01-01", "2026-11-20")),
        ("last year", span("2025-01-01", "2025-12-31")),
        # counted back from today
        ("last 3 weeks", span("2026-10-31", "2026-11-20")),
        ("Last  10 days", span("2026-11-11", "2026-11-20")),
        ("last 2 months", span("2026-09-21", "2026-11-20")),
        ("past week", span("2026-11-14", "2026-11-20")),
        ("30 days", span("2026-10-22", "2026-11-20")),
        ("4w", span("2026-10-24", "2026-11-20")),
        # months, with and without a year: the newest that has begun
        ("October", span("2026-10-01", "2026-10-31")),
        ("oct", span("2026-10-01", "2026-10-31")),
        ("november", span("2026-11-01", "2026-11-30")),
        ("december", span("2025-12-01", "2025-12-31")),
        ("oct 2026", span("2026-10-01", "2026-10-31")),
        ("Oct. 2025", span("2025-10-01", "2025-10-31")),
        ("Sept 2026", span("2026-09-01", "2026-09-30")),
        ("2026 february", span("2026-02-01", "2026-02-28")),
        ("10/2026", span("2026-10-01", "2026-10-31")),
        ("2026-10", span("2026-10-01", "2026-10-31")),
        ("2026/2", span("2026-02-01", "2026-02-28")),
        # quarters, years and weeks
        ("Q3", span("2026-07-01", "2026-09-30")),
        ("q4", span("2026-10-01", "2026-12-31")),
        ("Q1 2025", span("2025-01-01", "2025-03-31")),
        ("2025-Q1", span("2025-01-01", "2025-03-31")),
        ("2025", span("2025-01-01", "2025-12-31")),
        ("week 46", span("2026-11-09", "2026-11-15")),
        ("w50", span("2025-12-08", "2025-12-14")),
        ("KW 1 2026", span("2025-12-29", "2026-01-04")),
        ("2026-W46", span("2026-11-09", "2026-11-15")),
        ("week 53", span("2020-12-28", "2021-01-03")),
        # since something
        ("since monday", span("2026-11-16", "2026-11-20")),
        ("since Friday", span("2026-11-20", "2026-11-20")),
        ("since last friday", span("2026-11-13", "2026-11-20")),
        ("since October", span("2026-10-01", "2026-11-20")),
        ("since 3 nov", span("2026-11-03", "2026-11-20")),
        ("since 2026-11-03", span("2026-11-03", "2026-11-20")),
        ("since yesterday", span("2026-11-19", "2026-11-20")),
        # days
        ("today", span("2026-11-20", "2026-11-20")),
        ("monday", span("2026-11-16", "2026-11-16")),
        ("2026-10-03", span("2026-10-03", "2026-10-03")),
        ("3 Nov", span("2026-11-03", "2026-11-03")),
        ("Nov 3rd, 2025", span("2025-11-03", "2025-11-03")),
        ("25 dec", span("2025-12-25", "2025-12-25")),
        ("29 feb", span("2024-02-29", "2024-02-29")),
        ("3.11.2026", span("2026-11-03", "2026-11-03")),
        ("31.12.", span("2025-12-31", "2025-12-31")),
        ("13/11/2026", span("2026-11-13", "2026-11-13")),
        ("11/13/2026", span("2026-11-13", "2026-11-13")),
        # two ends
        ("2026-10-01..2026-10-31", span("2026-10-01", "2026-10-31")),
        ("2026-10-01 \N{EN DASH} 2026-10-31", span("2026-10-01", "2026-10-31")),
        ("1 oct to 15 nov", span("2026-10-01", "2026-11-15")),
        ("20 dec to 3 jan", span("2025-12-20", "2026-01-03")),
        ("oct to nov 2025", span("2025-10-01", "2025-11-30")),
        ("dec to jan 2026", span("2025-12-01", "2026-01-31")),
        ("Q1..Q3", span("2026-01-01", "2026-09-30")),
        ("week 45 - week 46", span("2026-11-02", "2026-11-15")),
        ("1-15 oct", span("2026-10-01", "2026-10-15")),
        ("monday to wednesday", span("2026-11-16", "2026-11-18")),
    ],
)
def test_typed_words_are_understood(words: str, expected: DayRange) -> None:
    assert parse_words(words, TODAY) == expected


@pytest.mark.parametrize(
    "words",
    [
        *("", "soon", "next week", "in october", "q5", "week 54", "week 0", "ma", "j"),
        *("2026-13", "2026-02-30", "30 feb", "13/2026", "last 0 days", "since", ".."),
        *(
            "last 9999 years",
            "9999 quarters",
            "0000",
            "a..b",
            "1-15",
            "99.99.",
            "40 oct",
        ),
        *("2026-W54", "week 53 2025", "since soon", "1 oct to soon", "soon to 1 oct"),
    ],
)
def test_words_that_mean_nothing_are_repeated_with_examples(words: str) -> None:
    with pytest.raises(RangeError) as error:
        parse_words(words, TODAY)
    assert str(error.value) == f'"{words}" is not a range. Try {EXAMPLES}.'


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("3/11/2026", "may be 2026-11-03 or 2026-03-11"),
        ("2026-10-31..2026-10-01", r"last day \(2026-10-01\) is before the first"),
        ("since 2027-01-01", "2027-01-01 is in the future"),
    ],
)
def test_words_that_contradict_say_how(words: str, why: str) -> None:
    with pytest.raises(RangeError, match=why):
        parse_words(words, TODAY)


def test_both_slashes_alike_are_one_day() -> None:
    assert parse_words("11/11/2026", TODAY) == span("2026-11-11", "2026-11-11")


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("Last week", "last-week"),
        ("this  month", "month-to-date"),
        ("last-7-days", "last-7-days"),
        ("october", ""),
        ("last 7 weeks", ""),
    ],
)
def test_words_for_a_preset_stay_current(words: str, name: str) -> None:
    assert preset_named(words) == name
    if name:
        assert parse_words(words, TODAY) == preset_range(name, TODAY)


@given(
    st.dates(date(2020, 1, 1), date(2026, 11, 20)),
    st.integers(min_value=1, max_value=400),
)
def test_the_label_of_a_range_can_be_typed(first: date, days: int) -> None:
    """`28 Sept - 3 Oct 2026`: what a page shows is what it understands."""
    shown = DayRange(first, date.fromordinal(first.toordinal() + days))
    assert parse_words(units.days(shown), TODAY) == shown


@given(st.text(max_size=24))
def test_any_text_is_a_range_or_an_error(text: str) -> None:
    with contextlib.suppress(RangeError):
        parse_words(text, TODAY)
