"""A share of work runs on spot nodes in a what-if (scheduling.md S31, S36), by hand.

Covered: which units are chosen, how much longer preemptions make them, GPU-hours and money of
weeks, what other work gains, refusals. Not here: which work may run on spot
(`tests/integration/what_if/test_spot_weeks.py`).
"""

import math
from decimal import Decimal
from fractions import Fraction

import pytest

from scheduler_view.what_if.rules.calibration import Trust
from scheduler_view.what_if.rules.recorded import RecordedUnit, RecordedWeeks
from scheduler_view.what_if.rules.what_ifs.scenario import (
    GpuChange,
    Scenario,
    ScenarioError,
)
from scheduler_view.what_if.rules.what_ifs.spot_share import (
    SpotShare,
    SpotShareError,
    on_spot,
    spot_weeks,
)
from scheduler_view.what_if.rules.what_ifs.what_if import ScenarioAnswer, what_if
from scheduler_view.what_if.tasks.rows import answer_rows
from tests.unit.what_if.test_replay import HOUR, node, unit, weeks

HALF, ALL = Fraction(1, 2), Fraction(1)
NEVER = Decimal(0)


def spot(share: Fraction = ALL, preempted: str = "0", **more: object) -> SpotShare:
    return SpotShare(share, Decimal(preempted), **more)  # type: ignore[arg-type]  # of several types


def eligible(
    name: str, created_h: float, hours: float | None, **more: object
) -> RecordedUnit:
    return unit(name, created_h, hours, may_run_on_spot=True, **more)  # type: ignore[arg-type]  # of several types


def two_weeks() -> RecordedWeeks:
    """In each, 8 GPUs are held for 10 hours, and work that may run on spot waits for them.

    It takes 10 hours in the first week and 20 in the second.
    """
    units = [
        one
        for week, hours in enumerate((10, 20))
        for one in (
            unit(f"a{week}", 168 * week, 10),
            eligible(f"b{week}", 168 * week + 1, hours, bound_h=168 * week + 10),
        )
    ]
    return weeks([node("n1")], units, count=2)


def answer(scenario: Scenario, rate: str | None = "2.50") -> ScenarioAnswer:
    found = what_if(
        two_weeks(), [scenario], rate=None if rate is None else Decimal(rate)
    )
    assert found.chosen.trust is Trust.CALIBRATED
    return found.answers[0]


@pytest.mark.parametrize(
    ("share", "names"),
    [
        (Fraction(1, 100), ""),
        (Fraction(1, 4), "b"),
        (HALF, "ac"),
        (Fraction(3, 4), "abd"),
        (ALL, "abcd"),
    ],
)
def test_units_are_chosen_in_order_so_that_the_share_is_nearest(
    share: Fraction, names: str
) -> None:
    units = [eligible(name, at, 1) for at, name in enumerate("abcd")]
    recorded = weeks([node("n1")], [*units, unit("other", 9, 5)])
    found = on_spot(recorded, spot(share))
    assert "".join(one.name for one in found.moved) == names
    assert found.eligible_ms == 4 * 8000 * HOUR
    assert found.moved_ms == len(names) * 8000 * HOUR
    assert len(found.weeks.units) == 5 - len(names)


def test_a_large_unit_is_moved_if_that_is_nearer_to_the_share() -> None:
    recorded = weeks([node("n1")], [eligible("small", 0, 1), eligible("large", 2, 9)])
    # 1 of 10 hours is nearer to 50 %, 10 of 10 to 60 %
    half, more = (on_spot(recorded, spot(Fraction(at, 10))) for at in (5, 6))
    assert [one.name for one in half.moved] == ["small"]
    assert [one.name for one in more.moved] == ["small", "large"]


@pytest.mark.parametrize(
    ("preempted", "checkpoint_h", "longer"),
    [
        ("0", None, 1.0),
        ("2.4", None, math.e - 1),  # one preemption expected in 10 hours
        ("2.4", 1, 10 * (math.exp(0.1) - 1)),  # 0.1 between two checkpoints
        ("2.4", 20, math.e - 1),  # no checkpoint within its length
    ],
)
def test_preemptions_make_work_longer(
    preempted: str, checkpoint_h: int | None, longer: float
) -> None:
    checkpoint = None if checkpoint_h is None else checkpoint_h * HOUR
    wanted = spot(ALL, preempted, checkpoint_ms=checkpoint)
    assert wanted.longer(10 * HOUR) == pytest.approx(longer, rel=1e-12)


def test_work_on_spot_does_not_wait_and_leaves_gpus_to_others() -> None:
    found = answer(Scenario("all on spot", spot=spot()))
    by_name = {one.measure: one for one in found.ranges}
    # a mean of 0 and 9 hours becomes 0; 20 and 30 GPU-hours x 8 become 10 x 8
    assert (by_name["wait_s"].high, by_name["wait_s"].change_low) == (0, -16_200)
    assert (by_name["gpu_hours"].low, by_name["gpu_hours"].high) == (80, 80)
    assert (by_name["gpu_hours"].change_low, by_name["gpu_hours"].change_high) == (
        -160,
        -80,
    )
    assert by_name["unbound"].high == 0


