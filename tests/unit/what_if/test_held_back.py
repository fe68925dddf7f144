"""Waits that GPUs do not explain are kept in replays, by hand (scheduling.md S36).

Numbers are hours from the start; a node has 8 GPUs, and units request all of them by default.
"""

from dataclasses import replace
from decimal import Decimal

import pytest

from scheduler_view.what_if.rules.calibration import Calibration, Trust
from scheduler_view.what_if.rules.held_back import held_back
from scheduler_view.what_if.rules.recorded import RecordedUnit, RecordedWeeks
from scheduler_view.what_if.rules.replay import replay
from scheduler_view.what_if.rules.what_ifs.scenario import GpuChange, Scenario
from scheduler_view.what_if.rules.what_ifs.what_if import what_if
from tests.unit.what_if.test_replay import HOUR, START, bound, node, unit, weeks


def until(found: RecordedWeeks) -> dict[str, float]:
    """Hours until when units were held back, by name; others are left out."""
    return {
        one.name: (one.held_until_ms - START) / HOUR
        for one in held_back(found).units
        if one.held_until_ms
    }


def gang(name: str, created_h: float, *bound_h: float, hours: float) -> RecordedUnit:
    """Members of 4 GPUs that were bound one after the other."""
    made = unit(name, created_h, hours, gpus=4)
    pods = tuple(
        replace(
            made.pods[0],
            name=f"{name}-{at}",
            bound_ms=START + int(hour * HOUR),
            ended_ms=START + int((bound_h[-1] + hours) * HOUR),
        )
        for at, hour in enumerate(bound_h)
    )
    return replace(made, pods=pods)


def test_work_that_waited_beside_free_gpus_was_held_back() -> None:
    """a: until 3. b: by GPUs only. c: from 5 to 7 by GPUs, then beside them."""
    units = [
        unit("a", 1, 4, bound_h=3),
        unit("b", 4, 2, bound_h=7),
        unit("c", 5, 1, bound_h=11),
    ]
    assert until(weeks([node("n1")], units)) == {"a": 3, "c": 11}
    assert bound(held_back(weeks([node("n1")], units))) == {"a": 3, "b": 7, "c": 11}


def test_a_scheduler_that_has_not_looked_yet_holds_nothing_back() -> None:
    minute, second = 1 / 60, 1 / 3600
    found = weeks([node("n1")], [unit("a", 1, 4, bound_h=1 + minute)])
    assert until(found) == {}
    found = weeks([node("n1")], [unit("a", 1, 4, bound_h=1 + minute + second)])
    assert until(found) == {"a": pytest.approx(1 + minute + second)}


def test_work_that_was_held_back_and_then_waited_for_gpus_waits_for_them_again() -> (
    None
):
    """C has room from 1 to 3 and none from then on until 6."""
    units = [unit("b", 3, 3), unit("c", 1, 1, bound_h=6)]
    found = weeks([node("n1")], units)
    assert until(found) == {"c": pytest.approx(3, abs=1e-6)}
    again = held_back(found)
    assert bound(again) == {"b": 3, "c": 6}
    more = replace(again, nodes=(*again.nodes, node("n2")))
    assert bound(more)["c"] == pytest.approx(3, abs=1e-6)


def test_members_of_a_gang_that_are_bound_wait_for_the_others_only() -> None:
    """One member is bound at 1, the other one when a ends at 5: nothing else held it back."""
    units = [unit("a", 0, 5, gpus=4), gang("g", 1, 1, 5, hours=2)]
    assert until(weeks([node("n1")], units)) == {}


def test_a_cordoned_node_has_no_room() -> None:
    closed = replace(node("n1"), cordoned=((START, START + 4 * HOUR),))
    assert closed.open_ranges == [(0, START), (START + 4 * HOUR, None)]
    found = weeks([closed], [unit("a", 1, 1, bound_h=4)])
    assert until(found) == {}
    assert bound(found) == {"a": 4}
    gone = replace(closed, present=((START + HOUR, START + 2 * HOUR),))
    assert gone.open_ranges == []
    ends = replace(closed, cordoned=((START + HOUR, None),))
    assert ends.open_ranges == [(0, START + HOUR)]


