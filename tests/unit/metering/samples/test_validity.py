"""How long a sample is valid (rules N5, N6): the rule, and its array form on random data."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from accounting.core.arrays import Keys, sums_before
from accounting.metering.rules.samples.validity import (
    LONGEST_GAP_STEPS,
    far_apart,
    longest_gap_ms,
    valid_until_ms,
    validities,
    validity,
)

STEP = 30

# times of the samples, their steps, and when holders change
Gpu = tuple[list[int], list[int], list[int]]


@st.composite
def gpus(draw: st.DrawFn) -> Gpu:
    """One GPU's samples with gaps around 1.5 steps, and changes near them."""
    gaps = st.sampled_from([1, 15, 29, 30, 31, 44, 45, 46, 60, 100])
    times: list[int] = []
    at = draw(st.integers(-100, 100))
    for gap in draw(st.lists(gaps, max_size=8)):
        times.append(at)
        at += gap
    steps = draw(
        st.lists(
            st.sampled_from([1, 15, 29, 30, 31, 60]),
            min_size=len(times),
            max_size=len(times),
        )
    )
    instants = st.one_of(
        st.integers(-200, 400), *([st.sampled_from(times)] if times else [])
    )
    return times, steps, sorted(draw(st.sets(instants, max_size=5)))


def of_one(times: list[int], changes: list[int]) -> Gpu:
    """A GPU between two others, all with a step of 30."""
    return times, [STEP] * len(times), changes


@given(st.lists(gpus(), max_size=4))
@example([([], [], [3]), of_one([0, 30, 60, 105, 151], []), ([], [], [])])
@example([of_one([0, 30, 60, 90], [30, 60]), of_one([100], [90, 110])])
@example([of_one([100, 130, 160], [55, 99]), of_one([100, 130, 160], [54])])
def test_the_array_form_is_the_rule(fleet: Sequence[Gpu]) -> None:
    """Of every sample of every GPU; a neighbor's samples and changes do not count."""
    times, steps = (
        np.array([one for gpu in fleet for one in gpu[n]], np.int64) for n in (0, 1)
    )
    first = sums_before(np.array([len(gpu[0]) for gpu in fleet], np.int64))
    start, end = validities(Keys(0), first, times, steps, [gpu[2] for gpu in fleet])
    expected = [
        validity(times, i, step, changes)
        for times, steps, changes in fleet
        for i, step in enumerate(steps)
    ]
    assert list(zip(start.tolist(), end.tolist(), strict=True)) == expected


@pytest.mark.parametrize(
    ("following", "end"), [(None, 30), (20, 20), (45, 45), (46, 30), (200, 30)]
)
def test_a_sample_is_valid_until_the_next_or_for_a_step(
    following: int | None, end: int
) -> None:
    """N5: at 0 with a step of 30."""
    assert valid_until_ms(0, following, STEP) == end


def test_a_gap_of_just_one_and_a_half_steps_is_none() -> None:
    assert LONGEST_GAP_STEPS == 1.5
    assert longest_gap_ms(STEP) == 45
    assert not far_apart(45, STEP)
    assert far_apart(46, STEP)
    assert longest_gap_ms(15) == 22  # 22.5, in whole milliseconds
    assert not far_apart(22, 15)
    assert far_apart(23, 15)


@pytest.mark.parametrize(
    ("times", "changes", "expected"),
    [
        ([0, 30, 60, 150], [], [(0, 30), (30, 60), (60, 90), (150, 180)]),
        ([0, 30, 60], [40], [(0, 30), (30, 40), (40, 90)]),
        ([0, 30, 60], [30, 60], [(0, 30), (30, 60), (60, 90)]),
        ([100, 130], [55], [(55, 130), (130, 160)]),  # 1.5 steps before the first
        ([100, 130], [54], [(100, 130), (130, 160)]),
        ([100, 130], [150, 155], [(100, 130), (130, 150)]),
        ([100, 130], [110, 120], [(100, 110), (120, 160)]),
    ],
)
def test_validity_ends_where_holders_change(
    times: list[int], changes: list[int], expected: list[tuple[int, int]]
) -> None:
    """N6: a sample counts for those who held the GPU at its time."""
    found = [validity(times, i, STEP, changes) for i in range(len(times))]
    assert found == expected
