"""Which of several samples of a track at one time counts (rules N2, N3; T10, T15, T22)."""

import numpy as np

from accounting.metering.rules.samples.deduplicate import DeduplicatedSeries, distinct
from accounting.metering.rules.samples.series import (
    GpuKey,
    PodName,
    ScraperIdentity,
    Series,
)
from tests.unit.metering.fleet import ms

NONE = float("nan")


def one(seconds: list[float], values: list[float], pod: str = "") -> Series:
    named = PodName("ns", pod) if pod else None
    times = np.array([ms(t) for t in seconds], np.int64)
    key = GpuKey("G", "n", plain=named)
    return Series(
        "engine_active", "x", ScraperIdentity(), times, np.array(values), gpu=key
    )


def merged(*tracks: list[Series]) -> DeduplicatedSeries:
    return distinct(
        tracks, lambda part: part.gpu is not None and part.gpu.plain is not None
    )


def told(*parts: Series) -> tuple[list[int], list[float]]:
    times, values = merged(list(parts)).of(0)
    return [(t - ms(0)) // 1000 for t in times.tolist()], values.tolist()


def test_of_two_samples_of_a_series_at_one_time_the_smaller_counts() -> None:
    found = merged([one([0, 0, 30], [0.5, 0.25, 1.0])])
    assert found.of(0)[1].tolist() == [0.25, 1.0]
    assert found.differing[0].tolist() == [ms(0)]


def test_equal_samples_at_one_time_do_not_differ() -> None:
    found = merged([one([0, 0], [0.5, 0.5])])
    assert found.of(0)[1].tolist() == [0.5]
    assert found.differing == {}


def test_samples_out_of_order_are_put_in_order() -> None:
    assert told(one([60, 0, 30], [0.3, 0.1, 0.2])) == ([0, 30, 60], [0.1, 0.2, 0.3])


def test_number_counts_before_no_data() -> None:
    assert told(one([0, 0], [NONE, 0.5])) == ([0], [0.5])
    assert told(one([0], [NONE]), one([0], [0.2], "a")) == ([0], [0.2])


def test_device_series_counts_before_those_of_pods_and_copies_count_once() -> None:
    """T15, T22: 0.6 of the device, 0.45 and 0.15 of two pods."""
    parts = [one([0], [0.45], "a"), one([0], [0.6]), one([0], [0.15], "b")]
    assert told(*parts) == ([0], [0.6])
    assert told(parts[0], parts[2]) == ([0], [0.45])
    smaller = [one([0], [0.45], "a"), one([0], [0.1])]
    assert told(*smaller) == ([0], [0.1])


def test_series_of_a_track_take_turns() -> None:
    assert told(one([0, 60], [0.1, 0.3], "a"), one([30], [0.2], "b")) == (
        [0, 30, 60],
        [0.1, 0.2, 0.3],
    )


def test_tracks_do_not_touch_each_other() -> None:
    found = merged(
        [one([0, 30], [0.1, 0.2])],
        [],
        [one([0, 30], [0.3, 0.4], "a"), one([0], [0.9])],
        [one([0, 0, 30], [0.7, 0.5, 0.6])],
        [one([30], [NONE])],
    )
    values = [found.of(n)[1].tolist() for n in range(5)]
    assert values == [[0.1, 0.2], [], [0.9, 0.4], [0.5, 0.6], []]
    assert {n: len(times) for n, times in found.differing.items()} == {3: 1}


def test_nothing_is_nothing() -> None:
    found = merged([], [])
    assert [len(found.of(n)[0]) for n in range(2)] == [0, 0]


def test_what_is_cleaned_away_is_no_data() -> None:
    parts = [[one([0, 30], [0.5, 7.0])]]
    found = distinct(parts, lambda _: False, lambda v: np.where(v > 1, np.nan, v))
    assert found.of(0)[1].tolist() == [0.5]


def test_a_track_repeats_the_times_of_the_one_before_it_or_not() -> None:
    both, other, more = [0.0, 30.0], [0.0, 60.0], [0.0, 30.0, 60.0]
    times = [both, both, other, [], [], both, both, more, more]
    found = merged(*([one(at, [0.5] * len(at))] for at in times))
    repeated = [False, True, False, False, False, False, True, False, True]
    assert found.repeats().tolist() == repeated


def test_of_nothing_nothing_is_repeated() -> None:
    assert merged().repeats().tolist() == []
    assert merged([]).repeats().tolist() == [False]
