"""The samples of one metric for many GPUs at once, and how long they speak (N3-N6; T10, T22)."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from accounting.core.arrays import Keys
from accounting.core.interval import WINDOW_MS
from accounting.metering.rules.samples.gauges import GaugeSeries, Samples
from accounting.metering.rules.samples.sample_coverage import SampleCoverage
from accounting.metering.rules.samples.series import (
    GpuKey,
    PodName,
    Reading,
    ScraperIdentity,
    Series,
)

ONE, TWO = ScraperIdentity("a", "one"), ScraperIdentity("b", "two")
NAN = float("nan")
Pairs = Sequence[tuple[int, float]]


def told(
    samples: Pairs,
    *,
    scraper: ScraperIdentity = ONE,
    pod: str = "",
    exported: str = "",
    name: str = "M",
    node: str = "n",
    interval_ms: int | None = None,
) -> Reading:
    times = np.array([t * 1000 for t, _ in samples], np.int64)
    values = np.array([value for _, value in samples], np.float64)
    key = GpuKey(
        "G",
        node,
        plain=PodName("ns", pod) if pod else None,
        exported=PodName("ns", exported) if exported else None,
    )
    series = Series("m", name, scraper, times, values, gpu=key)
    return Reading((series,), interval_ms=interval_ms)


def samples_of(things: Sequence[Sequence[Reading]]) -> Samples:
    names = [(f"G{n}", "") for n in range(len(things))]
    readings = [
        replace(reading, series=tuple(of_gpu(one, uuid) for one in reading.series))
        for (uuid, _), parts in zip(names, things, strict=True)
        for reading in parts
    ]
    return GaugeSeries.of(readings, set(), {"m"}).samples("m", names)


def of_gpu(series: Series, uuid: str) -> Series:
    assert series.gpu
    return replace(series, gpu=series.gpu._replace(uuid=uuid))


def of(samples: Samples, n: int = 0) -> list[tuple[int, float]]:
    """Seconds and values of one thing."""
    part = slice(int(samples.first[n]), int(samples.first[n + 1]))
    times, values = samples.times[part] // 1000, samples.values[part]
    return list(zip(times.tolist(), values.tolist(), strict=True))


def steps(samples: Samples) -> list[int]:
    return [int(step) // 1000 for step in samples.steps]


# --- which sample counts (N2, N3) ----------------------------------------------------


def test_things_are_numbered_and_some_have_no_samples() -> None:
    samples = samples_of([[told([(0, 1.0), (30, 2.0)])], [], [told([(60, 3.0)])]])
    assert samples.first.tolist() == [0, 2, 2, 3]
    assert samples.owners.tolist() == [0, 0, 2]
    assert [of(samples, n) for n in range(3)] == [
        [(0, 1.0), (30, 2.0)],
        [],
        [(60, 3.0)],
    ]
    assert samples.first.dtype == samples.times.dtype == samples.runs.dtype == np.int64
    nothing = samples_of([])
    assert (nothing.first.tolist(), len(nothing.times), len(nothing.steps)) == (
        [0],
        0,
        0,
    )
    assert {nothing.times.dtype, nothing.runs.dtype} == {np.dtype(np.int64)}
    empty = samples_of([[]])
    assert empty.first.tolist() == [0, 0]
    assert {empty.times.dtype, empty.steps.dtype} == {np.dtype(np.int64)}


def test_no_data_is_no_sample() -> None:
    """N8."""
    parts = [(0, NAN), (30, 2.0), (60, NAN), (90, 4.0)]
    assert of(samples_of([[told(parts)]])) == [(30, 2.0), (90, 4.0)]
    both = [told(parts), told([(60, 3.0)], pod="a")]
    assert of(samples_of([both])) == [(30, 2.0), (60, 3.0), (90, 4.0)]


def test_within_one_series_the_smaller_counts() -> None:
    """N2."""
    assert of(samples_of([[told([(0, 3.0), (0, 1.0), (0, 2.0), (30, 5.0)])]])) == [
        (0, 1.0),
        (30, 5.0),
    ]


@pytest.mark.parametrize("order", [1, -1])
def test_of_a_track_the_one_without_a_workload_counts_else_the_largest(
    order: int,
) -> None:
    """N3: T10, T22."""
    parts = [
        told([(0, 9.0), (30, 9.0)], pod="a"),
        told([(0, 1.0)]),
        told([(30, 2.0)], exported="b"),
        told([(0, 0.5)]),
    ]
    assert of(samples_of([parts[::order]])) == [(0, 1.0), (30, 9.0)]


def test_of_several_tracks_the_one_with_more_samples_speaks_in_a_window() -> None:
    """N3: ties to the smaller scraper; runs say which is which."""
    window = WINDOW_MS // 1000
    first = told([(0, 1.0), (30, 1.0), (window, 1.0)], scraper=ONE)
    second = told(
        [(10, 2.0), (40, 2.0), (window, 2.0), (window + 30, 2.0)], scraper=TWO
    )
    for parts in ([first, second], [second, first]):
        samples = samples_of([parts])
        assert of(samples) == [(0, 1.0), (30, 1.0), (window, 2.0), (window + 30, 2.0)]
        runs = samples.runs.tolist()
        assert runs[0] == runs[1] != runs[2] == runs[3]
    names = [told([(0, 1.0)], name="B"), told([(0, 2.0)], name="A")]
    assert of(samples_of([names])) == [(0, 2.0)]


def test_only_the_good_are_kept() -> None:
    parts = [
        [told([(0, 1.0), (30, 2.0)])],
        [told([(0, 3.0)])],
        [told([(0, 4.0), (30, 5.0)])],
    ]
    samples = samples_of(parts)
    kept = samples.only(samples.values % 2 == 1)
    assert kept.first.tolist() == [0, 1, 2, 3]
    assert [of(kept, n) for n in range(3)] == [[(0, 1.0)], [(0, 3.0)], [(30, 5.0)]]
    none = samples.only(samples.values > 9)
    assert none.first.tolist() == [0, 0, 0, 0]
    assert len(none.steps) == len(none.runs) == 0


# --- steps (N4) ----------------------------------------------------------------------


def test_few_samples_take_the_step_of_others_on_the_node() -> None:
    """N4: with fewer than three, that of the node's other tracks; declared it rules."""
    parts = [
        [told([(0, 1.0), (10, 1.0), (20, 1.0)])],
        [told([(5, 1.0)])],
        [told([(5, 1.0)], node="m")],
        [],
        [told([(5, 1.0)], interval_ms=45_000)],
    ]
    assert steps(samples_of(parts)) == [10, 10, 10, 10, 30, 45]