def test_a_week_costs_what_runs_on_spot_less_what_is_not_paid_on_demand() -> None:
    wanted = spot(ALL, "2.4", checkpoint_ms=HOUR, rate=Decimal("1.00"))
    found = answer(Scenario("all on spot", spot=wanted)).spot
    assert found is not None
    assert found.share == 1
    longer = 10 * math.expm1(0.1)  # of 10 hours and of 20: 0.1 between checkpoints
    assert found.hours == pytest.approx((80, 160 * longer))
    # 1 pod is 10 or 20 hours on spot, with 0.1 preemptions an hour
    assert found.preempted == pytest.approx((1, 2 * longer))
    assert found.cost == (Decimal("80.000000"), Decimal("168.273469"))
    # 160 - 160 x 2.50 in the second week; 80 - 80 x 2.50 in the first, with preemptions 4.14 more
    assert found.change == (Decimal("-240.000000"), Decimal("-115.863266"))


def test_fewer_installed_gpus_and_spot_cost_together() -> None:
    wanted = spot(ALL, "0", rate=Decimal("1.00"))
    scenario = Scenario("no GPUs", gpus=(GpuChange("A", -8),), spot=wanted)
    found = answer(scenario)
    assert found.weekly_cost == Decimal("-3360.00")
    assert found.spot is not None
    assert found.spot.change == (Decimal("-3280.000000"), Decimal("-3200.000000"))
    rows = {row["measure"]: row for row in answer_rows(found)}
    total = rows["cost a week with installed GPUs and spot"]
    assert (total["change_low"], total["change_high"]) == ("-3280.00", "-3200.00")


def test_rows_of_an_answer_name_ranges_and_signs() -> None:
    wanted = spot(ALL, "2.4", checkpoint_ms=HOUR, rate=Decimal("2.45"))
    rows = list(answer_rows(answer(Scenario("all on spot", spot=wanted))))[4:]
    assert [
        (one["measure"], one["low"], one["high"], one["change_low"], one["change_high"])
        for one in rows
    ] == [
        ("share of the work that may run on spot", "", "", "100.0%", "100.0%"),
        ("GPU-hours on spot in a week", "80.0", "168.3", "+80.0", "+168.3"),
        ("pods preempted on spot in a week", "1.0", "2.1", "+1.0", "+2.1"),
        ("cost of GPUs on spot a week", "196.00", "412.27", "+196.00", "+412.27"),
        ("cost a week if what moved is not paid on demand", "", "", "-8.00", "+12.27"),
    ]
    assert [one["clear"] for one in rows] == ["yes", "yes", "yes", "yes", "no"]


@pytest.mark.parametrize(
    ("spot_rate", "rate", "has"),
    [
        (None, "2.50", (False, False)),
        ("1", None, (True, False)),
        ("1", "2.50", (True, True)),
    ],
)
def test_money_needs_rates(
    spot_rate: str | None, rate: str | None, has: tuple[bool, bool]
) -> None:
    wanted = spot(rate=None if spot_rate is None else Decimal(spot_rate))
    found = answer(Scenario("s", spot=wanted), rate).spot
    assert found is not None
    assert (found.cost is not None, found.change is not None) == has


def test_a_replay_that_is_not_exact_gives_no_money() -> None:
    off = [unit("a", 0, 5), eligible("b", 6, 2, bound_h=30)]
    scenario = Scenario("s", spot=spot(rate=Decimal(1)))
    inexact = what_if(weeks([node("n1")], off), [scenario], rate=Decimal(2))
    assert inexact.chosen.trust is Trust.INEXACT
    found = inexact.answers[0].spot
    assert found is not None
    assert found.hours == pytest.approx((16, 16))
    assert found.cost is None
    assert found.change is None


def test_a_replay_that_is_far_off_gives_no_answer() -> None:
    scenario = Scenario("s", spot=spot(rate=Decimal(1)))
    late = [eligible(str(at), 10 * at, 1, bound_h=10 * at + 1) for at in range(4)]
    refused = what_if(weeks([node("n1")], late), [scenario], rate=Decimal(2))
    assert (refused.chosen.trust, refused.answers) == (Trust.REFUSED, ())


def test_work_of_before_the_weeks_and_without_an_end_is_counted_within_them() -> None:
    units = [eligible("before", -3, 5), eligible("open", 166, None)]
    [week] = spot_weeks(on_spot(weeks([node("n1")], units), spot()), spot())
    assert week.least_ms == week.most_ms == (2 + 2) * 8000 * HOUR


def test_what_cannot_run_on_spot_is_refused_with_the_reason() -> None:
    recorded = weeks([node("n1")], [unit("a", 0, 1)])
    with pytest.raises(
        ScenarioError, match="s: no work of these weeks may run on spot"
    ):
        what_if(recorded, [Scenario("s", spot=spot())])
    long = weeks([node("n1")], [eligible("a", 0, 20)])
    with pytest.raises(SpotShareError, match=r"20\.0 hours would hardly ever end"):
        on_spot(long, spot(ALL, "12.1"))
    assert on_spot(long, spot(ALL, "12.1", checkpoint_ms=HOUR)).moved
