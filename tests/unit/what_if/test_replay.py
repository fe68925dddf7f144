"""Recorded weeks are replayed in time, and what-ifs are answered as ranges (scheduling.md S36).

Covered: waits, order, gangs, quotas, nodes that come and go, what held GPUs before the start,
calibration and its refusal, every part of a scenario. Not here: reading the weeks from the
database (`tests/integration/what_if/test_recorded_weeks.py`).
"""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_view.what_if.rules.calibration import Calibration, Trust, calibrate
from scheduler_view.what_if.rules.cluster import ReplayNode
from scheduler_view.what_if.rules.outcome import WeekOutcome, held_hours
from scheduler_view.what_if.rules.recorded import (
    WEEK_MS,
    RecordedNode,
    RecordedPod,
    RecordedUnit,
    RecordedWeeks,
)
from scheduler_view.what_if.rules.replay import replay
from scheduler_view.what_if.rules.request import ReplayRequest
from scheduler_view.what_if.rules.what_ifs.answer import AnswerRange, ranges
from scheduler_view.what_if.rules.what_ifs.mig_layout import MigLayout
from scheduler_view.what_if.rules.what_ifs.scenario import (
    GpuChange,
    Scenario,
    ScenarioError,
    Sharing,
    applied,
)
from scheduler_view.what_if.rules.what_ifs.what_if import what_if
from scheduler_view.what_if.tasks.rows import answer_rows

HOUR = 3_600_000
A = "nvidia.com/gpu A"
START = 10 * WEEK_MS


def node(name: str, gpus: int = 8, present: Any = ((0, None),)) -> RecordedNode:
    shown = ReplayNode(f"{name} nvidia.com/gpu", 0, gpus, A)
    return RecordedNode(shown, "nvidia.com/gpu", "A", Fraction(1), present)


def unit(
    name: str,
    created_h: float,
    hours: float | None,
    gpus: int = 8,
    *,
    bound_h: float | None = None,
    pods: int = 1,
    at: str = "n1",
    **more: Any,
) -> RecordedUnit:
    """A unit that was bound when it was created, unless `bound_h` says otherwise."""
    created = START + int(created_h * HOUR)
    bound = created if bound_h is None else START + int(bound_h * HOUR)
    end = None if hours is None else bound + int(hours * HOUR)
    one = RecordedPod(
        name,
        ReplayRequest(0, gpus, 1000, (A,)),
        1000 * gpus,
        bound,
        end,
        f"{at} nvidia.com/gpu",
    )
    return RecordedUnit(name, created, (one,) * pods, **more)


def weeks(
    nodes: list[RecordedNode],
    units: list[RecordedUnit],
    count: int = 1,
    **more: Any,
) -> RecordedWeeks:
    ordered = tuple(sorted(units, key=lambda one: (one.created_ms, one.name)))
    return RecordedWeeks(START, START + count * WEEK_MS, tuple(nodes), ordered, **more)


def bound(found: RecordedWeeks, policy: str = "BestFit") -> dict[str, float | None]:
    """Hours from the start to the bind, by name."""
    return {
        one.unit.name: None if one.bound_ms is None else (one.bound_ms - START) / HOUR
        for one in replay(found, policy)
    }


def test_work_waits_until_what_it_needs_is_free() -> None:
    units = [unit("a", 0, 5), unit("b", 1, 2), unit("c", 2, 1, gpus=4), unit("d", 3, 1)]
    assert bound(weeks([node("n1")], units)) == {"a": 0, "b": 5, "c": 7, "d": 8}
    assert bound(weeks([node("n1"), node("n2")], units)) == {
        "a": 0,
        "b": 1,
        "c": 3,
        "d": 4,
    }


def test_priority_goes_first_and_small_work_may_pass() -> None:
    units = [
        unit("a", 0, 5, gpus=6),
        unit("low", 1, 1),
        unit("high", 2, 1, priority=10),
        unit("small", 3, 1, gpus=2),
    ]
    found = bound(weeks([node("n1")], units))
    assert found == {"a": 0, "small": 3, "high": 5, "low": 6}


