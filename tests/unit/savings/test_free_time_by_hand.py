"""Free time by hand: S24, S26, S32 and their order with S25, GPU-ms and money in comments.

S25 alone is in `test_waste_by_hand.py`; what observations keep: `tests/integration`.
"""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting.core.interval import WINDOW_MS
from accounting.prices.rules.charge import charge_of
from scheduler_view.savings.rules.finding import Finding, WasteRule
from scheduler_view.savings.rules.fragmentation import Beside, PodClass
from scheduler_view.savings.rules.free_time import (
    BesideRange,
    FreeWindow,
    KeptRange,
    NodeFree,
    PoolUnits,
    free_findings,
    long_ranges,
    take,
)
from tests.unit.savings.fleets import DAY, MINUTE, RATE, at

COST = Decimal("1.10")
BOUNDS = (0, at(24))
WHOLE = Fraction(1)


def windows(
    first_ms: int, count: int, *free_ms: int, rate: Decimal | None = RATE
) -> tuple[FreeWindow, ...]:
    currency = "" if rate is None else "USD"
    return tuple(
        FreeWindow(first_ms + n * WINDOW_MS, free_ms, rate, currency, COST, "EUR")
        for n in range(count)
    )


def shown(findings: list[Finding]) -> list[tuple[str, int, int, Decimal]]:
    return [
        (one.rule.value, one.subject, one.gpu_ms, charge_of(one.raw, 6))
        for one in findings
    ]


def test_gpus_that_are_free_while_policy_holds_back_what_fits_there() -> None:
    # 12 are refused by a quota; 8 are free on two nodes, where two pods of 4 fit: 8 x 300,000
    # in the window. In the second window 4 fit: 3,600,000 ms = 1 GPU-hour x 2.50 = 2.50.
    nodes = [
        NodeFree(
            1,
            windows(0, 2, *[WINDOW_MS] * 4),
            (PoolUnits(7, 0, 2 * WINDOW_MS, 4),),
        ),
        NodeFree(2, windows(0, 2, *[WINDOW_MS] * 4), (PoolUnits(7, 0, WINDOW_MS, 4),)),
    ]
    found = free_findings(nodes, DAY, BOUNDS, [])
    assert shown(found) == [("thrashing", 7, 3_600_000, Decimal("2.500000"))]
    assert (found[0].start_ms, found[0].end_ms) == (0, 2 * WINDOW_MS)
    assert found[0].evidence == {"units": 8}
    one = free_findings(
        [NodeFree(1, windows(0, 1, *[WINDOW_MS] * 8), nodes[0].policy * 2)],
        *(DAY, BOUNDS, []),
    )
    assert one[0].gpu_ms == 8 * 300_000, "the example of scheduling.md S24"


def test_a_window_counts_what_was_observed_at_its_border() -> None:
    # observed from 0:03 to 0:11: the borders 0:05 and 0:10, two windows of one GPU
    node = NodeFree(
        1,
        windows(0, 4, WINDOW_MS),
        (PoolUnits(7, 3 * MINUTE, 11 * MINUTE, 1),),
    )
    [found] = free_findings([node], DAY, BOUNDS, [])
    assert found.gpu_ms == 600_000
    assert (found.start_ms, found.end_ms) == (5 * MINUTE, 15 * MINUTE)


def test_only_what_the_ledger_has_as_free_is_taken() -> None:
    # two units are observed as free, the ledger has one GPU free for half of the window
    node = NodeFree(1, windows(0, 1, 150_000), (PoolUnits(7, 0, WINDOW_MS, 2),))
    assert [one.gpu_ms for one in free_findings([node], DAY, BOUNDS, [])] == [150_000]


def test_free_units_that_nothing_that_waits_can_use() -> None:
    # 3 of 5 free units for 10 min while something waits: 1,800,000 ms x 2.50 / 3.6e6 = 1.25
    node = NodeFree(
        1,
        windows(0, 2, *[WINDOW_MS] * 5),
        unused=(PoolUnits(3, 0, 2 * WINDOW_MS, 3),),
    )
    found = free_findings([node], DAY, BOUNDS, [])
    assert shown(found) == [("not_allocatable", 3, 1_800_000, Decimal("1.250000"))]


def test_a_part_of_a_gpu_takes_its_share() -> None:
    # instances of 1/7: the smallest part that is enough, else the largest
    assert take((300_000, 60_000), 1, Fraction(1, 7)) == (42_857, (300_000, 17_143))
    assert take((300_000, 60_000), 2, WHOLE) == (360_000, ())
    assert take((), 2, WHOLE) == (0, ())


def test_a_node_without_gpu_work_that_a_pod_keeps_costs_its_gpus() -> None:
    # 8 GPUs free from 0:00 to 1:00, kept from 0:00 to 0:40: 8 x 2,400,000 = 19,200,000 ms,
    # at a cost of 1.10: 5.333333 GPU-hours x 1.10 = 5.866667.
    kept = (
        KeptRange(0, at(0, 20), "a"),
        KeptRange(at(0, 20), at(0, 40), "lab/bare"),
    )
    node = NodeFree(4, windows(0, 12, *[WINDOW_MS] * 8), kept=kept)
    found = free_findings([node], DAY, BOUNDS, [])
    assert shown(found) == [("node_kept", 4, 19_200_000, Decimal("5.866667"))]
    assert found[0].evidence == {"kept_by": "lab/bare"}
    assert {key.currency for key in found[0].slices} == {"EUR"}


