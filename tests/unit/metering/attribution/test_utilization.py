"""Which metric and track count in a window, and what is no data (rules N3, N7, N8, N21)."""

from collections.abc import Sequence

import numpy as np
import pytest

from accounting.metering.rules.attribution.utilization import (
    ENGINE,
    UTIL,
    GpuUtilization,
    WindowUtilization,
    is_suspect,
    window_utilization,
)
from accounting.metering.rules.samples.scraper_series import (
    BILLION,
    ScraperSeries,
    ScrapeSteps,
)
from accounting.metering.rules.samples.series import ScraperIdentity
from tests.unit.metering.fleet import ms
from tests.unit.metering.utilization_series import ONE, TWO, WINDOW, every, series


def track(
    seconds: Sequence[float],
    utilization: float = 0.0,
    scraper: ScraperIdentity = ONE,
    step: int = 30,
) -> ScraperSeries:
    times = [ms(t) for t in seconds]
    values = [round(utilization * BILLION)] * len(times)
    return ScraperSeries(
        scraper, np.array(times), np.array(values), ScrapeSteps(times, step * 1000)
    )


def utilization_of(
    engine: Sequence[ScraperSeries] = (),
    util: Sequence[ScraperSeries] = (),
    *,
    has_util: bool = True,
) -> GpuUtilization:
    return GpuUtilization({ENGINE: list(engine), UTIL: list(util)}, has_util=has_util)


# --- which metric counts (N7) --------------------------------------------------------


@pytest.mark.parametrize(
    ("engine", "util", "metric"),
    [
        (5, 10, 1),  # half as many: the engine
        (4, 10, 2),
        (1, 0, 1),
        (0, 1, 2),
        (10, 10, 1),
    ],
)
def test_engine_counts_with_half_as_many_samples(
    engine: int, util: int, metric: int
) -> None:
    """N7."""
    utilization = utilization_of([track(every(30)[:engine])], [track(every(30)[:util])])
    found = window_utilization(utilization, WINDOW, ())
    assert found.metric == metric
    assert len(found.sample_times) == (engine if metric == 1 else util)


def test_instance_has_no_utilisation() -> None:
    """N7: GPU_UTIL never on MIG."""
    utils = [track(every(30))]
    assert (
        window_utilization(utilization_of([], utils, has_util=False), WINDOW, ())
        == WindowUtilization()
    )
    few = utilization_of([track([0])], utils, has_util=False)
    assert window_utilization(few, WINDOW, ()).metric == 1


@pytest.mark.parametrize(
    ("engine", "util", "metric", "covered"),
    [
        (
            [-20],
            [-10],
            1,
            10,
        ),  # without a sample in the window the first that reaches in
        ([-40], [-10], 2, 20),
        ([-40], [-40], 0, 0),
        ([-10], [270], 2, 30),  # with a sample in the window that metric counts
        ([270], [-10], 1, 30),
    ],
)
def test_metric_that_reaches_into_the_window_counts(
    engine: list[float], util: list[float], metric: int, covered: int
) -> None:
    """N7."""
    found = window_utilization(
        utilization_of([track(engine)], [track(util)]), WINDOW, ()
    )
    assert found.metric == metric
    assert sum(p.end_ms - p.start_ms for p in found.pieces) == covered * 1000


def test_samples_of_the_window_count_and_not_those_around() -> None:
    """N5: as a sample it counts in the window of its time; half-open."""
    utilization = utilization_of([track([-30, 0, 150, 300, 330])])
    found = window_utilization(utilization, WINDOW, ())
    assert found.sample_times == (ms(0), ms(150))
    assert found.step_ms == 30_000


# --- which track counts (N3) ---------------------------------------------------------


def test_track_with_more_samples_counts_and_the_other_fills() -> None:
    """N3: of two tracks the one with more samples; the other where that has nothing."""
    more = track(every(30, 0, 150), 0.5, TWO)
    fewer = track(every(60, 0, 240), 1.0, ONE, step=60)
    found = window_utilization(utilization_of([fewer, more]), WINDOW, ())
    assert found.sample_times == tuple(ms(t) for t in every(30, 0, 150))
    assert found.step_ms == 30_000
    spans = [
        (
            (p.start_ms - ms(0)) // 1000,
            (p.end_ms - ms(0)) // 1000,
            p.utilization / BILLION,
        )
        for p in found.pieces
    ]
    assert [s for s in spans if s[2] == 0.5] == [
        (t, t + 30, 0.5) for t in range(0, 150, 30)
    ]
    assert [s for s in spans if s[2] == 1.0] == [(150, 180, 1.0), (180, 240, 1.0)]