def test_a_gang_is_bound_as_one() -> None:
    units = [unit("a", 0, 2, gpus=4), unit("gang", 1, 1, pods=2), unit("c", 1.5, 1)]
    found = weeks([node("n1"), node("n2")], units)
    assert bound(found) == {"a": 0, "gang": 2.5, "c": 1.5}


def test_a_quota_holds_back_until_own_work_ends() -> None:
    units = [unit("a", 0, 4, gpus=4, team="x"), unit("b", 1, 1, gpus=4, team="x")]
    units += [unit("c", 1, 1, gpus=4, team="y")]
    found = weeks([node("n1")], units, quotas={"x": 6000})
    assert bound(found) == {"a": 0, "b": 4, "c": 1}


def test_nodes_come_and_go_and_what_held_gpus_before_stays() -> None:
    late = ((START + 5 * HOUR, START + 7 * HOUR), (START + 9 * HOUR, None))
    units = [
        unit("before", -3, 5),  # ends 2 hours after the start
        unit("b", 1, 4, gpus=8),
        unit("c", 3, 1),
        unit("d", 6.5, 100),
        unit("e", 8, 1, bound_h=8),
    ]
    found = bound(weeks([node("n1"), node("n2", present=late)], units))
    assert found == {"before": -3, "b": 2, "c": 5, "d": 6.5, "e": 9}


def test_work_of_before_the_start_arrives_at_it_where_its_node_is_gone() -> None:
    found = weeks([node("n2")], [unit("before", -3, 5), unit("b", 0.5, 1)])
    assert bound(found) == {"before": 0, "b": 5}  # it takes 5 hours again


def test_hours_are_held_within_the_range() -> None:
    found = replay(weeks([node("n1")], [unit("a", -3, 5), unit("b", 1, None)]), "FGD")
    within = (START, START + 10 * HOUR)
    assert held_hours(found, within, START + WEEK_MS) == 8 * 2 + 8 * 8


def test_a_calibrated_replay_answers_and_another_does_not() -> None:
    same = weeks([node("n1")], [unit("a", 0, 5), unit("b", 1, 2, bound_h=5)])
    good = calibrate(same, "BestFit", replay(same, "BestFit"))
    assert (good.near_share, good.hours_error, good.trust) == (1, 0, Trust.CALIBRATED)
    off = weeks([node("n1")], [unit("a", 0, 5), unit("b", 6, 2, bound_h=30)])
    found = calibrate(off, "BestFit", replay(off, "BestFit"))
    assert (found.near, found.units, found.trust) == (1, 2, Trust.INEXACT)
    late = [unit(str(at), 10 * at, 1, bound_h=10 * at + 1) for at in range(4)]
    refused = what_if(weeks([node("n1")], late), [Scenario("more")], "BestFit")
    assert (refused.chosen.trust, refused.answers) == (Trust.REFUSED, ())


@pytest.mark.parametrize(
    ("units", "near", "hours", "trust"),
    [
        (100, 95, 101.0, Trust.CALIBRATED),
        (100, 94, 100.0, Trust.INEXACT),
        (100, 100, 101.1, Trust.INEXACT),
        (100, 50, 110.0, Trust.INEXACT),
        (100, 49, 100.0, Trust.REFUSED),
        (100, 100, 89.9, Trust.REFUSED),
        (0, 0, 0.0, Trust.REFUSED),
    ],
)
def test_what_a_replay_may_answer(
    units: int, near: int, hours: float, trust: Trust
) -> None:
    recorded = 100.0 if units else 0.0
    assert Calibration("FGD", units, near, hours, recorded).trust is trust


