"""Figures as values: stacks, gaps, bars, sparks, calendars. Colours are token names."""

import json
import re
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting.core.efficiency import StateTimes
from accounting.core.ledger_line import STATES
from accounting.kit.charts import bars, grids, plots
from accounting.kit.charts.plots import PlotSeries, TimeAxis
from accounting.usage.pages import shapes
from accounting.usage.rules.hour_of_week import WeekHour

DAYS = TimeAxis(
    labels=("Sun 1 Nov 2026", "Mon 2 Nov 2026", "Tue 3 Nov 2026"),
    ticks=((1, "2 Nov"),),
    edges=(
        ("2026-11-01", "2026-11-02"),
        ("2026-11-02", "2026-11-03"),
        ("2026-11-03", "2026-11-04"),
    ),
)


def test_the_four_words_cover_the_seven_states_once() -> None:
    covered = [state for states in bars.STATE_GROUPS.values() for state in states]
    assert sorted(covered) == sorted(STATES)
    found = bars.by_state_group(dict.fromkeys(STATES, 5))
    assert sum(found.values()) == 5 * len(STATES)


def test_money_stacks_series_and_marks_missing_steps() -> None:
    series = [
        PlotSeries("llm", 1, (Decimal("2.50"), None, Decimal(4))),
        PlotSeries("vision", 2, (Decimal(1), None, Decimal(0))),
    ]
    figure = plots.money_by_step(DAYS, series, "€")
    stacks, total = figure["data"][:2], figure["data"][2]
    assert [bar["y"] for bar in stacks] == [[2.5, None, 4.0], [1.0, None, 0.0]]
    assert stacks[1]["marker"]["color"] == "$c2"
    assert total["y"] == [3.5, None, 4.0]
    [missing] = figure["layout"]["shapes"]
    assert (missing["x0"], missing["x1"]) == (0.6, 1.4)
    assert figure["layout"]["xaxis"]["tickvals"] == ["Mon 2 Nov 2026"]
    assert figure["layout"]["xaxis"]["range"] == [-0.5, 2.5]
    assert figure["layout"]["meta"]["edges"][2] == ("2026-11-03", "2026-11-04")
    assert figure["layout"]["yaxis"]["rangemode"] == "tozero"
    assert figure["layout"]["meta"]["currency"] == "€"
    assert figure["layout"]["yaxis"]["tickformat"] == "$~s"
    json.dumps(figure)


def test_at_most_seven_series_have_a_name() -> None:
    series = [PlotSeries(f"team-{n}", n % 9, (Decimal(100 - n),)) for n in range(12)]
    shown = plots.top_series(series)
    assert [one.name for one in shown[:2]] == ["team-0", "team-1"]
    assert len(shown) == 8
    assert shown[-1].name == "Other (5)"
    assert shown[-1].slot == plots.OTHER_SLOT
    assert sum(one.total for one in shown) == sum(one.total for one in series)


def test_eight_series_need_no_other() -> None:
    series = [PlotSeries(f"team-{n}", n, (Decimal(n),)) for n in range(8)]
    assert len(plots.top_series(series)) == 8
    assert "Other" not in plots.top_series(series)[-1].name


def test_held_gpus_are_solid_hatched_and_pale() -> None:
    figure = plots.gpus_over_time(
        DAYS,
        {"Busy": [2.0, None, 1], "Idle": [1.0, None, 0], "No data": [None, None, 1]},
        3,
    )
    busy, idle, unknown = figure["data"]
    assert busy["marker"]["color"] == "$c3"
    assert "pattern" not in busy["marker"]
    assert idle["marker"]["pattern"]["fgcolor"] == "$c3"
    assert unknown["y"] == [None, None, 1]
    assert [shape["x0"] for shape in figure["layout"]["shapes"]] == [0.6]
    assert figure["layout"]["barmode"] == "stack"


def test_a_spark_breaks_at_a_gap() -> None:
    line = bars.spark([1, 2, None, 3, 4])
    assert len(line.pieces) == 2
    assert line.end is not None
    assert bars.spark([None, None]).pieces == ()
    assert bars.spark([5]).pieces == ()


def test_a_flat_spark_does_not_divide_by_zero() -> None:
    assert bars.spark([0, 0, 0]).pieces
    assert bars.spark([7, 7, 7]).pieces


amounts = st.dictionaries(
    st.sampled_from(["busy", "idle", "unknown", "rest"]),
    st.integers(0, 10**12),
    min_size=1,
)


@given(amounts)
def test_the_parts_of_a_bar_follow_each_other(found: dict[str, int]) -> None:
    parts = bars.bar_parts(found, sum(found.values()))
    assert [part.kind for part in parts] == [kind for kind, ms in found.items() if ms]
    for before, after in zip(parts, parts[1:], strict=False):
        assert before.x + before.width <= after.x + 0.02
    if parts:
        assert parts[-1].x + parts[-1].width <= 100.0 + 0.3 * len(parts)