def test_of_equal_tracks_the_smaller_scraper_counts() -> None:
    """N3: ties by (job, instance, replica labels) as text."""
    both = [track(every(30), 1.0, TWO), track(every(30), 0.5, ONE)]
    for tracks in (both, both[::-1]):
        found = window_utilization(utilization_of(tracks), WINDOW, ())
        assert {p.utilization for p in found.pieces} == {BILLION // 2}


def test_holders_change_cuts_what_a_sample_says() -> None:
    """N6."""
    found = window_utilization(
        utilization_of([track([0, 30], 1.0)]), WINDOW, [ms(10), ms(40)]
    )
    spans = [
        ((p.start_ms - ms(0)) // 1000, (p.end_ms - ms(0)) // 1000) for p in found.pieces
    ]
    assert spans == [(0, 10), (10, 40)]


# --- zeros that others contradict (N21) ----------------------------------------------


@pytest.mark.parametrize(
    ("zeros", "util", "is_odd"),
    [
        (5, 0.2, True),  # five samples, mean of GPU_UTIL 0.2
        (4, 0.9, False),
        (5, 0.19, False),
        (10, 1.0, True),
    ],
)
def test_five_zeros_beside_utilisation_are_not_believed(
    zeros: int, util: float, is_odd: bool
) -> None:
    """N21."""
    chosen = track(every(30)[:zeros])
    utilization = utilization_of(
        [chosen], [track([*every(30, -90, 0), *every(30)], util)]
    )
    assert is_suspect(utilization, chosen, WINDOW) is is_odd
    assert window_utilization(utilization, WINDOW, ()).is_suspect is (
        is_odd and zeros >= 5
    )


def test_one_sample_that_is_not_zero_is_believed() -> None:
    """N21: zero in all of the samples of the window, whatever lies around it."""
    chosen = track([*every(30, -90, 0), *every(30), 300.0])
    chosen.utilization[0] = chosen.utilization[-1] = BILLION
    utilization = utilization_of([chosen], [track(every(30), 0.9)])
    assert is_suspect(utilization, chosen, WINDOW)
    chosen.utilization[3] = 1
    assert not is_suspect(utilization, chosen, WINDOW)


def test_utilisation_is_that_of_the_window() -> None:
    """N21: the mean of GPU_UTIL there."""
    chosen = track(every(30))
    around = track([*every(30, -90, 0), 300.0], 0.9)
    assert not is_suspect(utilization_of([chosen], [around]), chosen, WINDOW)
    second = track(every(30), 0.5, TWO)
    assert is_suspect(utilization_of([chosen], [around, second]), chosen, WINDOW)


@pytest.mark.parametrize(("other", "is_odd"), [(0.4, True), (0.38, False)])
def test_utilisation_is_the_mean_of_all_its_samples(other: float, is_odd: bool) -> None:
    """N21: of two scrapers with as many samples, (0 + 0.4) / 2 and (0 + 0.38) / 2."""
    chosen = track(every(30))
    utils = [track(every(30), 0.0), track(every(30), other, TWO)]
    assert is_suspect(utilization_of([chosen], utils), chosen, WINDOW) is is_odd


@pytest.mark.parametrize(
    ("power", "limit", "is_odd"),
    [
        ({0: 201.0}, {0: 400.0}, True),
        ({0: 200.0}, {0: 400.0}, False),  # above half
        ({0: 100.0, 30: 500.0}, {0: 400.0}, True),  # the mean
        ({0: float("nan"), 30: 300.0}, {0: 400.0}, True),
        ({0: float("nan")}, {0: 400.0}, False),
        ({-30: 400.0, 0: 10.0, 300: 400.0}, {0: 400.0}, False),  # of the window
        ({0: 300.0}, {300: 400.0}, False),  # where that is scraped
        ({300: 300.0}, {0: 400.0}, False),
    ],
)
def test_zeros_beside_much_power_are_not_believed(
    power: dict[float, float], limit: dict[float, float], is_odd: bool
) -> None:
    """N21: mean power above half of the limit."""
    chosen = track(every(30))
    utilization = utilization_of([chosen])
    utilization.power = [series("power_watts", power)]
    utilization.power_limit = [series("power_limit_watts", limit)]
    assert is_suspect(utilization, chosen, WINDOW) is is_odd
    utilization.power_limit = []
    assert not is_suspect(utilization, chosen, WINDOW)
