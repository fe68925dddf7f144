"""From series to tracks of utilization, and what is no data (rules N2-N4, N7, N8, N22)."""

import numpy as np
import pytest

from accounting.core.issue import Issue
from accounting.metering.rules.attribution.utilization import (
    ENGINE,
    UTIL,
    GpuUtilization,
    gpu_utilizations,
    window_utilization,
)
from accounting.metering.rules.inventory.labels import Ownership
from accounting.metering.rules.samples.scraper_series import BILLION
from accounting.metering.rules.samples.series import PodName, Reading, Series
from accounting.metering.rules.units.geometry import GpuPart
from tests.unit.metering.fleet import ms
from tests.unit.metering.utilization_series import ONE, TWO, WINDOW, every, series

G = GpuPart("G")


def utilizations(
    *found: Series, interval_ms: int | None = None
) -> tuple[dict[GpuPart, GpuUtilization], list[Issue]]:
    reading = Reading(found, interval_ms=interval_ms)
    return gpu_utilizations([reading], WINDOW, Ownership())


# --- from series to tracks -----------------------------------------------------------


def test_tracks_are_by_part_metric_and_scraper() -> None:
    found, issues = utilizations(
        series(ENGINE, {0: 0.5, 30: 0.5}, scraper=TWO),
        series(ENGINE, {0: 0.25}, scraper=ONE),
        series(UTIL, {0: 0.75}),
        series(ENGINE, {0: 1.0}, instance="3", profile="1g.5gb"),
        series("power_watts", {0: 100}),
        series("power_limit_watts", {0: 400}),
        series("power_watts", {0: 100}, instance="3", profile="1g.5gb"),
        series("power_limit_watts", {0: 100}, instance="0", profile="1g.5gb"),
        series("gpu_other", {0: 1}, uuid="H"),
        Series("up", "up", ONE, np.array([ms(0)]), np.ones(1)),
    )
    part = GpuPart("G", 3, "1g.5gb")
    assert set(found) == {G, part}
    assert issues == []
    engine = found[G].tracks[ENGINE]
    assert [t.scraper for t in engine] == [ONE, TWO]
    assert [t.utilization.tolist() for t in engine] == [
        [BILLION // 4],
        [BILLION // 2] * 2,
    ]
    assert found[G].tracks[UTIL][0].utilization.tolist() == [BILLION * 3 // 4]
    power = [it.values.tolist() for it in (*found[G].power, *found[G].power_limit)]
    assert power == [[100], [400]]
    assert (found[part].power, found[part].power_limit) == ([], [])
    assert found[G].has_util
    assert not found[part].has_util


def test_partition_of_amd_has_utilisation() -> None:
    """N7: only a MIG instance has none."""
    found, _ = utilizations(series(UTIL, {0: 1.0}, instance="0", profile="cpx"))
    assert found[GpuPart("G", 0, "cpx")].has_util


def test_declared_interval_and_other_tracks_give_the_step() -> None:
    """N4: the interval rules; else the node's other tracks of the metric."""
    full = series(ENGINE, dict.fromkeys(every(60), 0.5), uuid="A")
    few = series(ENGINE, {0: 0.5}, uuid="B")
    elsewhere = series(ENGINE, {0: 0.5}, uuid="C", node="m")
    other = series(UTIL, {0: 0.5}, uuid="D")
    found, _ = utilizations(full, few, elsewhere, other)
    steps = {p.uuid: d.tracks for p, d in found.items()}
    assert steps["A"][ENGINE][0].steps.at(ms(0)) == 60_000
    assert steps["B"][ENGINE][0].steps.at(ms(0)) == 60_000
    assert steps["C"][ENGINE][0].steps.at(ms(0)) == 30_000
    assert steps["D"][UTIL][0].steps.at(ms(0)) == 30_000
    found, _ = utilizations(full, few, interval_ms=45_000)
    assert {d.tracks[ENGINE][0].steps.at(ms(0)) for d in found.values()} == {45_000}


def test_per_pod_values_are_kept_by_scraper() -> None:
    """N22: GPU_UTIL with a workload beside one without."""
    found, _ = utilizations(
        series(UTIL, {0: 0.6}),
        series(UTIL, {0: 0.6}, pod="a"),
        series(UTIL, {0: 0.6}, pod="a", scraper=TWO),
        series(ENGINE, {0: 0.6}, scraper=TWO),
        series(ENGINE, {0: 0.6}, pod="a", scraper=TWO),
    )
    by_pod = found[G].by_pod
    assert set(by_pod) == {ONE}
    assert by_pod[ONE].at == {ms(0): {PodName("ns", "a"): 600_000_000}}
    kept = window_utilization(found[G], WINDOW, ())
    assert kept.by_pod is by_pod


def test_samples_that_differ_at_one_time_are_told() -> None:
    """N2: with an issue."""
    part = series(ENGINE, {0: 0.5})
    times = np.array([ms(0), ms(0), ms(30)], np.int64)
    doubled = Series(
        ENGINE, ENGINE, ONE, times, np.array([0.5, 0.25, 1.0]), gpu=part.gpu
    )
    found, [issue] = utilizations(doubled)
    assert found[G].tracks[ENGINE][0].utilization.tolist() == [BILLION // 4, BILLION]
    assert (issue.code, issue.subject) == ("samples_differ", "G")
    assert (issue.first_ms, issue.last_ms) == (ms(0), ms(0))
    assert issue.message.startswith("1 samples")
    assert issue.at_stake_ms == 30_000  # one step


def test_samples_that_differ_before_the_windows_are_of_those_windows() -> None:
    """Else what is at stake would be counted again with each window."""
    part = series(ENGINE, {0: 0.5})
    times = np.array([ms(-30), ms(-30), ms(0)], np.int64)
    doubled = Series(
        ENGINE, ENGINE, ONE, times, np.array([0.5, 0.25, 1.0]), gpu=part.gpu
    )
    found, issues = utilizations(doubled)
    assert found[G].tracks[ENGINE][0].utilization.tolist() == [BILLION // 4, BILLION]
    assert issues == []


# --- values that cannot be (N8) ------------------------------------------------------


def test_percent_under_a_ratios_name_gives_no_utilization_in_that_window() -> None:
    """N8: three or more samples above 1.1 and at most 100, of one source and window."""
    percent = series(
        UTIL, {0: 50.0, 30: 0.5, 270: 1.2, 300: 0.5, 330: 60.0}, name="X_RATIO"
    )
    other = series(UTIL, {0: 100.0, 60: 0.25}, uuid="H", name="X_RATIO")
    found, issues = utilizations(percent, other)
    [scale] = [issue for issue in issues if issue.code == "utilization_scale"]
    assert found[G].tracks[UTIL][0].times.tolist() == [
        ms(300)
    ]  # 60 is no data by itself
    assert found[GpuPart("H")].tracks[UTIL][0].times.tolist() == []
    assert (scale.subject, scale.severity) == ("X_RATIO", "error")
    assert (scale.first_ms, scale.last_ms) == (ms(0), ms(300))
    assert scale.at_stake_ms == 2 * 300_000  # two GPUs


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ([50.0, 60.0, 0.5], "X_RATIO"),  # two
        ([101.0, 500.0, 50.0, 60.0], "X_RATIO"),  # above 100 is no percentage
        ([1.1, 1.05, 50.0, 60.0], "X_RATIO"),
        ([50.0, 60.0], "X"),
        ([50.0, 60.0, 70.0], "gpu_prof_sm_active"),  # of percent, with decimal places
    ],
)
def test_a_few_values_are_no_wrong_scale(values: list[float], name: str) -> None:
    """N8."""
    samples = {30.0 * n: value for n, value in enumerate([*values, 0.5])}
    found, issues = utilizations(series(ENGINE, samples, name=name))
    assert "utilization_scale" not in {issue.code for issue in issues}
    assert found[G].tracks[ENGINE][0].utilization[-1] == BILLION // 2


def test_the_issue_of_fractions_says_how_they_are_read() -> None:
    """N8: as ratios where it is certain, else not at all; of the windows that are asked for."""
    name = "DCGM_FI_DEV_GPU_UTIL"
    values = {-30: 0.005, 0: 0.005, 30: 0.0025, 60: 0.0075, 90: 0.01, 120: 0.0}
    sure = {float(at): value for at, value in values.items()}
    found, [issue] = utilizations(series(UTIL, sure, name=name))
    shown = [BILLION // 2, BILLION // 4, 3 * BILLION // 4, BILLION, 0]
    assert found[G].tracks[UTIL][0].utilization.tolist() == shown  # one before is alone
    assert (issue.code, issue.subject, issue.severity) == (
        *("utilization_scale", name),
        "warning",
    )
    assert (issue.first_ms, issue.last_ms) == (ms(0), ms(300))
    assert issue.at_stake_ms == 300_000
    assert "read as ratios" in issue.message
    assert issue.advice == f"Declare `scales: {{{name}: ratio}}` for this source."
    found, [issue] = utilizations(
        series(UTIL, sure, name=name), series(UTIL, {0: 0.5}, uuid="H", name=name)
    )
    assert found[G].tracks[UTIL][0].times.tolist() == []
    assert found[GpuPart("H")].tracks[UTIL][0].times.tolist() == []  # its scraper's
    assert (issue.severity, issue.at_stake_ms) == ("error", 600_000)
    assert "no data" in issue.message


@pytest.mark.parametrize("copies", [2, 4])
def test_copies_of_one_bad_value_are_one_sample(copies: int) -> None:
    """N8: different GPUs or times; the value of a shared GPU is shown for each pod."""
    samples = {0.0: 50.0, 30.0: 50.0, 60.0: 0.5}  # two times
    shared = [
        series(ENGINE, samples, name="X_RATIO", pod=f"p{n}") for n in range(copies)
    ]
    found, issues = utilizations(*shared)
    assert "utilization_scale" not in {issue.code for issue in issues}
    assert found[G].tracks[ENGINE][0].times.tolist() == [ms(60)]

    third = series(ENGINE, {0: 50.0}, uuid="H", name="X_RATIO")  # another GPU
    found, issues = utilizations(*shared, third)
    [scale] = [issue for issue in issues if issue.code == "utilization_scale"]
    assert found[G].tracks[ENGINE][0].times.tolist() == []
    assert scale.at_stake_ms == 2 * 300_000


def test_a_declared_name_is_never_silenced() -> None:
    """N8: what is above 1.1 after its scale is no data, and nothing else is lost."""
    told = series(UTIL, {0: 1.2, 30: 1.5, 60: 1.3, 90: 0.5}, name="X_RATIO")
    reading = Reading((told,), declared=frozenset({"X_RATIO"}))
    found, issues = gpu_utilizations([reading], WINDOW, Ownership())
    assert found[G].tracks[UTIL][0].times.tolist() == [ms(90)]
    assert {issue.code for issue in issues} == {"utilization_out_of_range"}


def test_wrong_scale_outside_the_period_is_not_told_again() -> None:
    """N8: it counts as no data around the windows, too."""
    before = {-300.0: 50.0, -270.0: 50.0, -240.0: 50.0, -210.0: 0.5, 0.0: 0.5}
    found, issues = utilizations(series(ENGINE, before, name="X_RATIO"))
    assert issues == []
    assert found[G].tracks[ENGINE][0].times.tolist() == [ms(0)]


def test_value_above_one_counts_as_one_or_not_at_all() -> None:
    """N8, with an issue from the first to the last of them and time lost by no data."""
    samples: dict[float, float]
    samples = {-30: 2.0, 0: 0.5, 15: 1.05, 30: 1.2, 45: -0.5, 60: 0.5, 300: 2.0}
    found, [issue] = utilizations(series(ENGINE, samples, name="E"))
    kept = found[G].tracks[ENGINE][0]
    assert kept.times.tolist() == [ms(t) for t in (0, 15, 60)]
    assert kept.utilization.tolist() == [BILLION // 2, BILLION, BILLION // 2]
    assert (issue.code, issue.subject) == ("utilization_out_of_range", "G E")
    assert (issue.first_ms, issue.last_ms) == (ms(15), ms(45))
    assert issue.at_stake_ms == 2 * 15_000  # two samples, a step of 15 s
    assert issue.severity == "info"


def test_value_of_one_is_in_range_and_few_samples_have_the_default_step() -> None:
    assert utilizations(series(ENGINE, {0: 1.0, 30: 0.0, 60: float("nan")}))[1] == []
    _, [issue] = utilizations(series(ENGINE, {0: 1.05, 10: 5.0}))
    assert issue.at_stake_ms == 30_000
    assert utilizations(series(ENGINE, {-30: 5.0, 300: 5.0}))[1] == []