def test_more_gpus_shorten_waits_and_cost_money() -> None:
    units = [
        one
        for week in range(2)
        for one in (
            unit(f"a{week}", 168 * week, 10),
            unit(f"b{week}", 168 * week + 1, 10, bound_h=168 * week + 10),
        )
    ]
    recorded = weeks([node("n1")], units, count=2)
    more = Scenario("8 more", gpus=(GpuChange("A", 5),))
    fewer = Scenario("all gone", gpus=(GpuChange("A", -8),))
    found = what_if(recorded, [more, fewer], rate=Decimal("2.50"))
    assert found.chosen.trust is Trust.CALIBRATED
    first, second = found.answers
    assert first.added_milli == 8000  # whole nodes
    assert first.weekly_cost == Decimal("3360.00")  # 8 x 168 x 2.50
    waits = {one.measure: one for one in first.ranges}["wait_s"]
    # a mean of 0 and 9 hours becomes 0
    assert (waits.low, waits.high, waits.change_low) == (0, 0, -16_200)
    assert waits.is_clear
    assert second.weekly_cost == Decimal("-3360.00")
    unbound = {one.measure: one for one in second.ranges}["unbound"]
    assert (unbound.low, unbound.high) == (2, 2)


def test_units_that_never_start_are_worse_and_not_left_out() -> None:
    """Without them, 4 GPUs fewer had a mean wait of 9 hours less."""
    units = [unit("a", 0, 10, gpus=4), unit("b", 1, 10, bound_h=10, team="x")]
    recorded = weeks([node("n1")], units)
    scenarios = [
        Scenario("no quota", quotas={"x": 0}),
        Scenario("all gone", gpus=(GpuChange("A", -8),)),
    ]
    first, second = what_if(recorded, scenarios).answers
    of_first = {one.measure: one for one in first.ranges}
    # b waited 9 hours; now until the end of the week, 167 hours after it was created
    assert of_first["wait_s"].change_low == (167 - 9) * 3600 / 2
    assert of_first["wait_s"].is_clear
    assert of_first["longest_wait_s"].low == 167 * 3600
    assert of_first["unbound"].change_low == 1
    known = {one.measure: one.is_known for one in second.ranges}
    assert known == {
        "gpu_hours": True,
        "wait_s": False,
        "longest_wait_s": False,
        "unbound": True,
    }
    rows = {row["measure"]: row for row in answer_rows(second)}
    wait = rows["mean wait in minutes"]
    assert (wait["change_low"], wait["clear"]) == ("", "cannot be computed")


def test_ranges_are_as_wide_as_weeks_and_the_error() -> None:
    def week(hours: float, wait_s: float) -> WeekOutcome:
        return WeekOutcome(hours, wait_s, wait_s, 10, 0)

    found = ranges(
        [week(100, 60), week(100, 60)],
        [week(100, 60), week(99, 80)],
        [week(110, 30), week(112, 90)],
    )
    # the second week's replay is 20 s off: 90 - 20 to 90 + 20; its change 10 - 20 to 10 + 20
    assert found[1] == AnswerRange("wait_s", 30, 110, -30, 30)
    assert not found[1].is_clear
    assert (found[0].low, found[0].high, found[0].is_clear) == (110, 113, True)
    with pytest.raises(ValueError, match="empty"):
        ranges([], [], [])


def test_a_scenario_changes_quotas_priorities_sharing_and_models() -> None:
    b = RecordedNode(
        ReplayNode("n2 nvidia.com/gpu", 0, 8, "nvidia.com/gpu B"),
        "nvidia.com/gpu",
        "B",
        Fraction(1),
        ((0, None),),
    )
    units = [
        unit("a", 0, 5, team="x", tier="low"),
        unit("b", 1, 2, gpus=1, team="y", tier="high", workload_type="notebook"),
    ]
    recorded = weeks([node("n1"), b], units, quotas={"x": 8000, "y": 1000})
    scenario = Scenario(
        "all",
        quotas={"x": 4000, "y": None},
        priorities={"high": 7},
        sharing=(Sharing(250, workload_type="notebook"),),
        any_model=True,
    )
    found = applied(recorded, scenario)
    assert found.quotas == {"x": 4000}
    assert [one.priority for one in found.units] == [0, 7]
    whole, part = (one.pods[0] for one in found.units)
    assert (part.request.gpu_milli, part.milli, whole.milli) == (250, 250, 8000)
    assert part.request.models == ("nvidia.com/gpu A", "nvidia.com/gpu B")
    assert bound(found) == {"a": None, "b": 1}


