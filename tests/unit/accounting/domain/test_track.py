"""Steps and validity of samples, and which of two counts (rules N2-N5, N8)."""

import numpy as np
import pytest

from accounting.domain.period import Period
from accounting.domain.series import GpuKey, PodName, Scraper, Series
from accounting.domain.track import (
    BILLION,
    Steps,
    Track,
    Valid,
    billionths,
    distinct,
    fill,
)
from tests.unit.accounting.domain.fleet import ms

WINDOW = Period(ms(0), ms(300))


def track(seconds: list[float], duty: list[int] | None = None) -> Track:
    times = [ms(t) for t in seconds]
    return Track(Scraper(), times, duty or [BILLION] * len(times), Steps(times))


@pytest.mark.parametrize(
    ("seconds", "step"),
    [
        ([0, 30, 60, 90], 30),
        ([0, 15, 30, 90, 105], 15),
        ([0, 57, 171, 228], 57),  # lower median of 57, 57, 114
        ([-800, -400, 0], 300),  # never more than five minutes
        ([0, 30], 30),  # fewer than three: the default
        ([0, 120], 30),
    ],
)
def test_step_is_the_lower_median_gap(seconds: list[float], step: int) -> None:
    assert Steps([ms(t) for t in seconds]).at(ms(0)) == step * 1000


def test_declared_interval_rules() -> None:
    assert Steps([ms(t) for t in (0, 30, 60)], interval_ms=57_000).at(ms(0)) == 57_000


def test_few_samples_take_the_step_of_the_nodes_other_tracks() -> None:
    others = [Steps([ms(t) for t in (0, 60, 120)]), Steps([ms(t) for t in (0, 10, 20)])]
    assert Steps([ms(0)], others=others).at(ms(0)) == 10_000


def test_sample_speaks_to_the_next_one_or_for_one_step() -> None:
    pieces = track([0, 30, 60, 150, 180]).valid(WINDOW, ())
    spans = [((p.start_ms - ms(0)) // 1000, (p.end_ms - ms(0)) // 1000) for p in pieces]
    assert spans == [(0, 30), (30, 60), (60, 90), (150, 180), (180, 210)]


def test_validity_is_cut_where_holders_change() -> None:
    pieces = track([0, 30, 60, 90]).valid(WINDOW, [ms(40)])
    spans = [((p.start_ms - ms(0)) // 1000, (p.end_ms - ms(0)) // 1000) for p in pieces]
    assert spans == [(0, 30), (30, 40), (40, 90), (90, 120)]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.85, 850_000_000),
        (1.03, BILLION),  # up to 1.1 counts as 1
        (1.11, -1),
        (2.5, -1),
        (-0.01, -1),
        (float("nan"), -1),
        (float("inf"), -1),
        (9.223372036854775794e18, -1),  # a blank sentinel
    ],
)
def test_what_is_no_duty_is_no_data(value: float, expected: int) -> None:
    assert billionths(np.array([value])).tolist() == [expected]


def one(seconds: list[float], values: list[float], pod: str = "") -> Series:
    named = PodName("ns", pod) if pod else None
    times = np.array([ms(t) for t in seconds], np.int64)
    key = GpuKey("G", "n", plain=named)
    return Series("duty_engine", "x", Scraper(), times, np.array(values), gpu=key)


def test_of_two_samples_at_one_time_the_smaller_number_counts() -> None:
    times, duty, differing = distinct([one([0, 0, 30], [0.5, 0.25, 1.0])])
    assert times == [ms(0), ms(30)]
    assert duty == [BILLION // 4, BILLION]
    assert differing == 1


def test_number_counts_before_no_data() -> None:
    _, duty, _ = distinct([one([0, 0], [float("nan"), 0.5])])
    assert duty == [BILLION // 2]


def test_device_series_counts_before_those_of_pods_and_copies_count_once() -> None:
    """T15, T22: 0.6 of the device, 0.45 and 0.15 of two pods."""
    parts = [one([0], [0.45], "a"), one([0], [0.6]), one([0], [0.15], "b")]
    assert distinct(parts)[1] == [600_000_000]
    assert distinct([parts[0], parts[2]])[1] == [450_000_000]


def test_second_track_fills_only_what_the_first_leaves() -> None:
    first = [Valid(0, 10, 1), Valid(20, 30, 1)]
    assert fill(first, [Valid(5, 25, 2)]) == [
        Valid(0, 10, 1),
        Valid(10, 20, 2),
        Valid(20, 30, 1),
    ]
