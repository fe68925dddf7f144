"""Rules that overlap others, by hand: S21, S22, S30, S31, S33, GPU-ms and money in comments.

Covered: the examples of docs/scheduling.md, ranges, what is not known. Not here: reading what they
need (`tests/integration/savings/test_overlapping_waste.py`).
"""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from accounting.prices.rules.charge import charge_of
from scheduler_view.queues.rules.pools import ResourcePool
from scheduler_view.savings.rules.find import find, overlapping
from scheduler_view.savings.rules.finding import Finding, SliceKey
from scheduler_view.savings.rules.sizing.right_size import (
    SizedTime,
    UsedSize,
    size_finding,
    smaller_size,
)
from scheduler_view.savings.rules.sizing.spot import (
    OnDemandTime,
    SpotLimits,
    SpotLoss,
    SpotWork,
    may_run_on_spot,
    spot_saving,
)
from scheduler_view.savings.rules.waiting.inversion import InvertedStretch, inversions
from scheduler_view.savings.rules.waiting.starvation import PastWait, Starved, starved
from tests.unit.savings.fleets import DAY, HOUR, MINUTE, RATE, at, hold

BOUNDS = (0, at(24))
TEAM, UNIT = 3, 11


def amounts(found: Finding | None) -> tuple[int, Decimal, Decimal | None]:
    """GPU-ms, money, and the least money."""
    assert found is not None
    [part] = found.slices.values()
    low = None if part.raw_low is None else charge_of(part.raw_low, 6)
    return part.gpu_ms, charge_of(part.raw, 6), low


def stretch(begin: int, end: int, **more: int) -> InvertedStretch:
    """Two units waited for; pod 1 holds eight since 8:00."""
    values: dict[str, Any] = {"units": 2, "lower_units": 8, "lower_since_ms": at(8)}
    values |= more
    return InvertedStretch(begin, end, 50_000, pods=(1,), **values)


def test_work_waits_while_lower_priorities_hold_enough() -> None:
    # Priority 50000 waits from 9:00 to 11:00 for 2; priority 10 holds 8 since 8:00:
    # 2 x 7,200,000 = 14,400,000 ms = 4 GPU-hours x 2.50 = 10.
    held = hold(*["b" * 48] * 8, start_ms=at(8))
    [found] = inversions(UNIT, TEAM, at(9), [stretch(at(9), at(11))], {1: held})
    assert amounts(found) == (14_400_000, Decimal("10.000000"), None)
    assert (found.start_ms, found.end_ms) == (at(9), at(11))
    assert set(found.slices) == {SliceKey(DAY, TEAM, "USD")}
    assert found.evidence == {
        "waited_units": 2,
        "lower_units": 8,
        "priority": 50_000,
    }


def test_an_inversion_begins_with_the_later_of_wait_and_bind() -> None:
    held = hold(*["b" * 48] * 8, start_ms=at(8))
    # observed at 9:01 of a wait since 9:00; from 9:30 on other pods, bound at 9:45
    first = stretch(at(9, 1), at(9, 30))
    second = stretch(at(9, 30), at(10), lower_since_ms=at(9, 45))
    found = inversions(UNIT, TEAM, at(9), [first, second], {1: held})
    assert [(one.start_ms, one.end_ms, one.gpu_ms) for one in found] == [
        (at(9), at(9, 30), 2 * 30 * MINUTE),
        (at(9, 45), at(10), 2 * 15 * MINUTE),
    ]
    # other pods from 9:04 on: the minutes before are of the first ones only
    early = replace(second, start_ms=at(9, 4), lower_since_ms=at(8), is_first=False)
    short = replace(first, end_ms=at(9, 4))
    [one] = inversions(UNIT, TEAM, at(9), [short, early], {1: held})
    assert (one.start_ms, one.end_ms, one.gpu_ms) == (at(9), at(10), 2 * HOUR)
    late = inversions(UNIT, TEAM, at(8, 30), [first], {1: held})
    assert late[0].start_ms == at(9, 1), "what was before is not known"


def test_it_takes_at_most_what_the_pods_hold_and_only_observed_time() -> None:
    # waits for 16, the pods hold 8: 8 x 1 h; half of that was not observed
    held = hold(*["b" * 6 + "u" * 6] * 8, start_ms=at(8))
    [found] = inversions(UNIT, TEAM, None, [stretch(at(8), at(9), units=16)], {1: held})
    assert found.gpu_ms == 8 * 30 * MINUTE
    assert inversions(UNIT, TEAM, None, [stretch(at(8), at(9))], {}) == []


POOL = ResourcePool("nvidia.com/gpu", "H100")
NOW = at(24 * 40)
D = 24 * HOUR


