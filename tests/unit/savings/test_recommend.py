"""Savings of recommendations, worked out by hand."""

from decimal import Decimal
from fractions import Fraction

import pytest

from scheduler_view.savings.rules.recommend import (
    Confidence,
    WeekWaste,
    measured_saving,
    saving_of,
    smaller_quota,
)

DAY_MS = 86_400_000


def week(days: int, gpu_days: int) -> WeekWaste:
    """At 1 per GPU-hour: raw money is as many milliseconds."""
    raw = Decimal(gpu_days * DAY_MS)
    return WeekWaste(days, gpu_days * DAY_MS, raw, raw)


def test_a_saving_ranges_from_the_least_to_the_most_wasteful_week() -> None:
    # 7, 14, 21, 28 GPU-days in weeks of 7 days: 1 to 4 GPUs. A month: 30 to 120 GPU-days.
    found = saving_of([week(7, 7), week(7, 14), week(7, 21), week(7, 28)])
    assert found is not None
    assert (found.low, found.high) == (Fraction(30 * DAY_MS), Fraction(120 * DAY_MS))
    assert found.gpus == Fraction(5, 2)
    assert found.confidence is Confidence.HIGH


def test_weeks_that_were_not_measured_are_left_out() -> None:
    # 4 GPU-days in 4 measured days, and a measured week without findings: 0 to 30 GPU-days.
    found = saving_of([week(0, 0), week(0, 0), week(7, 0), week(4, 4)])
    assert found is not None
    assert (found.low, found.high) == (Fraction(0), Fraction(30 * DAY_MS))
    assert found.confidence is Confidence.LOW
    assert saving_of([week(7, 0), week(0, 0)]) is None
    assert saving_of([]) is None


def test_a_week_of_few_days_is_not_compared_with_whole_ones() -> None:
    """Data begin on the last day of the oldest week, on which nothing was found."""
    found = saving_of([week(7, 14), week(7, 7), week(1, 0)])
    assert found is not None
    assert (found.low, found.high) == (Fraction(30 * DAY_MS), Fraction(60 * DAY_MS))
    assert (found.found, found.measured, found.is_steady) == (2, 2, True)
    alone = saving_of([week(3, 3)])
    assert alone is not None
    assert alone.high == 30 * DAY_MS


def test_a_saving_is_measured_a_week_after_the_decision() -> None:
    # before 2 GPUs a day; after: 7 GPU-days in 7 days. One GPU saved: 30 GPU-days a month.
    before, after = Decimal(2 * DAY_MS), Decimal(7 * DAY_MS)
    assert measured_saving(before, after, 7) == 30 * DAY_MS
    assert measured_saving(before, after, 6) is None
    assert measured_saving(Decimal(0), after, 7) == -30 * DAY_MS, "it became worse"


@pytest.mark.parametrize(
    ("gpus", "wasted", "smaller"), [(8, 17, 6), (8, 6, None), (2, 14, None)]
)
def test_a_smaller_quota_leaves_out_whole_wasted_gpus(
    gpus: int, wasted: int, smaller: int | None
) -> None:
    saving = saving_of([week(7, wasted)])
    assert saving is not None
    assert smaller_quota(gpus, saving.gpus) == smaller
