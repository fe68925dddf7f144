"""Remaining times of holds, estimated starts and their error: S19."""

from fractions import Fraction

import pytest

from scheduler_view.queues.rules.accuracy import EstimatedStart, accuracy_of
from scheduler_view.queues.rules.remaining import HIGH, LOW, MEDIAN, HoldDurations
from scheduler_view.queues.rules.shortages import QuotaShortage
from scheduler_view.queues.rules.starts import RunningHold, estimate_starts
from tests.unit.queues.queue_worlds import HOUR_MS, Queues
from tests.unit.waits.worlds import GPU, NOW_MS, job, node, pod

HOURS = (3, 3, 4, 5, 5, 6, 8, 9, 10, 12)
OF_WORKLOAD, OF_TEAM = ("workload", "vision", "train"), ("team", "vision", "training")
DURATIONS = HoldDurations({OF_TEAM: [hours * HOUR_MS for hours in HOURS]})


@pytest.mark.parametrize(("quantile", "hours"), [(MEDIAN, 3), (LOW, 1), (HIGH, 8)])
def test_the_example_of_a_hold_of_two_hours(quantile: Fraction, hours: int) -> None:
    found = DURATIONS.remaining([OF_WORKLOAD, OF_TEAM], 2 * HOUR_MS, quantile)
    assert found == hours * HOUR_MS


def test_a_group_counts_with_ten_longer_holds_and_without_one_the_end_is_unknown() -> (
    None
):
    few = HoldDurations(
        {OF_WORKLOAD: [HOUR_MS] * 40 + [9 * HOUR_MS] * 9, OF_TEAM: [20 * HOUR_MS] * 10}
    )
    groups = [OF_WORKLOAD, OF_TEAM]
    assert few.remaining(groups, 0, MEDIAN) == HOUR_MS
    assert few.remaining(groups, 2 * HOUR_MS, MEDIAN) == 18 * HOUR_MS
    assert few.remaining(groups, 20 * HOUR_MS, MEDIAN) is None


def hold(name: str, gpus: int, node_name: str, hours: int = 2) -> RunningHold:
    return RunningHold(
        f"uid-{name}",
        node_name,
        ((GPU, gpus * 1000),),
        NOW_MS - hours * HOUR_MS,
        (OF_TEAM,),
    )


def starts(queues: Queues, holds: list[RunningHold]) -> dict[str, EstimatedStart]:
    found = estimate_starts(queues.rooms, queues.units, holds, DURATIONS, NOW_MS)
    return {subject[2]: one for subject, one in found.items()}


def test_a_unit_starts_when_the_hold_before_it_has_ended() -> None:
    """The example of docs/scheduling.md S19: in 3 h, between 1 h and 8 h."""
    queues = Queues({"Node": [node("a", 8)], "Pod": [pod("old", 8, "a"), pod("w", 8)]})
    found = starts(queues, [hold("old", 8, "a")])["w"]
    assert found == EstimatedStart(
        NOW_MS + 3 * HOUR_MS, NOW_MS + HOUR_MS, NOW_MS + 8 * HOUR_MS
    )


def test_who_is_first_takes_what_becomes_free() -> None:
    pods = [
        pod("old", 4, "a"),
        pod("new", 4, "a"),
        pod("urgent", 4, spec={"priority": 9}),
        pod("patient", 4),
        pod("last", 4),
    ]
    queues = Queues({"Node": [node("a", 8)], "Pod": pods})
    holds = [hold("old", 4, "a", 2), hold("new", 4, "a", 0)]
    found = starts(queues, holds)
    assert found["urgent"].start_ms == NOW_MS + 3 * HOUR_MS
    assert found["last"].start_ms == NOW_MS + 5 * HOUR_MS
    assert "patient" not in found, "nothing that is known ends for it"


def test_a_pod_that_is_ending_ends_now_and_other_causes_have_no_estimate() -> None:
    pods = [
        pod("old", 8, "a"),
        pod("w", 8),
        pod("far", 1, spec={"nodeSelector": {"x": "y"}}),
    ]
    queues = Queues({"Node": [node("a", 8)], "Pod": pods})
    ending = RunningHold("uid-old", "a", ((GPU, 8000),), NOW_MS, (), is_ending=True)
    found = starts(queues, [ending])
    assert found["w"].start_ms == NOW_MS
    assert "far" not in found


def test_what_a_queue_holds_back_although_it_fits_has_no_estimate() -> None:
    queue = {"labels": {"kueue.x-k8s.io/queue-name": "batch"}}
    held = [
        job("fits", suspend=True, meta=queue),
        job("more", suspend=True, meta=queue),
    ]
    for one in held:
        one["spec"]["template"] = {"spec": pod("x", 4)["spec"]}
    queues = Queues({"Node": [node("a", 8)], "Pod": [pod("old", 4, "a")], "Job": held})
    assert {unit.cause for unit in queues.units} == {"queue"}
    found = starts(queues, [hold("old", 4, "a")])
    assert set(found) == {"more"}
    assert found["more"].start_ms == NOW_MS + 3 * HOUR_MS


def test_a_quota_opens_when_enough_of_its_pods_have_ended() -> None:
    short = QuotaShortage(3000, (("a", 2000), ("b", 2000), ("c", 4000)))
    assert short.opens_ms({"a": 10, "b": 20, "c": 30}) == 20
    assert short.opens_ms({"a": 10}) is None


def test_the_error_is_measured_from_twenty_on() -> None:
    """The example of docs/scheduling.md S19."""
    pairs = [
        (EstimatedStart(1000, 900, 1100), 1000 + 10 * number) for number in range(20)
    ]
    assert accuracy_of(pairs[:19]) is None
    found = accuracy_of(pairs)
    assert found is not None
    assert (found.count, found.median_error_ms, found.held) == (
        20,
        90,
        Fraction(11, 20),
    )
    assert EstimatedStart(5).covers(1_000_000), "an unknown end does not limit"
