"""How samples become spans and changes, in whatever pieces they are read (rules.md N1, N5)."""

import numpy as np
import pytest

from accounting.core.interval import Interval
from accounting.metering.rules.inventory.merge.operations import (
    changes_of,
    merge_changes,
    put_spans,
    spans_of,
    within,
)
from accounting.metering.rules.inventory.records import SampleSpan
from accounting.metering.rules.samples.series import ScraperIdentity, Series, Times


def step(_at: int) -> int:
    return 30


def test_a_period_has_its_start_and_not_its_end() -> None:
    times = np.array([0, 30, 60, 90], np.int64)
    series = Series(
        "up", "up", ScraperIdentity("job", "one"), times, np.ones(4), {}, None
    )
    assert within(series, Interval(30, 90)) == slice(1, 3)
    assert within(series, Interval(91, 99)) == slice(4, 4)


def test_a_gap_of_one_and_a_half_steps_is_none() -> None:
    assert spans_of([0, 45, 90], step) == [SampleSpan(0, 90, 30)]
    assert spans_of([0, 46], step) == [SampleSpan(0, 0, 30), SampleSpan(46, 46, 30)]
    assert spans_of([], step) == []


def test_the_earlier_sample_of_a_gap_says_how_long_it_may_be() -> None:
    assert spans_of([0, 60], lambda at: 60 if at == 0 else 10) == [
        SampleSpan(0, 60, 10)
    ]
    assert spans_of([0, 60], lambda at: 10 if at == 0 else 60) == [
        SampleSpan(0, 0, 10),
        SampleSpan(60, 60, 60),
    ]


def test_nothing_fresh_changes_nothing() -> None:
    spans = [SampleSpan(0, 60, 30)]
    assert put_spans(spans, []) is False
    assert put_spans(spans, [SampleSpan(0, 60, 30)]) is False
    assert spans == [SampleSpan(0, 60, 30)]


def test_fresh_spans_say_what_is_true_of_their_time() -> None:
    """One span of a long step was two of a short one."""
    spans = [SampleSpan(0, 300, 60)]
    fresh = [SampleSpan(90, 120, 10), SampleSpan(180, 200, 10)]
    assert put_spans(spans, fresh) is True
    assert [(span.first_ms, span.last_ms) for span in spans] == [(0, 120), (180, 300)]


def test_what_lies_apart_stays() -> None:
    spans = [SampleSpan(0, 60, 30), SampleSpan(600, 660, 30)]
    assert put_spans(spans, [SampleSpan(300, 330, 30)]) is True
    assert spans == [
        SampleSpan(0, 60, 30),
        SampleSpan(300, 330, 30),
        SampleSpan(600, 660, 30),
    ]


Case = tuple[list[tuple[int, str]], list[tuple[int, str]], int, list[tuple[int, str]]]


@pytest.mark.parametrize(
    ("known", "seen", "last", "expected"),
    [
        ([], [(0, "a")], 9, [(0, "a")]),
        ([(0, "a")], [(5, "a")], 9, [(0, "a")]),
        ([(0, "a")], [(5, "b")], 9, [(0, "a"), (5, "b")]),
        ([(5, "a")], [(0, "a")], 3, [(0, "a")]),
        ([(0, "a"), (5, "b")], [(5, "a")], 5, [(0, "a")]),
        ([(0, "a"), (6, "b")], [(5, "a")], 5, [(0, "a"), (6, "b")]),
        ([(0, "a"), (6, "b")], [(5, "c")], 7, [(0, "a"), (5, "c")]),
        ([(5, "a")], [(5, "b")], 5, [(5, "b")]),
    ],
)
def test_a_history_is_replaced_where_it_was_seen_again(
    known: list[tuple[int, str]],
    seen: list[tuple[int, str]],
    last: int,
    expected: list[tuple[int, str]],
) -> None:
    history = list(known)
    assert merge_changes(history, seen, last) is (expected != known)
    assert history == expected


def test_nothing_seen_changes_no_history() -> None:
    history = [(0, "a"), (1, "a")]
    assert merge_changes(history, [], 5) is False
    assert history == [(0, "a"), (1, "a")]


def at(*times: int) -> Times:
    return np.array(times, np.int64)


@pytest.mark.parametrize(
    ("parts", "changes", "last"),
    [
        ([(at(0, 5), "a")], [(0, "a")], 5),
        ([(at(6, 9), "b"), (at(0, 3), "a")], [(0, "a"), (6, "b")], 9),
        # what went away and came back
        ([(at(0, 9), "a"), (at(3, 6), "b")], [(0, "a"), (3, "b"), (9, "a")], 9),
        # of two at one time, the one that began last
        ([(at(0, 3, 6), "a"), (at(3, 6), "b")], [(0, "a"), (3, "b")], 6),
        ([(at(0, 3), "a"), (at(3, 6), "a")], [(0, "a")], 6),
    ],
)
def test_every_change_in_a_period_is_known(
    parts: list[tuple[Times, str]], changes: list[tuple[int, str]], last: int
) -> None:
    assert changes_of(parts) == (changes, last)
