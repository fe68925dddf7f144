"""Averages over time, weighted by how long a value lasted: S16."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_view.queues.rules.averages import ObservedLevels, averages

Level = tuple[int, int, float | None]


def averaged(levels: list[Level], bounds: list[int]) -> list[float | None]:
    starts, ends = ([one[i] for one in levels] for i in (0, 1))
    values = [math.nan if value is None else value for _, _, value in levels]
    return averages(
        ObservedLevels(
            np.array(starts, dtype=np.int64),
            np.array(ends, dtype=np.int64),
            np.array(values, dtype=float),
        ),
        np.array(bounds),
    )


def test_a_value_counts_as_long_as_it_lasted() -> None:
    """The example of docs/scheduling.md S16: 12 for 45 minutes and 4 for 15 are 10."""
    levels: list[Level] = [(0, 45, 12), (45, 60, 4), (130, 150, 8)]
    assert averaged(levels, [0, 60, 120, 180]) == [10, None, 8]


def test_an_unknown_value_is_not_zero() -> None:
    assert averaged([(0, 45, 12), (45, 60, None)], [0, 60]) == [12]
    assert averaged([(0, 60, None)], [0, 60]) == [None]
    assert averaged([], [0, 60, 120]) == [None, None]


@given(
    st.lists(
        st.tuples(
            st.integers(0, 9), st.integers(1, 50), st.none() | st.integers(0, 30)
        ),
        max_size=8,
    ),
    st.integers(-20, 20),
    st.integers(1, 40),
)
def test_each_step_is_the_mean_of_its_observed_milliseconds(
    parts: list[tuple[int, int, int | None]], first: int, step: int
) -> None:
    """Against every millisecond by itself, with gaps, unknown values and levels outside."""
    levels: list[Level] = []
    at = 0
    for gap, length, value in parts:
        levels.append((at + gap, at + gap + length, value))
        at += gap + length
    bounds = list(range(first, at + 2 * step + 20, step))
    known = {
        ms: value
        for start, end, value in levels
        if value is not None
        for ms in range(start, end)
    }
    for found, (start, end) in zip(
        averaged(levels, bounds), pairwise(bounds), strict=True
    ):
        values = [known[ms] for ms in range(start, end) if ms in known]
        assert found == (pytest.approx(sum(values) / len(values)) if values else None)
