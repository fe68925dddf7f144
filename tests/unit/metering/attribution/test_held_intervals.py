"""Intervals of a GPU's time are as long as its state lasts, and become integers (N18-N20)."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from accounting.core.interval import Interval
from accounting.core.ledger_line import ESTIMATED
from accounting.metering.rules.attribution.held_intervals import (
    HeldSegment,
    merged_intervals,
)
from accounting.metering.rules.attribution.pool_filling import Holder, Holders
from accounting.metering.rules.attribution.segment import Segment
from accounting.metering.rules.attribution.vectorized_intervals import (
    LARGEST,
    CellBuilder,
)
from accounting.metering.rules.intensity.stretches import GpuInterval, HeldPart
from accounting.metering.rules.units.geometry import GpuPart

G, H = GpuPart("G"), GpuPart("H")
ONE, TWO = GpuPart("M", 1, "1g.5gb"), GpuPart("M", 2, "1g.5gb")
ALL, HALF, SEVENTH = Fraction(1), Fraction(1, 2), Fraction(1, 7)
A, B = (Holder("a", ALL),), (Holder("b", ALL),)
WINDOWS = [Interval(0, 100), Interval(100, 200)]


def segment(
    start: int,
    end: int,
    holders: Mapping[GpuPart, Holders],
    *,
    is_seen: bool = True,
    left: Fraction = ALL * 0,
) -> HeldSegment:
    """Whole GPUs, and sevenths of one."""
    period = Interval(start, end)
    parts = {part: SEVENTH if part.kind else ALL for part in holders}
    stranded = {"M": left} if left else {}
    found = Segment(period, parts, stranded, {}, {}, is_seen=is_seen)
    return HeldSegment(period, found, holders)


def spans(segments: Sequence[HeldSegment], uuid: str) -> list[tuple[int, int]]:
    """Start and end of the intervals of one GPU."""
    found = merged_intervals(segments)
    return sorted((one.start_ms, one.end_ms) for one in found if one.uuid == uuid)


def test_a_change_of_one_gpu_does_not_cut_another() -> None:
    segments = [
        segment(0, 50, {G: A, H: A}),
        segment(50, 90, {G: A, H: B}),
        segment(90, 200, {G: A, H: ()}),
    ]
    assert spans(segments, "G") == [(0, 200)]
    assert spans(segments, "H") == [(0, 50), (50, 90), (90, 200)]


def test_what_else_cuts_an_interval() -> None:
    """A gap, kube-state no longer seen, another share, another way it is known, what is left."""
    first = segment(0, 50, {G: A})
    half = {G: (Holder("a", HALF),)}
    flagged = {G: (Holder("a", ALL, ESTIMATED),)}
    for then in (
        segment(60, 90, {G: A}),
        segment(50, 90, {G: A}, is_seen=False),
        segment(50, 90, half),
        segment(50, 90, flagged),
    ):
        assert len(spans([first, then], "G")) == 2
    divided = [segment(0, 50, {ONE: A}, left=SEVENTH), segment(50, 90, {ONE: A})]
    assert spans(divided, "M") == [(0, 50), (50, 90)]


def test_a_gpu_that_leaves_and_comes_back_has_two_intervals() -> None:
    segments = [
        segment(0, 10, {G: A, H: A}),
        segment(10, 20, {H: A}),
        segment(20, 30, {G: A, H: A}),
    ]
    assert spans(segments, "G") == [(0, 10), (20, 30)]
    assert spans(segments, "H") == [(0, 30)]


def test_an_interval_says_who_has_which_part() -> None:
    holders = {ONE: (Holder("a", SEVENTH),), TWO: ()}
    (held,) = merged_intervals([segment(0, 50, holders, left=5 * SEVENTH)])
    assert held.on("n") == GpuInterval("n", "M", 0, 50, (HeldPart("a", 1, 1, 7),))


def test_intervals_are_cut_at_the_windows_with_shares_as_integers() -> None:
    thirds = (Holder("a", Fraction(1, 21)), Holder("b", Fraction(2, 21), 2))
    segments = [segment(50, 150, {ONE: thirds, TWO: ()}, left=5 * SEVENTH)]
    builder = CellBuilder(WINDOWS, {ONE: 0, TWO: 1})
    assert builder.add("n", merged_intervals(segments))
    table = builder.table()
    assert table.gpus == (("n", "M"),)
    assert table.uids == ("", "a", "b")
    cells = table.cells[["window", "part", "gpu", "instance", "start", "end"]].tolist()
    assert cells == [
        (0, 0, 0, 1, 50, 100),
        (1, 0, 0, 1, 100, 150),
        (0, 1, 0, 2, 50, 100),
        (1, 1, 0, 2, 100, 150),
    ]
    shares = table.cells[["common", "own", "held", "is_seen"]].tolist()
    assert shares == [(21, 3, 3, True)] * 2 + [(7, 1, 0, True)] * 2
    assert table.holders.tolist() == [
        (0, 1, 1, 0, ESTIMATED),
        (0, 2, 2, 2, ESTIMATED),
        (1, 1, 1, 0, ESTIMATED),
        (1, 2, 2, 2, ESTIMATED),
    ]
    assert table.stranded.tolist() == [(0, 0, 50, 5, 7), (1, 0, 50, 5, 7)]
    assert table.unit.tolist() == [63]  # 21, and the three parts that are held of it


def test_a_node_with_too_fine_shares_is_left_out_whole() -> None:
    """The limit of one share, and of all shares of a GPU together."""
    exact = (Holder("a", Fraction(1, LARGEST)),)
    finer = (Holder("a", Fraction(1, LARGEST + 1)),)
    primes = [(Holder("a", Fraction(1, n)),) for n in (149, 151)]
    builder = CellBuilder(WINDOWS, {G: 0, H: 1})
    assert builder.add("n", merged_intervals([segment(0, 100, {G: exact})]))
    assert not builder.add("o", merged_intervals([segment(0, 100, {H: A, G: finer})]))
    together = [segment(0, 50, {G: primes[0]}), segment(50, 90, {G: primes[1]})]
    assert not builder.add("o", merged_intervals(together))
    assert builder.table().gpus == (("n", "G"),)
    assert builder.table().unit.tolist() == [LARGEST]


def test_the_unit_of_a_gpu_serves_what_its_instances_leave_too() -> None:
    third = Fraction(1, 3)
    segments = [segment(0, 50, {ONE: ()}, left=third)]
    builder = CellBuilder(WINDOWS, {ONE: 0})
    assert builder.add("n", merged_intervals(segments))
    assert builder.table().unit.tolist() == [21]


def test_a_node_without_a_gpu_in_the_windows_adds_nothing() -> None:
    builder = CellBuilder(WINDOWS, {})
    assert builder.add("n", [])
    table = builder.table()
    assert (table.gpus, table.uids) == ((), ("",))
    assert len(table.cells) == len(table.holders) == len(table.stranded) == 0
