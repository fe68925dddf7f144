"""Held time of holds within a period, weighted by units and share."""

from fractions import Fraction

import pytest

from accounting.core.interval import Interval
from accounting.metering.rules.holds.hold import Hold
from tests.held_time import held_ms, held_ms_by


def hold(start: int, end: int, units: int = 1, share: Fraction = Fraction(1)) -> Hold:
    return Hold(
        *("uid", "ns", "pod", "n1", "nvidia.com/gpu", units, share, None, start),
        ended_ms=end,
        booked_until_ms=end,
    )


@pytest.mark.parametrize(
    ("start", "end", "held"),
    [(0, 50, 0), (50, 150, 50), (120, 130, 10), (150, 300, 50), (200, 300, 0)],
)
def test_only_what_lies_in_the_period_is_held(start: int, end: int, held: int) -> None:
    assert held_ms(hold(start, end), Interval(100, 200)) == held


def test_time_is_weighted_by_units_and_share_and_rounded_down() -> None:
    assert held_ms(hold(0, 100, 3, Fraction(1, 7)), Interval(0, 100)) == 42  # 42.86
    assert held_ms(hold(0, 100, 8), Interval(0, 100)) == 800


def test_held_time_by_key() -> None:
    items = [("a", hold(0, 10)), ("b", hold(0, 5)), ("a", hold(5, 10, 2))]
    assert held_ms_by(items, Interval(0, 100)) == {"a": 20, "b": 5}
