"""Samples of the second column that cannot be (trap T5), and counters that lie (trap T3)."""

from collections.abc import Mapping

import numpy as np
import pytest

from accounting.core.arrays import Keys
from accounting.core.interval import Interval
from accounting.core.issue import Issue
from accounting.core.issue_catalogue import OF_WINDOWS, TEXTS, text_of
from accounting.metering.rules.intensity.checks import (
    ENERGY,
    LIMITS,
    checked,
    energy_issues,
)
from accounting.metering.rules.intensity.summary import Intensity, together
from accounting.metering.rules.samples.counters import LONGEST_GAP_MS, Energy
from accounting.metering.rules.samples.gauges import GaugeSeries
from accounting.metering.rules.samples.series import GpuKey, ScraperIdentity, Series

WHOLE = Interval(0, 300_000)
NAMES = [("G", ""), ("H", "")]


def told(samples: Mapping[int, float]) -> list[Series]:
    times = np.array([t * 1000 for t in samples], np.int64)
    values = np.array(list(samples.values()), np.float64)
    return [Series("m", "m", ScraperIdentity(), times, values, gpu=GpuKey("G", "n"))]


def check(
    metric: str, first: Mapping[int, float], second: Mapping[int, float] | None = None
) -> tuple[list[float], list[Issue]]:
    issues: list[Issue] = []
    found = GaugeSeries()
    found.series[metric][NAMES[0]] = told(first)
    if second:
        found.series[metric][NAMES[1]] = told(second)
    return checked(metric, NAMES, found, WHOLE, issues).values.tolist(), issues


def test_share_of_activity_is_believed_up_to_one_tenth_above_one() -> None:
    """T5: 1.1 counts as 1, what is above or below 0 as no data."""
    values, [issue] = check(
        "sm_active",
        {0: 0.0, 30: 1.0, 60: 1.05, 90: 1.1, 120: 1.11, 150: -0.1, 180: 0.5},
    )
    assert values == [0.0, 1.0, 1.05, 1.1, 0.5]
    assert (issue.code, issue.subject) == ("intensity_out_of_range", "G sm_active")
    assert (issue.first_ms, issue.last_ms, issue.severity) == (60_000, 150_000, "info")
    assert issue.message.startswith("Activity ratio")


def test_zero_and_one_are_no_fault() -> None:
    assert check("sm_active", {0: 0.0, 30: 1.0, 60: float("nan")}) == ([0.0, 1.0], [])


@pytest.mark.parametrize("metric", sorted(LIMITS))
def test_more_than_any_gpu_has_is_no_data(metric: str) -> None:
    """T5: the limit itself is believed."""
    most = LIMITS[metric][0]
    values, [issue] = check(metric, {0: most, 30: most * 1.01, 60: -1.0, 90: 1.0})
    assert values == [most, 1.0]
    assert (issue.code, issue.severity) == ("impossible_scale", "warning")
    assert (issue.first_ms, issue.last_ms) == (30_000, 60_000)
    assert issue.message.startswith("More than ")


def test_each_gpu_has_its_issue_and_only_for_the_period() -> None:
    """Half-open."""
    odd = {-30: 2.0, 0: 2.0, 299: 2.0, 300: 2.0}
    _, issues = check("dram_active", {-30: 2.0, 300: 2.0}, odd)
    assert [(i.subject, i.first_ms, i.last_ms) for i in issues] == [
        ("H dram_active", 0, 299_000)
    ]
    _, issues = check("dram_active", {0: 2.0}, {30: 2.0})
    assert [i.subject for i in issues] == ["G dram_active", "H dram_active"]


# --- energy (T3) ---------------------------------------------------------------------


def energy(*samples: Mapping[int, float]) -> Energy:
    found = GaugeSeries()
    for name, it in zip(NAMES, samples, strict=False):
        found.series[ENERGY][name] = told(it)
    return Energy.of(Keys(0), found.samples(ENERGY, NAMES))


def codes(
    known: Energy, period: Interval = WHOLE
) -> list[tuple[str, str, int, int, str]]:
    issues = energy_issues(known, NAMES, period)
    return [(i.code, i.subject, i.first_ms, i.last_ms, i.severity) for i in issues]


def test_counter_that_went_back_or_rises_too_fast_is_told_for_each_gpu() -> None:
    """T3: 100 kW are believed, more is another unit."""
    back = {0: 1000.0, 30: 10.0, 60: 20.0, 90: 5.0}
    fast = {0: 0.0, 30: 3_000_000.0, 60: 6_000_001.0}
    assert codes(energy(back, fast)) == [
        ("energy_reset", "G", 0, 60_000, "info"),
        ("energy_scale", "H", 30_000, 30_000, "warning"),
    ]
    assert codes(energy(back, fast), Interval(60_000, 90_000)) == [
        ("energy_reset", "G", 60_000, 60_000, "info")
    ]
    assert codes(energy(back, fast), Interval(61_000, 90_000)) == []
    messages = [i.message for i in energy_issues(energy(back, fast), NAMES, WHOLE)]
    assert "decreased" in messages[0]
    assert "faster" in messages[1]


