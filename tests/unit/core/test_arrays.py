"""Small array operations, against loops over the same numbers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from accounting.core.arrays import (
    cut_at_windows,
    group_starts,
    joined_arrays,
    ranges,
    sums_before,
)
from accounting.core.interval import Interval

SMALL = st.integers(0, 12)


@given(st.lists(st.tuples(SMALL, SMALL)), st.integers(1, 4))
def test_intervals_are_cut_at_windows(spans: list[tuple[int, int]], count: int) -> None:
    """The parts are what each interval and each window have in common."""
    windows = [Interval(2 + 3 * n, 5 + 3 * n) for n in range(count)]
    intervals = [Interval(min(span), max(span)) for span in spans]
    start = np.array([one.start_ms for one in intervals], np.int64)
    end = np.array([one.end_ms for one in intervals], np.int64)
    expected = [
        (n, w, common.start_ms, common.end_ms)
        for n, one in enumerate(intervals)
        for w, window in enumerate(windows)
        if (common := one.intersection(window)) is not None and one.length_ms
    ]
    found = cut_at_windows(windows, start, end)
    some = found.end > found.start
    assert [tuple(map(int, row)) for row in np.stack(found, axis=1)[some]] == expected


@given(st.lists(st.tuples(SMALL, st.integers(-2, 5))))
def test_ranges_are_written_one_after_another(pairs: list[tuple[int, int]]) -> None:
    first, count = np.array(pairs, np.int64).reshape(-1, 2).T
    owner, number = ranges(first, count)
    expected = [
        (n, low + i) for n, (low, several) in enumerate(pairs) for i in range(several)
    ]
    assert list(zip(owner.tolist(), number.tolist(), strict=True)) == expected


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1))
def test_groups_begin_where_a_column_changes(rows: list[tuple[int, int]]) -> None:
    table = np.array(rows, [("a", "i8"), ("b", "i8")])
    expected = [n for n in range(len(rows)) if n == 0 or rows[n] != rows[n - 1]]
    assert group_starts(table, ("a", "b")).tolist() == expected


@given(st.lists(st.integers(-5, 5)))
def test_sums_before_each_value_and_of_all(values: list[int]) -> None:
    expected = [sum(values[:n]) for n in range(len(values) + 1)]
    assert sums_before(np.array(values, np.int64)).tolist() == expected


def test_arrays_one_after_another() -> None:
    assert joined_arrays([]).tolist() == []
    one, two = np.array([1, 2], np.int64), np.array([3], np.int64)
    assert joined_arrays([one, two]).tolist() == [1, 2, 3]