def test_heat_steps_keep_no_data_apart_from_zero() -> None:
    assert grids.heat_step(None) is None
    assert grids.heat_step(0.0) == 0
    assert grids.heat_step(0.999) == 9
    assert grids.heat_step(1.0) == 9


def test_an_hour_of_the_week_that_nobody_held_is_told_from_one_without_data() -> None:
    free, dark = WeekHour(0, 0), WeekHour(0, 1, has_data=False)
    outside = WeekHour(0, 2, is_in_range=False, has_data=False)
    unseen, busy = (
        WeekHour(0, 3, StateTimes(0, 0, 5)),
        WeekHour(0, 4, StateTimes(3, 1, 0)),
    )
    grid = shapes.week_grid([free, dark, outside, unseen, busy])
    assert [(cell.look, cell.text) for cell in grid.cells] == [
        ("free", "Monday 00:00: nothing held"),
        ("dark", "Monday 01:00: no data"),
        ("dark", "Monday 03:00: no data"),
        ("q7", "Monday 04:00: 75.0% busy"),
    ]
    assert grid.rows[0] == ("Monday", "Not held", "No data", "", "No data", "75.0%")
    assert (grid.has_free, grid.has_dark, grid.has_gaps) == (True, True, True)


def test_a_calendar_has_monday_on_top_and_words_for_coverage() -> None:
    found = grids.coverage_calendar(
        {
            date(2026, 11, 1): 0.999,  # a Sunday
            date(2026, 11, 2): 0.96,
            date(2026, 11, 3): 0.4,
            date(2026, 11, 4): None,
        }
    )
    assert [cell.kind for cell in found.cells] == ["full", "most", "low", "none"]
    assert found.cells[1].y == grids.TOP
    assert found.cells[0].y == grids.TOP + 6 * grids.PITCH
    assert found.cells[1].x > found.cells[0].x
    assert grids.coverage_calendar({}).cells == ()


def test_extremes_ignore_what_is_not_known() -> None:
    assert plots.extremes([None, Decimal(3), Decimal(1)]) == (1, 2)
    assert plots.extremes([None, None, None]) is None


CSS = Path(__file__).resolve().parents[3] / "static" / "css"


def tokens_of(value: object) -> set[str]:
    """Names of the tokens in a figure: `"$unknown"` names `--unknown`."""
    if isinstance(value, str):
        return {value[1:]} if value.startswith("$") else set()
    inner = value.values() if isinstance(value, dict) else ()
    return {name for one in inner for name in tokens_of(one)}


@pytest.mark.parametrize("kind", sorted(set(bars.WORD_CLASS.values())))
def test_a_state_has_the_same_color_in_charts_and_in_css(kind: str) -> None:
    drawn = tokens_of(plots.HATCHED[kind](3)) - {"surface"}
    rule = re.search(
        rf"^\.s-{kind}\b[^{{]*\{{([^}}]*)\}}",
        (CSS / "components.css").read_text(),
        re.MULTILINE,
    )
    assert rule is not None
    named = set(re.findall(r"var\(--([\w-]+)\)", rule[1]))
    if kind in {"busy", "idle"}:  # these have the color of the team, here the third
        css = (CSS / "tokens.css").read_text()
        assert named == {kind}
        assert "--busy: var(--tc, var(--c1)); --idle: var(--busy);" in css
        assert ".t3 { --tc: var(--c3); }" in css
        named = {"c3"}
    assert drawn == named


def test_each_token_of_a_figure_is_defined() -> None:
    css = (CSS / "tokens.css").read_text()
    for kind, style in plots.HATCHED.items():
        for name in tokens_of(style(3)):
            assert f"--{name}: " in css, (kind, name)


@pytest.mark.parametrize("state", STATES)
def test_each_state_has_a_token_and_a_rule(state: str) -> None:
    assert f"--{state}: " in (CSS / "tokens.css").read_text()
    assert re.search(
        rf"^\.s-{state}\b", (CSS / "components.css").read_text(), re.MULTILINE
    )


def test_the_look_of_a_state_is_drawn_in_one_place() -> None:
    drawn = {
        str(path.relative_to(CSS.parents[1]))
        for folder in ("templates", "accounting", "scheduler_view", "portal")
        for path in (CSS.parents[1] / folder).rglob("*")
        if path.suffix in {".html", ".py"} and "url(#hatch-" in path.read_text()
    }
    logo = "templates/components/mark.html"  # pages of failures load no tags
    assert drawn == {"accounting/kit/tags/components.py", logo}
