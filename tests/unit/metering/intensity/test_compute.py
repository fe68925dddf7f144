"""The second column of a window, by the numbers of traps T1, T3, T5 and T10."""

from collections.abc import Sequence

import numpy as np

from accounting.core.interval import Interval
from accounting.core.issue import Issue
from accounting.metering.rules.intensity.compute import intensities
from accounting.metering.rules.intensity.measures import ENERGY_RESET, MEASURES
from accounting.metering.rules.intensity.stretches import GpuInterval, HeldPart
from accounting.metering.rules.intensity.summary import Intensity, together
from accounting.metering.rules.samples.series import (
    GpuKey,
    PodName,
    Reading,
    ScraperIdentity,
    Series,
)

T0 = 1_790_848_800_000
WINDOW = Interval(T0, T0 + 300_000)
Samples = list[tuple[int, float]]
ALL = HeldPart("a", -1, 1, 1)


def series(
    metric: str,
    samples: Sequence[tuple[int, float]],
    *,
    uuid: str = "GPU-1",
    instance: str = "",
    scraper: str = "x",
    pod: str = "",
) -> Series:
    plain = PodName("ns", pod) if pod else None
    return Series(
        metric,
        metric,
        ScraperIdentity("dcgm", scraper),
        np.array([T0 + at * 1000 for at, _ in samples], np.int64),
        np.array([value for _, value in samples], float),
        gpu=GpuKey(uuid, "n1", instance, plain=plain),
    )


def changes_of(at: Sequence[int]) -> dict[tuple[str, str, int], Sequence[int]]:
    """Instants at which the holder of the whole GPU changes."""
    return {("n1", "GPU-1", -1): at}


def every(seconds: int, value: float, start: int = 0, end: int = 300) -> Samples:
    return [(at, value) for at in range(start, end, seconds)]


def lines(
    parts: Sequence[Series],
    stretches: Sequence[GpuInterval],
    changes: Sequence[int] = (),
    windows: Sequence[Interval] = (WINDOW,),
) -> tuple[dict[tuple[int, str, int], Intensity], list[Issue]]:
    """By (window, pod, instance)."""
    tables, issues = intensities(
        windows, [Reading(tuple(parts))], stretches, changes_of(changes)
    )
    found = {}
    for n, table in enumerate(tables):
        for row in table.rows:
            assert row["window"] == n
            measures = {name: int(row[name]) for name in ("flags", *MEASURES)}
            key = (n, table.uids[row["uid"]], int(row["instance"]))
            found[key] = Intensity(**measures)
    return found, issues


def whole(*parts: HeldPart, start: int = 0, end: int = 300) -> GpuInterval:
    return GpuInterval("n1", "GPU-1", T0 + start * 1000, T0 + end * 1000, parts)


def test_activity_is_weighted_by_time_not_by_samples() -> None:
    samples = [*every(20, 1.0, 0, 180), *every(30, 0.0, 180, 330)]
    found, _ = lines([series("sm_active", samples)], [whole(ALL)])
    line = found[0, "a", -1]
    assert line.sm_seen_us == 300_000_000
    assert line.sm_active == 0.6
    assert line.tensor_active is None


def test_only_observed_time_counts() -> None:
    found, _ = lines([series("dram_active", every(30, 0.4, 0, 90))], [whole(ALL)])
    line = found[0, "a", -1]
    assert (line.dram_seen_us, line.dram_active) == (90_000_000, 0.4)


def test_a_share_of_activity_above_one_is_one_or_none_with_an_issue() -> None:
    """T5: 1.03 counts as 1; what no ratio can be is no data."""
    found, issues = lines(
        [series("sm_active", [*every(30, 1.03, 0, 150), *every(30, 250.0, 150, 300)])],
        [whole(ALL)],
    )
    line = found[0, "a", -1]
    assert (line.sm_seen_us, line.sm_active) == (150_000_000, 1.0)
    assert [issue.code for issue in issues] == ["intensity_out_of_range"]
    assert issues[0].subject == "GPU-1 sm_active"
    assert issues[0].at_stake_ms == 150_000  # of 1.03 nothing is lost


