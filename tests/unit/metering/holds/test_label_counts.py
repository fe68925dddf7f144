"""How many samples named a hold, hour by hour, and how that is kept (rules N17)."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting.core.interval import HOUR_MS, Interval
from accounting.metering.mapping import HoldLabels, pack_labels, unpack_labels
from accounting.metering.rules.holds.gpu_assignment import Place
from accounting.metering.rules.holds.label_counts import (
    Tally,
    stale_hours,
    whole_hours,
    without,
)
from accounting.metering.rules.samples.series import Times
from accounting.metering.rules.units.geometry import GpuPart

A, B = (GpuPart("A"), ""), (GpuPart("B", 3, "1g.5gb"), "2")
H = HOUR_MS
ALL = Interval(0, 100 * H)


def times(**found: Sequence[float]) -> Mapping[Place, Times]:
    """Sample times in hours."""
    places = {"a": A, "b": B}
    return {
        places[name]: np.array([round(at * H) for at in at_], np.int64)
        for name, at_ in found.items()
    }


def test_samples_are_counted_by_hour() -> None:
    tally = Tally().replaced([ALL], times(a=[2.0, 2.5, 4.999], b=[3.0]))
    assert tally.places == (A, B)
    assert tally.first_ms == 2 * H
    assert tally.counts.tolist() == [[2, 0, 1], [0, 1, 0]]
    assert tally.outside(Interval(0, 0)) == {A: 3, B: 1}
    assert tally.outside(Interval(2 * H, 3 * H)) == {A: 1, B: 1}
    assert tally.outside(Interval(2 * H, 4 * H)) == {A: 1}
    assert tally.outside(ALL) == {}


def test_an_hour_that_is_counted_again_is_replaced() -> None:
    """Read twice it does not count twice; a sample that comes late does."""
    tally = Tally().replaced([ALL], times(a=[2.0, 2.5, 4.5]))
    hours = [Interval(2 * H, 4 * H)]
    again = tally.replaced(hours, times(a=[2.0, 2.5, 4.5, 9.5]))
    assert again.counts.tolist() == tally.counts.tolist()
    late = tally.replaced(hours, times(a=[2.0, 2.5, 2.7], b=[3.5]))
    assert late.outside(Interval(0, 0)) == {A: 4, B: 1}
    gone = late.replaced(hours, times(b=[0.5, 5.5]))
    assert (gone.places, gone.first_ms, gone.counts.tolist()) == ((A,), 4 * H, [[1]])
    nothing = gone.replaced([ALL], {})
    assert (nothing.places, nothing.counts.size) == ((), 0)


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 30 * H - 1)), max_size=60),
    st.lists(st.integers(0, 29), min_size=1, max_size=40),
)
def test_any_order_of_hours_gives_the_same(
    samples: list[tuple[str, int]], order: list[int]
) -> None:
    """Whatever hours are at hand, and however often: all of them once at least."""
    found = {
        place: np.unique(
            np.array([at for name, at in samples if name == key], np.int64)
        )
        for key, place in (("a", A), ("b", B))
    }
    tally = Tally()
    for hour in [*order, *range(30)]:
        near = Interval(max(0, hour - 1) * H, (hour + 2) * H)
        tally = tally.replaced([near], found)
    whole = Tally().replaced([ALL], found)
    assert (tally.places, tally.first_ms) == (whole.places, whole.first_ms)
    assert tally.counts.tolist() == whole.counts.tolist()


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ((1.5, 4.5), (1.5, 4.5), []),
        ((1.5, 4.5), (1.5, 6.2), [(4, 7)]),
        ((1.5, 4.5), (1.5, 3.2), [(3, 5)]),
        ((1.5, 4.5), (0.5, 4.5), [(0, 2)]),
        ((1.5, 9.5), (0.5, 8.5), [(0, 2), (8, 10)]),
        ((1.5, 2.5), (0.5, 1.7), [(0, 3)]),  # the parts meet
        ((1, 2), (2, 3), [(1, 2), (2, 3)]),
    ],
)
def test_hours_in_which_a_hold_is_another_are_counted_again(
    before: tuple[float, float],
    now: tuple[float, float],
    expected: list[tuple[int, int]],
) -> None:
    periods = [Interval(round(a * H), round(b * H)) for a, b in (before, now)]
    assert stale_hours(*periods) == [Interval(a * H, b * H) for a, b in expected]


def test_parts_of_periods_outside_another() -> None:
    assert without([Interval(0, 10), Interval(20, 30)], Interval(5, 25)) == [
        Interval(0, 5),
        Interval(25, 30),
    ]
    assert without([Interval(0, 10)], Interval(2, 4)) == [
        Interval(0, 2),
        Interval(4, 10),
    ]
    assert without([Interval(3, 4)], Interval(0, 9)) == []
    assert whole_hours(Interval(H - 1, H + 1)) == Interval(0, 2 * H)
    assert whole_hours(Interval(H, 2 * H)) == Interval(H, 2 * H)


def test_what_is_kept_comes_back_from_its_row() -> None:
    tally = Tally().replaced([ALL], times(a=[2.0, 2.5], b=[3.0]))
    claimed = (GpuPart("C"), "")  # a place that no sample named
    held = Interval(7, 9 * H)
    kept = HoldLabels(held, "n", True, tally, frozenset({B, claimed}))
    again = unpack_labels(pack_labels(kept))
    assert (again.held, again.node, again.is_shared) == (held, "n", True)
    assert again.places == kept.places
    assert (again.tally.places, again.tally.first_ms) == ((A, B), 2 * H)
    assert again.tally.counts.tolist() == tally.counts.tolist()
    nothing = HoldLabels(held, "n", False, Tally(), frozenset())
    assert unpack_labels(pack_labels(nothing)).tally.places == ()


def test_a_month_of_eight_gpus_takes_little_room() -> None:
    """A sample every 30 s: some hundred bytes."""
    every = np.arange(0, 30 * 24 * H, 30_000, dtype=np.int64)
    eight = {(GpuPart(f"GPU-{n}"), ""): every for n in range(8)}
    tally = Tally().replaced([Interval(0, 30 * 24 * H)], eight)
    kept = HoldLabels(Interval(0, 30 * 24 * H), "n", False, tally, frozenset(eight))
    assert len(pack_labels(kept)) < 700
