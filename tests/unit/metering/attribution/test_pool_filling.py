"""Who has which part of a node's GPUs in a segment (rules N13, N17-N20)."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from accounting.core.interval import Interval
from accounting.core.issue import Issue
from accounting.core.ledger_line import ESTIMATED, INFERRED
from accounting.metering.rules.attribution.node_timeline import NodeTimeline
from accounting.metering.rules.attribution.pool_filling import (
    Holder,
    Order,
    has_choice,
    holders_of,
    part_name,
)
from accounting.metering.rules.attribution.segment import Segment, UnassignedUnits
from accounting.metering.rules.units.geometry import GpuPart

A, B, C = GpuPart("A"), GpuPart("B"), GpuPart("C")
ONE, TWO = GpuPart("M", 1, "1g.5gb"), GpuPart("M", 2, "1g.5gb")
ALL, HALF, SEVENTH = Fraction(1), Fraction(1, 2), Fraction(1, 7)
PERIOD = Interval(100, 400)


def segment(
    parts: Mapping[GpuPart, Fraction],
    mapped: Mapping[GpuPart, Sequence[tuple[str, Fraction]]] | None = None,
    pools: Mapping[str, Sequence[tuple[str, Fraction | int]]] | None = None,
) -> Segment:
    return Segment(
        period=PERIOD,
        parts=parts,
        stranded={},
        mapped={part: tuple(items) for part, items in (mapped or {}).items()},
        pools={
            kind: tuple(UnassignedUnits(uid, Fraction(weight)) for uid, weight in pool)
            for kind, pool in (pools or {}).items()
        },
        is_seen=True,
    )


def timeline(
    placeholders: Sequence[str] = (),
    inferred: Mapping[str, Sequence[Interval]] | None = None,
) -> NodeTimeline:
    return NodeTimeline("n", [], {}, {}, frozenset(placeholders), inferred or {})


def found_in(
    it: Segment, order: Sequence[GpuPart] = (), node: NodeTimeline | None = None
) -> tuple[dict[GpuPart, tuple[Holder, ...]], list[Issue]]:
    node = node or timeline()
    ranks: Order = {
        part: (part.uuid in node.placeholders, n, part)
        for n, part in enumerate(order or sorted(it.parts))
    }
    return holders_of(it, ranks, node)


# --- what samples name (N17, N20) ----------------------------------------------------


def test_mapped_holds_have_their_shares() -> None:
    it = segment({A: ALL, B: ALL}, {A: [("u", HALF), ("v", HALF)]})
    assert found_in(it) == ({A: (Holder("u", HALF), Holder("v", HALF)), B: ()}, [])


def test_two_on_one_exclusive_gpu_are_scaled_and_told() -> None:
    """N20: scaled to it, estimated, with an issue."""
    found, [issue] = found_in(segment({A: ALL}, {A: [("u", ALL), ("v", ALL)]}))
    assert found == {A: (Holder("u", HALF, ESTIMATED), Holder("v", HALF, ESTIMATED))}
    assert (issue.code, issue.subject) == ("two_on_exclusive", "A")
    assert (issue.first_ms, issue.last_ms, issue.at_stake_ms) == (100, 400, 300)


def test_too_many_holders_of_an_instance_are_scaled_to_its_own_share() -> None:
    """N20: above its own, which is a seventh of the GPU."""
    it = segment({ONE: SEVENTH}, {ONE: [("u", SEVENTH), ("v", Fraction(1, 14))]})
    found, [issue] = found_in(it)
    assert found == {
        ONE: (
            Holder("u", Fraction(2, 21), ESTIMATED),
            Holder("v", Fraction(1, 21), ESTIMATED),
        )
    }
    assert (issue.code, issue.subject) == ("too_many_holders", "M/1 (1g.5gb)")
    assert part_name(A) == "A"


def test_time_that_only_a_label_speaks_for_is_inferred() -> None:
    """N13, N19: in the spans of that pod only."""
    spans = {"u": [Interval(0, 50), Interval(100, 400)], "v": [Interval(101, 400)]}
    it = segment({A: ALL, B: ALL}, {A: [("u", ALL)], B: [("v", ALL)]})
    found, _ = found_in(it, node=timeline(inferred=spans))
    assert found == {A: (Holder("u", ALL, INFERRED),), B: (Holder("v", ALL),)}


# --- pools (N18, N20) ----------------------------------------------------------------


def test_pool_fills_gpus_in_order() -> None:
    """N18: inferred; the last one only as far as there are units."""
    it = segment({A: ALL, B: ALL, C: ALL}, pools={"": [("u", 2)]})
    found, issues = found_in(it, [C, A, B])
    assert found == {
        A: (Holder("u", ALL, INFERRED),),
        B: (),
        C: (Holder("u", ALL, INFERRED),),
    }
    assert issues == []
    part, _ = found_in(segment({A: ALL, B: ALL}, pools={"": [("u", Fraction(3, 2))]}))
    assert part[B] == (Holder("u", HALF, INFERRED),)


def test_pool_of_several_is_divided_by_weight_and_estimated() -> None:
    """N18: in proportion to units."""
    it = segment({A: ALL, B: ALL, C: ALL}, pools={"": [("u", 2), ("v", 1)]})
    found, _ = found_in(it)
    both = INFERRED | ESTIMATED
    each = (Holder("u", Fraction(2, 3), both), Holder("v", Fraction(1, 3), both))
    assert found == dict.fromkeys((A, B, C), each)


def test_pool_books_at_most_the_room_there_is() -> None:
    """N20: divided over its holds in proportion to units, estimated, with an issue."""
    found, [issue] = found_in(segment({A: ALL}, pools={"": [("u", 2)]}))
    assert found == {A: (Holder("u", ALL, INFERRED | ESTIMATED),)}
    assert (issue.code, issue.subject) == ("more_held_than_there", "n")
    assert found_in(segment({}, pools={"": [("u", 2)]})) == ({}, [])


def test_pool_takes_what_is_not_mapped() -> None:
    """N18: room of a GPU = what is not mapped; a pod has both as one holder."""
    it = segment({A: ALL, B: ALL}, {A: [("u", HALF)]}, {"": [("u", HALF), ("v", 1)]})
    found, issues = found_in(it)
    both = INFERRED | ESTIMATED
    assert issues == []
    assert found[A] == (
        Holder("u", HALF + HALF / 3, both),
        Holder("v", HALF * 2 / 3, both),
    )
    assert found[B] == (
        Holder("u", Fraction(1, 3), both),
        Holder("v", Fraction(2, 3), both),
    )


def test_flags_of_one_holder_are_those_of_both_its_parts() -> None:
    """N19: scaled where it is mapped, inferred where it is pooled."""
    node = timeline(inferred={"u": [PERIOD]})
    it = segment({A: ALL}, {A: [("u", HALF)]}, {"": [("v", HALF)]})
    found, _ = found_in(it, node=node)
    assert found[A] == (Holder("u", HALF, INFERRED), Holder("v", HALF, INFERRED))
    two = segment(
        {A: ALL},
        {A: [("u", HALF)]},
        {"": [("u", Fraction(1, 4)), ("v", Fraction(1, 4))]},
    )
    joined, _ = found_in(two, node=node)
    assert joined[A][0] == Holder("u", Fraction(3, 4), INFERRED | ESTIMATED)


def test_each_kind_fills_its_own_and_placeholders_serve_all() -> None:
    """N18: one pool per kind, kinds in the order whole, profiles by name."""
    gone = GpuPart("n/0")
    it = segment(
        {A: ALL, ONE: SEVENTH, TWO: SEVENTH, gone: ALL},
        pools={"1g.5gb": [("m", 3 * SEVENTH)], "": [("u", 1)]},
    )
    found, issues = found_in(it, [A, ONE, TWO, gone], timeline(["n/0"]))
    assert found == {
        A: (Holder("u", ALL, INFERRED),),
        ONE: (Holder("m", SEVENTH, INFERRED),),
        TWO: (Holder("m", SEVENTH, INFERRED),),
        gone: (Holder("m", SEVENTH, INFERRED),),
    }
    assert issues == []


def test_placeholder_that_another_kind_has_filled_is_not_there_twice() -> None:
    """N16, N18, N20: the room that is left is scaled to."""
    gone = GpuPart("n/0")
    it = segment({gone: ALL}, pools={"": [("u", 1)], "1g.5gb": [("m", SEVENTH)]})
    found, issues = found_in(it, node=timeline(["n/0"]))
    assert found == {gone: (Holder("u", ALL, INFERRED),)}
    assert [issue.code for issue in issues] == ["more_held_than_there"]


def test_there_is_a_choice_only_where_some_of_several_gpus_stays_free() -> None:
    two = {A: ALL, B: ALL}
    one = [("u", 1)]
    assert not has_choice(segment(two), timeline())
    assert has_choice(segment(two, pools={"": one}), timeline())
    assert not has_choice(segment(two, pools={"": [("u", 2)]}), timeline())
    assert not has_choice(segment(two, {B: [("v", ALL)]}, {"": one}), timeline())
    assert has_choice(segment(two, {B: [("v", HALF)]}, {"": one}), timeline())
    assert not has_choice(segment({A: ALL}, pools={"": [("u", HALF)]}), timeline())
    assert not has_choice(segment({}, pools={"": one}), timeline())


def test_kinds_of_units_choose_for_themselves_where_no_placeholder_serves_both() -> (
    None
):
    parts = {A: ALL, ONE: SEVENTH, TWO: SEVENTH}
    wanted: Fraction | int = 2 * SEVENTH
    both = {"": [("u", wanted)], "1g.5gb": [("m", wanted)]}
    assert not has_choice(segment(parts, pools=both), timeline())
    assert has_choice(segment(parts, pools=both), timeline(["A"]))
    fewer = both | {"1g.5gb": [("m", SEVENTH)]}
    assert has_choice(segment(parts, pools=fewer), timeline())


def test_without_a_choice_no_order_is_needed() -> None:
    it = segment({A: ALL, B: ALL}, pools={"": [("u", 1), ("v", 2)]})
    assert holders_of(it, {}, timeline())[0] == found_in(it)[0]