def test_a_change_of_holder_cuts_what_a_sample_says() -> None:
    at = 150
    found, _ = lines(
        [series("tensor_active", [*every(30, 0.2, 0, 150), *every(30, 0.8, 150)])],
        [whole(ALL, end=at), whole(HeldPart("b", -1, 1, 1), start=at)],
        changes=[T0 + at * 1000],
    )
    assert found[0, "a", -1].tensor_active == 0.2
    assert found[0, "b", -1].tensor_active == 0.8


def test_framebuffer_used_and_its_peak() -> None:
    """T1: 40960 MiB are 40 GiB."""
    gib40 = 42_949_672_960
    samples = [*every(30, gib40, 0, 150), *every(30, gib40 / 2, 150)]
    found, _ = lines([series("memory_used_bytes", samples)], [whole(ALL)])
    line = found[0, "a", -1]
    assert line.peak_memory_bytes == gib40
    assert line.memory_bytes == gib40 * 0.75


def test_energy_with_a_reset_is_a_lower_bound() -> None:
    """T3: 540 kJ, then a driver reload and 20 kJ more."""
    samples = [(0, 1_000_000.0), (120, 1_540_000.0), (240, 20_000.0)]
    found, issues = lines([series("energy_joules", samples)], [whole(ALL)])
    line = found[0, "a", -1]
    assert line.energy_joules == 560_000.0
    assert line.energy_seen_us == 240_000_000
    assert line.flags == ENERGY_RESET
    assert line.is_lower_bound
    assert [issue.code for issue in issues] == ["energy_reset"]
    assert issues[0].first_ms == T0 + 120_000


def test_energy_of_a_window_does_not_depend_on_where_samples_lie() -> None:
    two = [WINDOW, Interval(WINDOW.end_ms, WINDOW.end_ms + 300_000)]
    samples = [(at, at * 300.0) for at in range(-7, 600, 60)]
    found, _ = lines(
        [series("energy_joules", samples)], [whole(ALL, end=600)], windows=two
    )
    assert found[0, "a", -1].energy_mj == 90_000_000
    known = (593 - 300) * 1000  # the last sample lies at 593 s
    assert found[1, "a", -1].energy_seen_us == known * 1000
    assert found[1, "a", -1].energy_mj == known * 300


def test_a_counter_that_rises_faster_than_any_gpu_draws_is_left_out() -> None:
    samples = [(at, at * 400_000.0) for at in range(0, 300, 30)]
    found, issues = lines([series("energy_joules", samples)], [whole(ALL)])
    assert found == {}
    assert [issue.code for issue in issues] == ["energy_scale"]
    assert issues[0].at_stake_ms == 270_000


def test_two_exporters_of_one_counter_are_no_reset_and_counted_once() -> None:
    """T22: the track with more samples speaks; the other's delay is no step back."""
    often = [(at, 1000.0 + at * 300) for at in range(0, 300, 15)]
    seldom = [(at, 1000.0 + (at - 20) * 300) for at in range(5, 300, 30)]
    parts = [
        series("energy_joules", seldom, scraper="a"),
        series("energy_joules", often, scraper="b"),
    ]
    found, issues = lines(parts, [whole(ALL)])
    assert found[0, "a", -1].energy_mj == 285 * 300_000
    assert not issues


