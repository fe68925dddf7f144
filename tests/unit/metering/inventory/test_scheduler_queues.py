"""What the metrics of a queue add up to (trap T30), and which value counts.

Not here: names of Kueue's and Volcano's metrics (sources), the page (browser).
"""

import math

import numpy as np
import pytest

from accounting.core.interval import Interval
from accounting.metering.rules.inventory.scheduler_queues import (
    STALE_MS,
    QueueFacts,
    QueueKey,
    QueueValue,
    newest_values,
    queue_facts,
)
from accounting.metering.rules.samples.series import Reading, ScraperIdentity, Series

GPU, MIG = "nvidia.com/gpu", "nvidia.com/mig-1g.5gb"
PERIOD = Interval(1000, 2000)


def series(
    metric: str, samples: dict[int, float], resource: str = GPU, part: str = "a"
) -> Series:
    labels = {"scheduler": "kueue", "queue": "q", "resource": resource, "part": part}
    times = np.array(list(samples), np.int64)
    values = np.array(list(samples.values()), np.float64)
    return Series(metric, metric, ScraperIdentity(), times, values, labels)


def newest(*found: Series) -> dict[QueueKey, QueueValue]:
    return newest_values([Reading(found)], PERIOD, {})


def key(
    field: str, resource: str = GPU, part: str = "", queue: str = "q", by: str = "kueue"
) -> QueueKey:
    return QueueKey(by, queue, resource, field, part)


def facts(values: dict[QueueKey, float], at_ms: int = 5) -> list[QueueFacts]:
    return queue_facts({k: QueueValue(at_ms, v) for k, v in values.items()})


# --- the newest value ----------------------------------------------------------------


def test_newest_sample_inside_the_period_counts() -> None:
    found = newest(series("queue_used", {999: 9, 1000: 1, 1999: 3, 2000: 9}))
    assert found == {key("used", part="a"): QueueValue(1999, 3)}


@pytest.mark.parametrize("order", [1, -1])
def test_of_two_series_the_newest_counts_then_the_larger(order: int) -> None:
    several = [
        series("queue_used", {1500: 2}),
        series("queue_used", {1400: 7}),
        series("queue_used", {1500: 4}),
    ]
    found = newest(*several[::order])
    assert found == {key("used", part="a"): QueueValue(1500, 4)}


def test_what_is_no_gpu_no_number_or_no_queue_is_left_out() -> None:
    left_out = [
        series("queue_used", {1500: 2}, resource="cpu"),
        series("queue_used", {1500: math.nan}),
        series("queue_used", {500: 2}),
        series("kube_pod_info", {1500: 2}),
    ]
    last = series("queue_waiting", {1500: 2}, resource="")
    assert newest(*left_out, last) == {
        key("waiting", resource="", part="a"): QueueValue(1500, 2)
    }


def test_resources_are_spelt_as_kubernetes_does() -> None:
    [found] = newest(series("queue_used", {1500: 1}, resource="nvidia_com_gpu"))
    assert found.resource == GPU
    added = newest_values(
        [Reading((series("queue_used", {1500: 1}, resource="ex.com/npu"),))],
        PERIOD,
        {"ex_com_npu": "ex.com/npu"},
    )
    assert [k.resource for k in added] == ["ex.com/npu"]


# --- what they add up to -------------------------------------------------------------


def test_flavors_add_up_and_borrowing_is_told_flavor_by_flavor() -> None:
    """8 + 4 guaranteed, 10 + 1 used: 2 are borrowed, though less than 12 are used."""
    [found] = facts(
        {
            key("quota", part="a"): 8,
            key("quota", part="b"): 4,
            key("used", part="a"): 10,
            key("used", part="b"): 1,
            key("used", part="c"): 5,  # without a quota nothing can be borrowed
            key("borrowing_limit", part="a"): 2,
            key("borrowing_limit", part="b"): 1,
            key("pending"): 3,
            key("waiting", resource="", part="active"): 6,
            key("waiting", resource="", part="inadmissible"): 1,
            key("preempted", resource=""): 9,
            key("preempting", resource=""): 11,
        }
    )
    assert found == QueueFacts("kueue", "q", GPU, 12, 3, 16, 2, 3, 7, 9, 11, at_ms=5)
    assert found.figures == (12, 3, 16, 2, 3, 7, 9, 11)


def test_what_is_not_told_is_none_and_not_zero() -> None:
    [found] = facts({key("waiting", resource=""): 1})
    assert found == QueueFacts("kueue", "q", "", waiting=1, at_ms=5)
    [found] = facts({key("quota"): 4})
    assert found == QueueFacts("kueue", "q", GPU, quota=4, at_ms=5)


@pytest.mark.parametrize(
    ("values", "pending"),
    [
        ({"requested": 10, "used": 4}, 6),  # Volcano tells what is asked for in all
        ({"requested": 3, "used": 4}, 0),
        ({"requested": 10}, 10),
        ({"requested": 10, "used": 4, "pending": 1}, 1),
        ({"used": 4}, None),
    ],
)
def test_pending_is_told_or_what_is_asked_for_and_not_used(
    values: dict[str, float], pending: int | None
) -> None:
    [found] = facts({key(field): value for field, value in values.items()})
    assert found.pending == pending


def test_limit_without_end_is_unlimited() -> None:
    [found] = facts(
        {
            key("borrowing_limit", part="a"): 2,
            key("borrowing_limit", part="b"): math.inf,
            key("quota"): math.inf,
        }
    )
    assert (found.borrowing_limit, found.quota) == ("unlimited", None)


def test_every_resource_of_a_queue_has_a_row_with_its_workloads() -> None:
    found = facts(
        {
            key("used", resource=MIG): 2,
            key("used"): 1,
            key("waiting", resource=""): 5,
            key("waiting", resource="", queue="empty"): 7,
            key("used", queue="q", by="volcano"): 3,
        }
    )
    assert [(f.scheduler, f.queue, f.resource, f.used, f.waiting) for f in found] == [
        ("kueue", "empty", "", None, 7),
        ("kueue", "q", GPU, 1, 5),
        ("kueue", "q", MIG, 2, 5),
        ("volcano", "q", GPU, 3, None),
    ]


def test_part_that_is_old_is_gone() -> None:
    """A flavor that was removed is not summed; each scheduler has its own newest."""
    now = 10 * STALE_MS
    found = queue_facts(
        {
            key("used", part="a"): QueueValue(now, 1),
            key("used", part="b"): QueueValue(now - STALE_MS, 2),
            key("used", part="c"): QueueValue(now - STALE_MS - 1, 4),
            key("used", by="volcano"): QueueValue(7, 8),
        }
    )
    assert [(f.used, f.at_ms) for f in found] == [(3, now), (8, 7)]


def test_nothing_adds_up_to_nothing() -> None:
    assert queue_facts({}) == []