def test_a_node_counts_as_kept_from_thirty_minutes_and_by_the_part_of_a_window() -> (
    None
):
    short = (KeptRange(0, at(0, 29), "a"), KeptRange(at(0, 30), at(0, 50), "b"))
    assert list(long_ranges(short)) == []
    # 0:02 to 0:33 is 3 of 5 minutes, five windows, 3 of 5 minutes: 31 min of one GPU
    kept = (KeptRange(2 * MINUTE, 33 * MINUTE, "a"),)
    node = NodeFree(4, windows(0, 12, WINDOW_MS), kept=kept)
    [found] = free_findings([node], DAY, BOUNDS, [])
    assert found.gpu_ms == 31 * MINUTE


def test_a_free_millisecond_goes_to_the_first_rule() -> None:
    # One hour, 8 free GPUs. Policy holds back 2; of the other 6, half of the pods cannot use
    # any (they ask for 8): 3; the rest, 3, is of the node that is kept.
    classes = [(PodClass(1), 1), (PodClass(8), 1)]
    node = NodeFree(
        4,
        windows(0, 12, *[WINDOW_MS] * 8),
        policy=(PoolUnits(7, 0, at(1), 2),),
        unused=(PoolUnits(7, 0, at(1), 6),),
        kept=(KeptRange(0, at(1), "lab/bare"),),
    )
    found = {
        one.rule: one.gpu_ms for one in free_findings([node], DAY, BOUNDS, classes)
    }
    assert found == {
        WasteRule.POLICY: 7_200_000,
        WasteRule.FRAGMENTED: 10_800_000,
        WasteRule.KEPT_NODE: 10_800_000,
        WasteRule.NOT_ALLOCATABLE: 21_600_000,  # overlaps the others
    }


def test_cpu_counts_for_windows_at_whose_border_it_was_observed() -> None:
    # One GPU is free for an hour. Pods request one GPU and 4 CPUs. 3 are free as observed from
    # 0:02 to 0:30: the five borders from 0:05; 5 from then to 0:40. 5 x 300,000 ms = 0.416667
    # GPU-hours x 2.50 = 1.041667.
    beside = (
        BesideRange(2 * MINUTE, 30 * MINUTE, Beside(3_000)),
        BesideRange(30 * MINUTE, 40 * MINUTE, Beside(5_000)),
    )
    node = NodeFree(4, windows(0, 12, WINDOW_MS), beside=beside)
    [found] = free_findings([node], DAY, BOUNDS, [(PodClass(1, cpu_milli=4_000), 9)])
    assert shown([found]) == [("fragmented", 4, 1_500_000, Decimal("1.041667"))]
    assert found.evidence == {
        "free_ms": 3_600_000,
        "classes": 1,
        "cpu_known_ms": 7 * WINDOW_MS,
        "pods": 9,
        "cpu_known_pods": 9,
    }
    kept = NodeFree(4, node.windows, kept=(KeptRange(0, at(1), "x"),), beside=beside)
    both = free_findings([kept], DAY, BOUNDS, [(PodClass(1, cpu_milli=4_000), 9)])
    assert [one.gpu_ms for one in both] == [1_500_000, 2_100_000], "S32 has the rest"


def test_free_time_without_a_price_has_no_amount() -> None:
    node = NodeFree(
        1, windows(0, 1, WINDOW_MS, rate=None), (PoolUnits(7, 0, WINDOW_MS, 1),)
    )
    [found] = free_findings([node], DAY, BOUNDS, [])
    [part] = found.slices.values()
    assert (part.gpu_ms, part.unpriced_ms) == (300_000, 300_000)
    assert not part.raw


ranges = st.tuples(st.integers(0, 100), st.integers(0, 100)).map(sorted)


@st.composite
def free_nodes(draw: st.DrawFn) -> NodeFree:
    parts = st.lists(st.integers(1, WINDOW_MS), min_size=1, max_size=4)
    own = [
        FreeWindow(n * WINDOW_MS, tuple(sorted(draw(parts), reverse=True)))
        for n in range(draw(st.integers(1, 12)))
    ]

    def units() -> tuple[PoolUnits, ...]:
        found = []
        for pool in range(draw(st.integers(0, 3))):
            start, end = draw(ranges)
            count = draw(st.integers(1, 6))
            share = draw(st.sampled_from([WHOLE, Fraction(1, 7), Fraction(1, 2)]))
            found.append(PoolUnits(pool, start * MINUTE, end * MINUTE, count, share))
        return tuple(found)

    spans = sorted(draw(ranges) for _ in range(draw(st.integers(0, 3))))
    kept = tuple(KeptRange(s * MINUTE, e * MINUTE, "") for s, e in spans)
    return NodeFree(1, tuple(own), units(), units(), kept)


@given(free_nodes(), st.lists(st.integers(0, 8), max_size=3))
def test_no_free_millisecond_is_found_twice(node: NodeFree, gpus: list[int]) -> None:
    classes = [(PodClass(count, Fraction(1, 2)), 1) for count in gpus]
    found = free_findings([node], DAY, BOUNDS, classes)
    free = sum(sum(one.free_ms) for one in node.windows)
    once = [one for one in found if one.rule is not WasteRule.NOT_ALLOCATABLE]
    assert sum(one.gpu_ms for one in once) <= free
    for one in found:
        assert one.gpu_ms > 0


@pytest.mark.parametrize("pool", [1, 2])
def test_each_pool_is_a_finding_of_its_own(pool: int) -> None:
    both = (PoolUnits(1, 0, WINDOW_MS, 1), PoolUnits(2, 0, WINDOW_MS, 1))
    node = NodeFree(1, windows(0, 1, WINDOW_MS, WINDOW_MS), both)
    found = {one.subject: one.gpu_ms for one in free_findings([node], DAY, BOUNDS, [])}
    assert found[pool] == WINDOW_MS