def test_what_instances_repeat_is_taken_once_and_divided_by_share() -> None:
    """T10: seven instances show 300 W and the same energy; the GPU used it once."""
    parts = []
    for instance in range(7, 14):
        watts, joules = every(30, 300.0), [(at, at * 300.0) for at in range(0, 301, 30)]
        parts += [
            series("power_watts", watts, instance=str(instance)),
            series("energy_joules", joules, instance=str(instance)),
        ]
    held = [HeldPart("a", 7, 1, 7), HeldPart("b", 8, 1, 7)]
    found, _ = lines(parts, [whole(*held)])
    assert found[0, "a", 7].energy_mj == 90_000_000 // 7
    assert found[0, "a", 7].power_watts == found[0, "b", 8].power_watts
    assert abs((found[0, "a", 7].power_watts or 0) - 300) < 0.01
    total = together(found.values())
    assert total.energy_mj == 90_000_000
    assert total.power_mj == 90_000_000
    assert found[0, "", -1].energy_mj == 90_000_000 - 2 * (90_000_000 // 7)


def test_an_instance_has_its_own_activity_and_memory() -> None:
    parts = [
        series("tensor_active", every(30, 0.9), instance="7"),
        series("tensor_active", every(30, 0.1), instance="8"),
        series("memory_used_bytes", every(30, 1 << 30), instance="7"),
    ]
    found, _ = lines(parts, [whole(HeldPart("a", 7, 1, 7), HeldPart("b", 8, 2, 7))])
    assert found[0, "a", 7].tensor_active == 0.9
    assert found[0, "b", 8].tensor_active == 0.1
    assert found[0, "a", 7].tensor_seen_us == 300_000_000 // 7
    assert found[0, "a", 7].peak_memory_bytes == 1 << 30
    assert found[0, "b", 8].peak_memory_bytes is None


def test_the_series_without_a_workload_speaks_for_the_gpu() -> None:
    parts = [
        series("sm_active", every(30, 0.6)),
        series("sm_active", every(30, 0.9), pod="p"),
    ]
    found, _ = lines(parts, [whole(ALL)])
    assert found[0, "a", -1].sm_active == 0.6


def test_throughput_is_a_gauge_and_clocks_are_throttled_by_reasons() -> None:
    """T4: a steady 186 GB/s; idle clocks (bit 1) are no throttling, thermal (bit 6) is."""
    parts = [
        series("nvlink_bytes_per_second", every(30, 186.368e9)),
        series("throttle_reasons", [*every(30, 1.0, 0, 150), *every(30, 64.0, 150)]),
        series("temperature_celsius", [*every(30, 60.0, 0, 270), (270, 83.0)]),
    ]
    found, _ = lines(parts, [whole(ALL)])
    line = found[0, "a", -1]
    assert line.nvlink_bytes_per_second == 186.368e9
    assert line.throttled == 0.5
    assert line.peak_celsius == 83


def test_cutting_time_finer_changes_nothing() -> None:
    samples = [(at, (at * 7 % 11) / 11) for at in range(-30, 330, 13)]
    parts = [series("sm_active", samples)]
    third = HeldPart("a", -1, 1, 3)
    at_once, _ = lines(parts, [whole(third)])
    pieces = [whole(third, start=n, end=n + 1) for n in range(300)]
    assert lines(parts, pieces)[0] == at_once


def test_a_holder_that_ends_with_a_window_has_nothing_of_the_next() -> None:
    """Half-open: the sample at 285 speaks beyond the border, to whoever comes then."""
    two = [WINDOW, Interval(WINDOW.end_ms, WINDOW.end_ms + 300_000)]
    samples = [(at, 60.0) for at in range(15, 300, 30)]
    stretches = [whole(ALL), whole(HeldPart("b", -1, 1, 1), start=300, end=600)]
    found, _ = lines([series("temperature_celsius", samples)], stretches, windows=two)
    assert set(found) == {(0, "a", -1), (1, "b", -1)}


def test_every_gpu_and_holder_has_its_own_sums() -> None:
    """Two GPUs at 300 W and 100 W; b has one of them twice, a the rest of its time."""
    parts = [
        series("power_watts", every(30, 300.0)),
        series("power_watts", every(30, 100.0), uuid="GPU-2"),
    ]
    b = HeldPart("b", -1, 1, 1)
    stretches = [
        whole(ALL, end=60),
        whole(b, start=60, end=120),
        whole(start=120, end=240),
        whole(b, start=240),
        GpuInterval("n1", "GPU-2", T0, T0 + 300_000, (HeldPart("b", -1, 1, 4),)),
    ]
    tables, _ = intensities([WINDOW], [Reading(tuple(parts))], stretches, {})
    [table] = tables
    found = {
        (table.gpus[row["gpu"]][1], table.uids[row["uid"]]): int(row["power_mj"])
        for row in table.rows
    }
    assert len(found) == len(table.rows)
    assert found == {
        ("GPU-1", "a"): 60 * 300_000,
        ("GPU-1", "b"): 120 * 300_000,
        ("GPU-1", ""): 120 * 300_000,
        ("GPU-2", "b"): 75 * 100_000,
        ("GPU-2", ""): 225 * 100_000,
    }


def test_busy_without_tensor_or_memory_work_is_pointless() -> None:
    spinning = Intensity(
        tensor_seen_us=1000, tensor_active_us=10, dram_seen_us=1000, dram_active_us=5
    )
    assert spinning.is_pointless(0.9)
    assert not spinning.is_pointless(0.2)
    assert not spinning.is_pointless(None)
    assert not Intensity(tensor_seen_us=1000).is_pointless(0.9)
