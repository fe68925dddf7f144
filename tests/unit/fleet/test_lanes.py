"""Bars through time: ground and held, lanes, and the round times of an axis."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from accounting.kit.charts.lanes import LaneSpan, bars, ticks

START = datetime(2026, 11, 20, 10, tzinfo=UTC)
HOUR = timedelta(hours=1)
END = START + 4 * HOUR
BERLIN = ZoneInfo("Europe/Berlin")


def held(start: float, end: float, share: float = 1.0, words: str = "x") -> LaneSpan:
    return LaneSpan(START + start * HOUR, START + end * HOUR, "held", words, 3, share)


def test_what_is_held_stands_on_the_ground() -> None:
    ground = LaneSpan(START, END, "free", "free")
    first, second = bars([held(1, 3), ground], START, END)
    assert (first.look, first.x, first.width) == ("free", 0, 100)
    assert (second.look, second.x, second.width) == ("held", 25, 50)
    assert (second.y, second.height, second.slot) == (0, 100, 3)


def test_a_share_is_a_height_and_who_shares_stands_above() -> None:
    low, high = bars([held(0, 2, 0.25, "a"), held(1, 3, 0.5, "b")], START, END)
    assert (low.y, low.height) == (75, 25)
    assert (high.y, high.height) == (25, 50)


def test_one_that_follows_within_a_window_keeps_the_lane() -> None:
    near = held(2 - 1 / 12, 4)
    assert {bar.height for bar in bars([held(0, 2), near], START, END)} == {100}
    apart = held(1.5, 4)
    assert {bar.height for bar in bars([held(0, 2), apart], START, END)} == {50}


def test_more_lanes_than_a_row_holds_are_scaled_to_it() -> None:
    many = bars([held(0, 4, 1 / 7, f"{n}") for n in range(10)], START, END)
    assert sum(bar.height for bar in many) == pytest.approx(100, abs=0.1)
    assert min(bar.y for bar in many) == pytest.approx(0, abs=0.1)


def test_a_bar_is_cut_to_the_period_and_never_vanishes() -> None:
    [cut] = bars([held(-5, 1)], START, END)
    assert (cut.x, cut.width) == (0, 25)
    [short] = bars([held(1, 1.0001)], START, END)
    assert short.width == 0.15


@pytest.mark.parametrize(
    ("hours", "labels"),
    [
        (1, ["11:00", "11:10", "11:20", "11:30", "11:40", "11:50"]),
        (24, ["12:00", "18:00", "21 Nov", "06:00"]),
        (72, ["12:00", "21 Nov", "12:00", "22 Nov", "12:00", "23 Nov"]),
    ],
)
def test_ticks_are_round_times_of_the_reader(hours: int, labels: list[str]) -> None:
    found = ticks(START, START + hours * HOUR, BERLIN)
    assert [tick.label for tick in found] == labels
    assert found[0].x == pytest.approx({1: 0, 24: 100 / 24, 72: 100 / 72}[hours], 0.01)


def test_a_day_of_25_hours_keeps_its_noon() -> None:
    start = datetime(2026, 10, 24, 22, tzinfo=UTC)  # midnight in Berlin
    found = ticks(start, start + 49 * HOUR, BERLIN)
    at = {tick.label: tick.x for tick in found if tick.label != "12:00"}
    assert list(at) == ["25 Oct", "26 Oct"]
    assert at["26 Oct"] == pytest.approx(25 / 49 * 100, abs=0.01)
    assert ticks(start, start, BERLIN) == ()


def test_an_hour_that_clocks_skip_is_marked_once() -> None:
    start = datetime(2027, 3, 28, 0, tzinfo=UTC)  # 02:00 is skipped in Berlin
    found = ticks(start, start + 4 * HOUR, BERLIN)
    assert [tick.label for tick in found] == ["01:00", "03:00", "04:00", "05:00"]