def past(unit: int, created: int, bound: int | None, **more: int) -> PastWait:
    values = {"priority": 10, "pod_units": 2} | more
    return PastWait(unit, POOL, "batch", created_ms=created, bound_ms=bound, **values)


def test_work_that_waits_far_longer_than_usual_and_is_overtaken() -> None:
    # 20 waited 1 to 20 h: p95 is the 19th, 19 h; ten times that is 190 h. One waits for 191 h
    # and was overtaken by the two of them that were created after it.
    others = [
        past(n, NOW - n * HOUR - (D if n <= 2 else 20 * D), 0) for n in range(1, 21)
    ]
    others = [replace(o, bound_ms=o.created_ms + o.unit * HOUR) for o in others]
    one = past(99, NOW - 191 * HOUR, None)
    found = starved(one, [one, *others], NOW)
    assert found == Starved(99, NOW - 191 * HOUR, NOW, 191 * HOUR, 190 * HOUR, 2)
    shorter = replace(one, created_ms=NOW - 190 * HOUR)
    assert starved(shorter, others, NOW) is None, "not longer"


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ({"priority": 11}, "of higher priority"),
        ({"pod_units": 1}, "of fewer units"),
        ({"created": NOW - 3 * D}, "created before"),
        ({"bound": None}, "not bound"),
        ({"pool": ResourcePool("nvidia.com/gpu", "A100")}, "of another pool"),
    ],
)
def test_other_work_does_not_overtake(other: dict[str, Any], why: str) -> None:
    one = past(99, NOW - 2 * D, None)
    known = past(1, NOW - HOUR, NOW - 30 * MINUTE)
    assert starved(one, [known], NOW) is not None, (
        "a day is enough where nothing is known"
    )
    names = {"created": "created_ms", "bound": "bound_ms"}
    changed = {names.get(name, name): value for name, value in other.items()}
    assert starved(one, [replace(known, **changed)], NOW) is None, why


def test_a_wait_ends_with_its_bind_or_its_end() -> None:
    one = past(99, NOW - 3 * D, NOW - 2 * D)
    assert starved(one, [past(1, NOW - D, NOW)], NOW) is None, "a day, and bound"
    gone = replace(past(99, NOW - 3 * D, None), ended_ms=NOW - D)
    found = starved(gone, [past(1, NOW - 2 * D, NOW - 2 * D + HOUR)], NOW)
    assert found is not None
    assert (found.end_ms, found.waited_ms) == (NOW - D, 2 * D)


def test_a_preempted_attempt_loses_at_most_its_busy_time() -> None:
    # 2 GPUs busy for 1 h, idle for 30 min, then preempted: at most 2 x 3,600,000 ms
    # = 2 GPU-hours x 2.50 = 5; at least 0.
    lost = replace(hold("b" * 12 + "i" * 6, "b" * 12 + "i" * 6), preempted_ms=at(1, 30))
    [found] = overlapping([lost], at(3))
    assert amounts(found) == (7_200_000, Decimal("5.000000"), Decimal("0E-6"))
    assert found.evidence["busy_ms"] == 7_200_000
    assert overlapping([hold("b" * 12)], at(3)) == []
    assert find([lost], None, at(3))[0].rule.value == "tail", "it overlaps other rules"


def test_with_checkpoints_only_the_last_interval_is_lost() -> None:
    # checkpoints every 20 min, preempted after 1 h: 20 min of each of 2 GPUs
    lost = replace(
        hold("b" * 12, "b" * 12), preempted_ms=at(1), checkpoint_ms=20 * MINUTE
    )
    [found] = overlapping([lost], at(3))
    # 2,400,000 ms = 0.666667 GPU-hours x 2.50 = 1.666667
    assert amounts(found) == (2_400_000, Decimal("1.666667"), Decimal("0E-6"))
    assert (found.start_ms, found.end_ms) == (at(0, 40), at(1))


LIMITS = SpotLimits(pods=4, longest_ms=24 * HOUR)
WORK = SpotWork(UNIT, "Job", "training", 6, 1, 2 * HOUR)


@pytest.mark.parametrize(
    ("change", "may"),
    [
        ({}, True),
        ({"backoff_limit": 0}, False),
        ({"backoff_limit": None}, False),  # not known
        ({"kind": "JobSet", "backoff_limit": None}, True),
        ({"kind": "Pod"}, False),
        ({"kind": "CronJob"}, False),
        ({"workload_type": "notebook"}, False),
        ({"workload_type": "batch"}, True),
        ({"pods": 5}, False),
        ({"longest_ms": 24 * HOUR}, False),
    ],
)
def test_which_work_may_run_on_spot(change: dict[str, Any], may: bool) -> None:
    assert may_run_on_spot(replace(WORK, **change), LIMITS) is may