# --- which time they cover (N5, N6) ----------------------------------------------------


def covered(
    samples: Samples, changes: Sequence[Sequence[int]], base: int = 0
) -> SampleCoverage:
    values = np.rint(samples.values).astype(np.int64)
    return samples.coverage(
        Keys(base), values, [[at * 1000 for at in of_gpu] for of_gpu in changes]
    )


def test_sums_before_an_instant_are_of_one_gpu() -> None:
    """N5: 2 for 30 s and 4 for 30 s; nothing before, nothing after."""
    samples = samples_of(
        [[told([(0, 9.0), (30, 9.0)])], [told([(0, 2.0), (30, 4.0), (60, 0.0)])]]
    )
    found = covered(samples, [[], []], base=100_000)
    gpu = np.array([1])

    def between(start: int, end: int) -> tuple[int, int, int]:
        low, high = np.array([start * 1000]), np.array([end * 1000])
        before, after = found.upto(gpu, low), found.upto(gpu, high)
        count = found.count(gpu, high) - found.count(gpu, low)
        return (
            int((after[0] - before[0])[0]) // 1000,
            int((after[1] - before[1])[0]) // 1000,
            int(count[0]),
        )

    assert between(0, 60) == (60, 180, 2)
    assert between(10, 50) == (40, 20 * 2 + 20 * 4, 1)
    assert between(-100, 0) == (0, 0, 0)
    assert between(-100, 900) == (90, 180, 3)
    assert between(90, 900) == (0, 0, 0)
    assert found.shown.tolist() == [0, 1, 2, 3, 4, 4]


def test_metrics_of_instances_are_kept_apart_and_those_of_gpus_are_not() -> None:
    """Power is repeated for each instance; memory is each instance's own."""
    [series] = told([(0, 1.0)]).series
    key = GpuKey("G", "n", instance="3")
    parts = [replace(series, metric=metric, gpu=key) for metric in ("memory", "power")]
    others = [replace(series, metric="power", gpu=None), replace(series, metric="x")]
    found = GaugeSeries.of([Reading((*parts, *others))], {"memory"}, {"power"})
    assert {metric: list(of) for metric, of in found.series.items()} == {
        "memory": [("G", "3")],
        "power": [("G", "")],
    }


def test_the_source_of_a_things_first_series_declares_its_interval() -> None:
    declared = told([(0, 1.0)], interval_ms=45_000)
    silent = told([(0, 1.0)], scraper=TWO)
    assert steps(samples_of([[declared, silent]])) == [45]
    assert steps(samples_of([[silent, declared]])) == [30]


def test_things_sampled_together_have_each_its_declared_interval() -> None:
    times = [(t, 1.0) for t in (0, 20, 40)]
    things = [
        [told(times)],
        [told(times, interval_ms=45_000)],
        [told(times, interval_ms=45_000)],
        [],
        [told(times)],
    ]
    assert steps(samples_of(things)) == [20] * 3 + [45] * 6 + [20] * 3
