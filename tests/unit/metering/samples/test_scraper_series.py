"""Steps and validity of samples, and which of two counts (rules N2-N5, N8)."""

import numpy as np
import pytest

from accounting.core.interval import Interval
from accounting.metering.rules.samples.scraper_series import (
    BILLION,
    ScraperSeries,
    ScrapeSteps,
    ValidInterval,
    billionths,
    fill,
)
from accounting.metering.rules.samples.series import ScraperIdentity
from tests.unit.metering.fleet import ms

WINDOW = Interval(ms(0), ms(300))


def track(seconds: list[float], utilization: list[int] | None = None) -> ScraperSeries:
    times = [ms(t) for t in seconds]
    amounts = np.array(utilization or [BILLION] * len(times))
    return ScraperSeries(
        ScraperIdentity(), np.array(times), amounts, ScrapeSteps(times)
    )


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
    assert ScrapeSteps([ms(t) for t in seconds]).at(ms(0)) == step * 1000


def test_declared_interval_rules() -> None:
    assert (
        ScrapeSteps([ms(t) for t in (0, 30, 60)], interval_ms=57_000).at(ms(0))
        == 57_000
    )


def test_few_samples_take_the_step_of_the_nodes_other_tracks() -> None:
    others = [
        ScrapeSteps([ms(t) for t in (0, 60, 120)]),
        ScrapeSteps([ms(t) for t in (0, 10, 20)]),
    ]
    assert ScrapeSteps([ms(0)], others=others).at(ms(0)) == 10_000


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
def test_what_is_no_utilization_is_no_data(value: float, expected: int) -> None:
    assert billionths(np.array([value])).tolist() == [expected]


def test_second_track_fills_only_what_the_first_leaves() -> None:
    first = [ValidInterval(0, 10, 1), ValidInterval(20, 30, 1)]
    assert fill(first, [ValidInterval(5, 25, 2)]) == [
        ValidInterval(0, 10, 1),
        ValidInterval(10, 20, 2),
        ValidInterval(20, 30, 1),
    ]
