"""The chart of a queue: three lines that differ without color, and gaps that are marked."""

from accounting.kit.charts.plots import TimeAxis
from accounting.kit.charts.queues import LINES, queue_over_time


def test_lines_differ_in_dash_and_color_and_a_gap_is_marked() -> None:
    axis = TimeAxis(("a", "b"), (), ())
    figure = queue_over_time(axis, {name: [None, 2.0] for name in LINES})
    lines = [one["line"] for one in figure["data"]]
    assert len({line["dash"] for line in lines}) == 3
    assert [line["color"] for line in lines] == ["$c1", "$c2", "$c3"]
    assert all(one["y"] == [None, 2.0] for one in figure["data"])
    (gap,) = figure["layout"]["shapes"]
    assert (gap["x0"], gap["x1"]) == (-0.4, 0.4)
