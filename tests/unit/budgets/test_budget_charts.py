"""Bars and burn-down figures of budgets: geometry on one scale, and gaps that stay gaps."""

import pytest

from accounting.kit.charts.bullets import bullet
from accounting.kit.charts.burn_down import BurnDown, burn_down
from accounting.kit.charts.plots import TimeAxis


def test_all_marks_are_on_one_scale() -> None:
    bar = bullet(50, (80, 90, 104), budget=100, pace=70)
    assert (bar.actual, bar.pace, bar.expected) == (46.23, 64.72, 83.21)
    assert bar.budget == pytest.approx(2 * bar.actual, abs=0.01)
    assert bar.low == pytest.approx(0.8 * 92.46, abs=0.01)
    assert bar.width == pytest.approx(0.24 * 92.46, abs=0.02)
    assert not bar.is_over


def test_a_spent_budget_is_over_from_the_first_excess_on() -> None:
    assert not bullet(100, None, budget=100).is_over
    assert bullet(100.000001, None, budget=100).is_over


def test_what_is_not_known_is_not_drawn() -> None:
    bar = bullet(50, None)
    assert (bar.low, bar.width, bar.expected, bar.pace, bar.budget) == (None,) * 5
    assert 90 < bar.actual < 100


def test_a_range_without_width_is_still_visible() -> None:
    assert bullet(50, (50, 50, 50)).width == 0.3


def test_nothing_and_credits_fit_the_bar() -> None:
    assert bullet(0, None).actual == 0
    bar = bullet(-5, (-5, 0, 5), budget=10)
    assert (bar.actual, bar.low) == (0, 0)


def test_days_without_a_value_are_gaps_of_the_figure() -> None:
    axis = TimeAxis(("Mon", "Tue"), ((0, "Mon"),), ())
    values = BurnDown([9, None], [5, 0], [None, 3], [None, 2], [None, 4])
    figure = burn_down(axis, values, "€", "")
    lines = {one["name"]: one["y"] for one in figure["data"]}
    assert lines["Left"] == [9, None]
    assert lines["Forecast"] == [None, 3]
    assert lines["80% range"] == [None, 4]
    assert figure["layout"]["meta"]["currency"] == "€"
    assert figure["layout"]["yaxis"]["tickformat"] == "$~s"
