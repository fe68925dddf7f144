"""Errors of the hardware, and measures told twice (traps T2 and T4)."""

import numpy as np

from accounting.core.interval import Interval
from accounting.metering.rules.samples.gpu_errors import conditions, duplicate_measures
from accounting.metering.rules.samples.series import (
    GpuKey,
    Reading,
    ScraperIdentity,
    Series,
)

PERIOD = Interval(1000, 2000)


def series(
    metric: str,
    samples: dict[int, float],
    gpu: GpuKey | None = GpuKey("G", "n"),
    name: str = "",
    scraper: ScraperIdentity = ScraperIdentity("dcgm", "n:9400"),
) -> Series:
    times = np.array(list(samples), np.int64)
    values = np.array(list(samples.values()), np.float64)
    return Series(metric, name or metric, scraper, times, values, gpu=gpu)


def shown(*found: Series) -> list[tuple[str, str, int, int, str]]:
    issues = conditions([Reading(found)], PERIOD)
    return [(i.code, i.subject, i.first_ms, i.last_ms, i.severity) for i in issues]


def test_xid_is_one_condition_for_as_long_as_it_shows() -> None:
    """T4: a code that stays until another comes; half-open period."""
    codes = {999: 79.0, 1000: 31.0, 1300: 31.0, 1500: 0.0, 1600: 48.0, 2000: 79.0}
    assert shown(series("xid", codes)) == [
        ("gpu_xid", "G XID 31", 1000, 1300, "error"),
        ("gpu_xid", "G XID 48", 1600, 1600, "error"),
    ]


def test_two_series_of_one_error_are_one_condition() -> None:
    later, earlier = series("xid", {1700: 31.0}), series("xid", {1200: 31.0})
    assert shown(later, earlier) == [("gpu_xid", "G XID 31", 1200, 1700, "error")]


def test_counts_of_memory_errors_are_one_condition_whatever_the_count() -> None:
    """T4: 3 and 4 errors are not two conditions."""
    assert shown(
        series("power_watts", {1400: 1.0}),
        series("xid", {1400: 1.0}, None),
        series("ecc_uncorrected", {1100: 0.0, 1200: 3.0, 1300: 4.0}),
        series("row_remap_failure", {1400: 1.0}, GpuKey("H", "n")),
    ) == [
        ("gpu_ecc", "G", 1200, 1300, "error"),
        ("gpu_row_remap", "H", 1400, 1400, "error"),
    ]


def test_message_says_what_an_xid_means_where_it_is_known() -> None:
    found = conditions([Reading((series("xid", {1: 48.0, 2: 7.0}),))], Interval(0, 9))
    known = "XID 48: double-bit memory error."
    assert [issue.message for issue in found] == ["XID 7.", known]


def twice(*found: Series) -> list[tuple[str, int, int, int | None]]:
    issues = duplicate_measures([Reading(found)], PERIOD)
    assert all((i.code, i.severity) == ("metric_twice", "info") for i in issues)
    return [(i.subject, i.first_ms, i.last_ms, i.at_stake_ms) for i in issues]


def test_two_names_in_one_scrape_are_told() -> None:
    """T2: from the first to the last scrape that shows both."""
    both = [
        series("gpu_util", {900: 1, 1100: 1, 1400: 1, 1900: 1}, name="NEW"),
        series("gpu_util", {1100: 1, 1400: 1, 1500: 1}, name="OLD"),
    ]
    assert twice(*both) == [("dcgm n:9400: NEW, OLD", 1100, 1400, 300)]
    assert twice(*both[::-1]) == twice(*both)


def test_gpus_of_a_scraper_are_told_together() -> None:
    """T2: time at stake is that of all its GPUs."""
    found = [
        series("gpu_util", dict.fromkeys(times, 1), GpuKey(uuid, "n"), name)
        for uuid, times in (("G", (1100, 1200)), ("H", (1150, 1400)))
        for name in ("A", "B")
    ]
    assert twice(*found) == [("dcgm n:9400: A, B", 1100, 1400, 350)]


def test_other_things_are_not_the_same_measure() -> None:
    """T2: another GPU, instance, replica, scraper or metric, or never at one time."""
    one = series("gpu_util", {1100: 1}, name="A")
    others = [
        series("gpu_util", {1100: 1}, GpuKey("H", "n"), "B"),
        series("gpu_util", {1100: 1}, GpuKey("G", "n", "1"), "B"),
        series("gpu_util", {1100: 1}, GpuKey("G", "n", vgpu="1"), "B"),
        series(
            "gpu_util", {1100: 1}, name="B", scraper=ScraperIdentity("dcgm", "m:9400")
        ),
        series("engine_active", {1100: 1}, name="B"),
        series("gpu_util", {1200: 1}, name="B"),
        series("gpu_util", {1100: 1}, None, "B"),
    ]
    for other in others:
        assert twice(one, other) == []
    assert twice(*others[:4], one, series("gpu_util", {1100: 1}, name="Z")) == [
        ("dcgm n:9400: A, Z", 1100, 1100, 0)
    ]
    rest = [series("gpu_other", {1100: 1}, name=name) for name in "AB"]
    assert twice(*rest) == []
    assert twice(one, series("gpu_util", {1100: 1}, name="A")) == []
