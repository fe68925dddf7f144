"""Bars by day against a line, in its range: gaps stay gaps, marks are of days that stand out."""

from datetime import date, timedelta

import pytest

from accounting.kit.charts.compared import BarsAndLine, compared
from accounting.usage.pages.steps import day_axis

DAYS = [date(2026, 11, 1) + timedelta(days=n) for n in range(3)]


def test_a_gap_is_marked_and_a_range_that_is_not_known_is_not_drawn() -> None:
    figure = compared(
        day_axis(DAYS),
        BarsAndLine(
            name="Actual",
            bars=[5.0, None, 9.0],
            line_name="Expected",
            line=[None, 4.0, 4.0],
            low=[None, 3.0, 3.0],
            high=[None, 5.0, 5.0],
            marked={2},
        ),
        "€",
    )
    bars, line = figure["data"]
    assert bars["y"] == [5.0, None, 9.0]
    assert bars["marker"]["opacity"] == [0.4, 0.4, 1]
    assert line["y"] == [None, 4.0, 4.0]
    gap, *ranges = figure["layout"]["shapes"]
    assert (gap["x0"], gap["x1"]) == (0.6, 1.4)
    assert [(one["x0"], one["y0"], one["y1"]) for one in ranges] == [
        (0.5, 3.0, 5.0),
        (1.5, 3.0, 5.0),
    ]


def test_without_a_mark_no_bar_is_pale() -> None:
    figure = compared(
        day_axis(DAYS), BarsAndLine("Billed", [1, 2, 3], "Our cost", [1, 2, 3]), ""
    )
    assert figure["data"][0]["marker"]["opacity"] == [1, 1, 1]
    assert figure["layout"]["shapes"] == []


@pytest.mark.parametrize(("days", "ticks"), [(31, 5), (92, 3), (366, 6)])
def test_weeks_or_months_are_marked(days: int, ticks: int) -> None:
    axis = day_axis([date(2026, 10, 1) + timedelta(days=n) for n in range(days)])
    assert len(set(axis.labels)) == days
    assert abs(len(axis.ticks) - ticks) <= 1