def test_pods_go_to_their_node_if_it_has_room() -> None:
    """Else a, which was on n2, fills n1, where b was: c, whose pod is larger, waits."""
    units = [
        unit("a", 0, 9, gpus=4, at="n2"),
        unit("b", 1, 9, gpus=4, at="n2"),
        unit("c", 2, 1, gpus=6, at="n1"),
    ]
    found = weeks([node("n1", 6), node("n2", 8)], units)
    by_policy = {r.unit.name: r.bound_ms for r in replay(found, "BestFit")}
    as_it_was = replay(found, "BestFit", keeps_nodes=True)
    assert by_policy["c"] == START + 9 * HOUR
    assert {r.unit.name: r.bound_ms for r in as_it_was} == {
        "a": START,
        "b": START + HOUR,
        "c": START + 2 * HOUR,
    }


def test_a_bind_of_seconds_later_takes_the_node_that_was_free_by_then() -> None:
    """B is created 2 s before a ends, and is bound 3 s later where a was, not on n2."""
    second = 1 / 3600
    units = [
        unit("a", 0, 1 + 2 * second, at="n1"),
        unit("b", 1, 5, bound_h=1 + 3 * second, at="n1"),
        unit("c", 2, 1, gpus=10, at="n2"),
    ]
    found = weeks([node("n1"), node("n2", 10)], units)
    by_policy = {r.unit.name: r.bound_ms for r in replay(found, "BestFit")}
    assert by_policy["c"] == START + 6 * HOUR
    as_it_was = replay(found, "BestFit", keeps_nodes=True)
    assert all(
        abs(r.bound_ms - r.unit.bound_ms) <= 1000 for r in as_it_was if r.bound_ms
    )
    gone = weeks([node("n2", 10)], units[1:])
    [b, _] = replay(gone, "BestFit", keeps_nodes=True)
    assert b.bound_ms == START + HOUR, "its node is not there"


def test_another_policy_is_compared_with_a_replay_that_chooses_nodes_too() -> None:
    """On its recorded nodes c waits for nothing, with BestFit for 7 hours: the error of both."""
    units = [
        unit("a", 0, 9, gpus=4, at="n2"),
        unit("b", 1, 9, gpus=4, at="n2"),
        unit("c", 2, 1, gpus=6, at="n1"),
    ]
    found = what_if(
        weeks([node("n1", 6), node("n2", 8)], units),
        [Scenario("same"), Scenario("its policy", policy="BestFit")],
        "BestFit",
    )
    same, its_policy = (
        {one.measure: one for one in answer.ranges} for answer in found.answers
    )
    assert (same["wait_s"].low, same["wait_s"].high) == (0, 0)
    wait = its_policy["wait_s"]
    error = 7 * 3600 / 3
    assert (wait.change_low, wait.change_high) == (-error, error)
    assert not wait.is_clear


def test_more_gpus_do_not_shorten_what_they_did_not_cause() -> None:
    """19 units bound at once, and one that waited for something else."""
    units = [unit(f"u{at}", 2 * at, 1) for at in range(19)]
    found = what_if(
        weeks([node("n1")], [*units, unit("late", 50, 1, bound_h=60)]),
        [Scenario("more", gpus=(GpuChange("A", 8),))],
        rate=Decimal(1),
    )
    assert (found.chosen.held, found.chosen.trust) == (1, Trust.CALIBRATED)
    waits = {one.measure: one for one in found.answers[0].ranges}["wait_s"]
    assert (waits.low, waits.change_low, waits.change_high) == (1800, 0, 0)


@pytest.mark.parametrize(
    ("held", "trust"),
    [(10, Trust.CALIBRATED), (11, Trust.INEXACT), (51, Trust.REFUSED)],
)
def test_waits_that_gpus_do_not_explain_limit_what_may_be_answered(
    held: int, trust: Trust
) -> None:
    assert Calibration("FGD", 100, 100, 1.0, 1.0, held).trust is trust
