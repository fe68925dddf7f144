"""Jobs that a queue held back before their pods were made (trap T30)."""

import math

import numpy as np
import pytest

from accounting.core.interval import Interval
from accounting.metering.rules.inventory.queued_jobs import (
    AT_ONCE_MS,
    HeldJob,
    JobName,
    held_jobs,
)
from accounting.metering.rules.samples.series import Reading, ScraperIdentity, Series

WHOLE = Interval(0, 1_000_000)
CREATED, STARTED = "kube_job_created", "kube_job_status_start_time"
SUSPENDED = "kube_job_status_suspended"


def series(metric: str, samples: dict[int, float], job: str = "j") -> Series:
    times = np.array(list(samples), np.int64)
    values = np.array(list(samples.values()), np.float64)
    labels = {"namespace": "ns", "job_name": job} if job else {"namespace": "ns"}
    return Series(metric, metric, ScraperIdentity(), times, values, labels)


def held(*found: Series, period: Interval = WHOLE) -> dict[JobName, HeldJob]:
    return held_jobs([Reading(found)], period)


@pytest.mark.parametrize(
    ("late_ms", "is_held"),
    [(AT_ONCE_MS, False), (AT_ONCE_MS + 1, True), (60_000, True)],
)
def test_job_that_begins_late_was_held_back(late_ms: int, is_held: bool) -> None:
    begun = 10_000 + late_ms
    found = held(
        series(CREATED, {1000: 10.0}), series(STARTED, {100_000: begun / 1000})
    )
    assert found == ({JobName("ns", "j"): HeldJob(10_000, begun)} if is_held else {})


def test_suspended_job_is_held_back_until_its_last_such_sample() -> None:
    """Two series of it (replicas of kube-state): the later counts, in any order."""
    parts = [
        series(CREATED, {1000: 10.0}),
        series(SUSPENDED, {20_000: 1, 50_000: 1, 80_000: 0}),
        series(SUSPENDED, {20_000: 1, 40_000: 1}),
    ]
    expected = {JobName("ns", "j"): HeldJob(10_000, None, 50_000)}
    assert held(*parts) == held(*parts[::-1]) == expected
    short = Interval(0, 50_000)  # half-open
    assert held(*parts, period=short)[JobName("ns", "j")].suspended_ms == 40_000


def test_job_that_was_never_suspended_and_begins_at_once_is_not_held() -> None:
    assert held(series(CREATED, {1000: 10.0}), series(SUSPENDED, {20_000: 0})) == {}
    assert held(series(SUSPENDED, {20_000: 1})) == {}  # nobody knows since when


def test_start_before_the_creation_is_of_an_earlier_job() -> None:
    parts = [
        series(CREATED, {1000: 10.0}),
        series(STARTED, {1000: 9.999}),
        series(SUSPENDED, {20_000: 1}),
    ]
    assert held(*parts) == {JobName("ns", "j"): HeldJob(10_000, None, 20_000)}
    parts[1] = series(STARTED, {1000: 10.0})
    assert held(*parts) == {JobName("ns", "j"): HeldJob(10_000, 10_000, 20_000)}


def test_first_start_ends_the_wait_and_the_newest_creation_counts() -> None:
    """A Job that is suspended again begins again; a name used again was made again."""
    found = held(
        series(CREATED, {1000: 5.0, 2000: 10.0}),
        series(STARTED, {1000: math.nan, 2000: 0.0, 3000: 20.0, 4000: 30.0}),
    )
    assert found == {JobName("ns", "j"): HeldJob(10_000, 20_000)}


def test_series_of_no_job_and_of_other_metrics_say_nothing() -> None:
    assert (
        held(series(CREATED, {1: 10.0}, job=""), series(STARTED, {1: 99.0}, "")) == {}
    )
    parts = [series(CREATED, {1: 10.0}), series("kube_job_complete", {1: 99.0})]
    assert held(*parts) == {}
    two = [
        *(series(CREATED, {1: 10.0}, job) for job in "ab"),
        series(STARTED, {1: 20.0}, "b"),
    ]
    assert held(*two) == {JobName("ns", "b"): HeldJob(10_000, 20_000)}


def test_job_without_a_creation_hides_no_other() -> None:
    first, second = series(SUSPENDED, {1: 1.0}, "a"), series(STARTED, {1: 99.0}, "b")
    made = series(CREATED, {1: 10.0}, "b")
    assert held(first, second, made) == {JobName("ns", "b"): HeldJob(10_000, 99_000)}