def test_nodes_are_divided_and_pods_with_one_gpu_use_instances() -> None:
    model = "NVIDIA-A100-SXM4-80GB"
    whole = f"nvidia.com/gpu {model}"
    nodes = [
        RecordedNode(
            ReplayNode(f"{name} nvidia.com/gpu", 0, 1, whole),
            "nvidia.com/gpu",
            model,
            Fraction(1),
            ((0, None),),
        )
        for name in ("n1", "n2")
    ]
    one = ReplayRequest(0, 1, 1000, (whole,))
    units = [
        RecordedUnit(
            f"u{at}",
            START,
            (RecordedPod("p", one, 1000, START, START + HOUR, "n1 nvidia.com/gpu"),),
            team="x" if at else "y",
        )
        for at in range(9)
    ]
    recorded = weeks(nodes, units)
    layout = MigLayout(model, 1, "1g.10gb", team="x")
    found = applied(recorded, Scenario("mig", layouts=(layout,)))
    assert [(n.node.name, n.node.gpus, n.share) for n in found.nodes] == [
        ("n1 nvidia.com/gpu", 1, 1),
        ("n2 nvidia.com/mig-1g.10gb", 7, Fraction(1, 7)),
    ]
    assert found.units[1].milli == 143
    # team y has the whole GPU; of eight pods of x seven fit into the instances
    assert sorted(bound(found).values(), key=str) == [0.0] * 8 + [1.0]
    for wrong, text in (
        (MigLayout(model, 3, "1g.10gb"), "there are 2"),
        (MigLayout(model, 1, "9g.10gb"), "no MIG profile"),
        (MigLayout(model, 1, "1g.10gb", team="z"), "no team 'z'"),
    ):
        with pytest.raises(ScenarioError, match=text):
            applied(recorded, Scenario("mig", layouts=(wrong,)))


@pytest.mark.parametrize(
    ("scenario", "text"),
    [
        (Scenario("s", gpus=(GpuChange("X", 1),)), "no node has X"),
        (Scenario("s", gpus=(GpuChange("A", -9),)), "there are 8"),
        (Scenario("s", quotas={"z": 1}), "no team 'z'"),
        (Scenario("s", priorities={"z": 1}), "no tier 'z'"),
        (Scenario("s", sharing=(Sharing(500, workload_type="z"),)), "workload type"),
    ],
)
def test_what_these_weeks_do_not_have_is_refused(scenario: Scenario, text: str) -> None:
    with pytest.raises(ScenarioError, match=text):
        applied(weeks([node("n1")], [unit("a", 0, 1, team="x")]), scenario)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 100),
            st.integers(1, 60),
            st.sampled_from((1, 2, 4, 8)),
            st.integers(1, 3),
            st.sampled_from(("x", "y")),
        ),
        max_size=30,
    ),
    st.sampled_from(("BestFit", "FGD", "Random", "GpuPacking")),
)
def test_no_gpu_and_no_quota_is_ever_exceeded(
    drawn: list[tuple[int, int, int, int, str]], policy: str
) -> None:
    units = [
        unit(f"u{at}", created, hours, gpus, pods=pods, team=team)
        for at, (created, hours, gpus, pods, team) in enumerate(drawn)
    ]
    recorded = weeks([node("n1"), node("n2")], units, quotas={"x": 10_000})
    found = [
        (one.unit, one.bound_ms)
        for one in replay(recorded, policy)
        if one.bound_ms is not None
    ]
    for _, at in found:
        held = {"x": 0, "y": 0}
        for one, begin in found:
            length = one.pods[0].length_ms
            if length and begin <= at < begin + length:
                held[one.team] += one.milli
        assert sum(held.values()) <= 16_000
        assert held["x"] <= 10_000
    assert all(begin >= one.created_ms for one, begin in found)