def spent(known: Energy, start: int, end: int, gpu: int = 0) -> tuple[int, int]:
    """Millijoules and known milliseconds in [start, end) seconds."""
    one = np.array([gpu])
    low = known.upto(one, np.array([start * 1000]))
    high = known.upto(one, np.array([end * 1000]))
    return int(high[0][0] - low[0][0]), int(high[1][0] - low[1][0])


def test_energy_is_spread_evenly_between_two_samples() -> None:
    """T3: 300 J in 30 s are 10 W."""
    known = energy({0: 0.0, 30: 300.0, 60: 900.0}, {15: 5.0, 45: 35.0})
    assert spent(known, 0, 60) == (900_000, 60_000)
    assert spent(known, 10, 20) == (100_000, 10_000)
    assert spent(known, 20, 40) == (300_000, 20_000)
    assert spent(known, -60, 0) == (0, 0)
    assert spent(known, 60, 600) == (0, 0)
    assert spent(known, 0, 60, gpu=1) == (30_000, 30_000)
    assert spent(known, 0, 30, gpu=1) == (15_000, 15_000)


def test_counter_that_stands_still_spends_nothing() -> None:
    known = energy({0: 5.0, 30: 5.0, 60: 5.0})
    assert spent(known, 0, 60) == (0, 60_000)
    assert codes(known) == []


def test_long_gap_tells_nothing() -> None:
    """A window must not depend on how much around it was read."""
    gap = LONGEST_GAP_MS // 1000
    assert spent(energy({0: 0.0, gap: 600.0}), 0, gap) == (600_000, gap * 1000)
    assert spent(energy({0: 0.0, gap + 1: 600.0}), 0, gap + 1) == (0, 0)


def test_reset_is_of_the_stretch_in_which_it_lies() -> None:
    """T3: of one GPU, from the sample after which the counter went back."""
    known = energy({0: 100.0, 30: 200.0, 60: 10.0, 90: 20.0}, {0: 1.0, 90: 2.0})
    zero, one = np.array([0]), np.array([1])

    def has_reset(gpu: "np.ndarray", start: int, end: int) -> bool:
        found = known.has_reset(gpu, np.array([start * 1000]), np.array([end * 1000]))
        return bool(found[0])

    assert has_reset(zero, 0, 90)
    assert has_reset(zero, 30, 60)
    assert not has_reset(zero, 0, 30)
    assert not has_reset(zero, 60, 90)
    assert not has_reset(one, 0, 90)
    assert not has_reset(zero, -60, 0)
    assert spent(known, 30, 60) == (
        10_000,
        30_000,
    )  # what it counted since: a lower bound


def test_without_samples_there_is_no_energy() -> None:
    known = energy()
    assert spent(known, 0, 60) == (0, 0)
    assert not known.has_reset(np.array([0]), np.array([0]), np.array([60])).any()


# --- what the sums say ---------------------------------------------------------------


def test_several_rows_as_one() -> None:
    """Sums, but the largest of peaks; one reset makes a lower bound."""
    one = Intensity(
        1, sm_seen_us=10, sm_active_us=5, memory_peak_bytes=7, temperature_peak_c=50
    )
    two = Intensity(
        0, sm_seen_us=30, sm_active_us=5, memory_peak_bytes=3, temperature_peak_c=60
    )
    both = together([one, two])
    assert both == together([two, one])
    assert (both.sm_seen_us, both.sm_active, both.flags) == (40, 0.25, 1)
    assert (both.memory_peak_bytes, both.temperature_peak_c) == (7, 60)
    assert together([]) == Intensity()
    assert together([two, two]).flags == 0
    assert Intensity(sm_seen_us=3_000_000, sm_active_us=1).sm_active == 0.0


@pytest.mark.parametrize(
    ("busy", "tensor", "dram", "is_pointless"),
    [
        (0.5, 20, 20, True),  # busy from a half on; two hundredths are no work
        (0.499, 20, 20, False),
        (0.5, 21, 20, False),
        (0.5, 20, 21, False),
    ],
)
def test_borders_of_busy_but_pointless(
    busy: float, tensor: int, dram: int, is_pointless: bool
) -> None:
    sums = Intensity(
        tensor_seen_us=1000,
        tensor_active_us=tensor,
        dram_seen_us=1000,
        dram_active_us=dram,
    )
    assert sums.is_pointless(busy) is is_pointless


def test_every_code_has_words_and_a_code_of_an_older_version_keeps_its_own() -> None:
    assert text_of("utilization_scale") is TEXTS["utilization_scale"]
    assert text_of("some_old_code")[:2] == ("Some old code", "")
    assert set(TEXTS) > OF_WINDOWS