def on_demand(rate: str | None, spot: str | None) -> list[OnDemandTime]:
    first, second = (None if one is None else Decimal(one) for one in (rate, spot))
    return [OnDemandTime(DAY, TEAM, 36_000_000, first, second, "USD")]


def test_spot_saves_the_difference_less_what_preemptions_cost() -> None:
    # 10 GPU-hours at 2.50, on spot 1.00: 15. Of 100 GPU-hours on spot now at most 10 were lost:
    # 10 % of 10 are repeated at 1.00: 1 less, 14.
    loss = SpotLoss(held_ms=100 * HOUR, lost_ms=10 * HOUR)
    found = spot_saving(WORK, on_demand("2.50", "1.00"), loss, BOUNDS, LIMITS)
    assert amounts(found) == (36_000_000, Decimal("15.000000"), Decimal("14.000000"))
    nothing = spot_saving(
        WORK, on_demand("2.50", "1.00"), SpotLoss(0, 0), BOUNDS, LIMITS
    )
    assert amounts(nothing)[2] == 0, "nothing runs on spot: nothing is known of losses"
    all_lost = SpotLoss(held_ms=HOUR, lost_ms=2 * HOUR)
    found = spot_saving(WORK, on_demand("2.50", "2.00"), all_lost, BOUNDS, LIMITS)
    assert amounts(found)[1:] == (Decimal("5.000000"), Decimal(0)), "never below 0"


def test_spot_that_is_not_cheaper_or_has_no_price_saves_nothing() -> None:
    loss = SpotLoss(0, 0)
    assert spot_saving(WORK, on_demand("2.50", "2.50"), loss, BOUNDS, LIMITS) is None
    found = spot_saving(WORK, on_demand("2.50", None), loss, BOUNDS, LIMITS)
    assert found is not None
    [part] = found.slices.values()
    assert (part.gpu_ms, part.unpriced_ms) == (36_000_000, 36_000_000)
    assert not part.raw


GB = 1_000_000_000
USED = UsedSize(
    UNIT,
    "NVIDIA-H100-80GB-HBM3",
    1,
    known_ms=98,
    held_ms=100,
    busy=Fraction(1, 4),
    busiest=Fraction(2, 5),
    peak_bytes=17 * GB,
    busy_gpus=1,
    most_gpus=1,
)


def test_the_smallest_profile_with_enough_slices_and_memory() -> None:
    # p95 25 %: ceil(1.75) = 2 slices; 1.1 x 17 = 18.7 GB: 2g.20gb, 2/7. The busiest window,
    # 40 %: ceil(2.8) = 3 slices, 3g.40gb, 3/7. 7 GPU-hours at 2.50: 5/7 = 12.5, at least 4/7 = 10.
    size = smaller_size(USED)
    assert size is not None
    assert (size.name, size.safe_name) == ("2g.20gb", "3g.40gb")
    times = [SizedTime(DAY, TEAM, 7 * HOUR, RATE, "USD")]
    found = size_finding(USED, size, times, BOUNDS)
    assert amounts(found) == (18_000_000, Decimal("12.500000"), Decimal("10.000000"))
    assert found is not None
    assert found.evidence == {
        "held_size": "1 GPU",
        "size": "2g.20gb",
        "safe_size": "3g.40gb",
    }


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"busy": Fraction(1, 10)}, "1g.20gb"),  # one slice with double memory
        ({"busy": Fraction(1, 10), "peak_bytes": 9 * GB}, "1g.10gb"),
        ({"peak_bytes": 30 * GB}, "3g.40gb"),
        ({"peak_bytes": 37 * GB}, None),  # 40.7 GB: the whole GPU
        ({"busy": Fraction(3, 5)}, None),  # five slices
        ({"peak_bytes": None}, None),
        ({"known_ms": 94}, None),
        ({"model": "NVIDIA-L4"}, None),  # cannot be divided
    ],
)
def test_a_size_is_only_named_where_it_is_known_to_be_enough(
    change: dict[str, Any], name: str | None
) -> None:
    size = smaller_size(replace(USED, **change))
    assert (size.name if size else None) == name


def test_of_several_gpus_those_that_were_in_use() -> None:
    # 8 held, 6 in use in 99 % of windows, 7 once. 8 GPU-hours at 2.50: 2/8 = 5, at least 1/8 = 2.5
    used = replace(USED, gpus=8, busy_gpus=6, most_gpus=7, peak_bytes=None)
    size = smaller_size(used)
    assert size is not None
    found = size_finding(
        used, size, [SizedTime(DAY, TEAM, 8 * HOUR, RATE, "USD")], BOUNDS
    )
    assert amounts(found) == (7_200_000, Decimal("5.000000"), Decimal("2.500000"))
    assert smaller_size(replace(used, busy_gpus=8)) is None
