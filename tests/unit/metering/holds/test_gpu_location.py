"""A UUID that two nodes show is in one place (rules N15), and data health names it."""

import pytest

from accounting.core.interval import Interval
from accounting.metering.rules.holds.gpu_location import in_one_place, misplaced
from accounting.metering.rules.inventory.records import (
    GpuRecord,
    Inventory,
    NodeRecord,
    SampleSpan,
    ScrapeLocation,
)
from accounting.metering.rules.samples.series import ScraperIdentity

PERIOD = Interval(100, 1000)


def span(first: int, last: int, step: int = 10) -> SampleSpan:
    return SampleSpan(first, last, step)


# --- where it is ---------------------------------------------------------------------


def test_one_node_keeps_all_its_spans() -> None:
    spans = {"n": [span(0, 100), span(50, 70)]}
    assert in_one_place(spans) == spans
    assert in_one_place({}) == {}


def test_disjoint_spans_of_two_nodes_are_kept() -> None:
    """N15: it moved."""
    spans = {"n": [span(0, 90)], "m": [span(91, 200)]}
    assert in_one_place(spans) == spans


def test_gpu_is_where_its_samples_began_last_until_they_end_there() -> None:
    """N15: m speaks in [100, 210); n until then, and after it."""
    spans = {"n": [span(0, 300, 30)], "m": [span(100, 200)]}
    assert in_one_place(spans) == {
        "n": [SampleSpan(0, 99, 1), SampleSpan(210, 300, 30)],
        "m": [span(100, 200)],
    }


@pytest.mark.parametrize(
    ("later", "left"),
    [
        ((0, 300), []),  # all of it
        ((0, 289), [SampleSpan(299, 300, 30)]),
        ((0, 290), [SampleSpan(300, 300, 30)]),
        ((0, 291), []),
        ((300, 400), [SampleSpan(0, 299, 1)]),
        ((301, 400), [SampleSpan(0, 300, 30)]),
    ],
)
def test_what_is_left_around_a_later_one(
    later: tuple[int, int], left: list[SampleSpan]
) -> None:
    """N15: of two that begin together the node that sorts later speaks."""
    found = in_one_place({"a": [span(0, 300, 30)], "b": [span(*later)]})
    assert found.get("a", []) == left
    assert found["b"] == [span(*later)]


def test_several_later_ones_cut_each_their_part() -> None:
    spans = {"n": [span(0, 500)], "m": [span(100, 140), span(300, 340)]}
    assert in_one_place(spans)["n"] == [
        SampleSpan(0, 99, 1),
        SampleSpan(150, 299, 1),
        SampleSpan(350, 500, 10),
    ]


def test_spans_of_one_node_do_not_cut_each_other() -> None:
    spans = {"n": [span(0, 300), span(100, 200)], "m": [span(900, 950)]}
    assert in_one_place(spans) == spans


# --- what data health says -----------------------------------------------------------


def inventory(
    spans: dict[str, list[SampleSpan]], nodes: tuple[str, ...] = ("n", "m")
) -> Inventory:
    places = {
        ScrapeLocation(node, ScraperIdentity("x")): found
        for node, found in spans.items()
    }
    return Inventory(
        nodes={name: NodeRecord(name, [span(0, 2000)]) for name in nodes},
        gpus={"G": GpuRecord("G", spans=places)},
    )


def told(
    known: Inventory, *, is_seen: bool = True
) -> list[tuple[str, str, int, int, int]]:
    return [
        (i.code, i.subject, i.first_ms, i.last_ms, i.at_stake_ms)
        for i in misplaced(known, PERIOD, is_seen=is_seen)
    ]


def test_gpu_on_two_nodes_at_one_time_is_told() -> None:
    found = inventory({"n": [span(0, 400)], "m": [span(300, 700), span(800, 900)]})
    assert told(found) == [("gpu_in_two_places", "G", 300, 400, 100)]
    found = inventory(
        {"n": [span(0, 400), span(850, 2000)], "m": [span(50, 200), span(900, 2000)]}
    )
    assert told(found) == [("gpu_in_two_places", "G", 100, 1000, 200)]
    [issue] = misplaced(found, PERIOD, is_seen=True)
    assert " m, n." in issue.message


def test_gpu_that_moved_is_not_told() -> None:
    assert told(inventory({"n": [span(0, 300)], "m": [span(300, 700)]})) == []
    before = inventory({"n": [span(0, 100)], "m": [span(50, 99)]})
    assert told(before) == []


def test_gpu_of_a_node_that_nobody_reported_is_told() -> None:
    """Only where kube-state is seen is a node known to be missing."""
    found = inventory({"x": [span(50, 400), span(500, 2000)]})
    assert told(found) == [("foreign_gpu", "G", 100, 1000, 900)]
    assert told(found, is_seen=False) == []
    found.nodes["x"] = NodeRecord("x")  # a name without a sample
    assert [issue[0] for issue in told(found)] == ["foreign_gpu"]
    found.nodes["x"].spans.append(span(0, 2000))
    assert told(found) == []


def test_foreign_gpu_outside_the_period_is_not_told() -> None:
    """Half-open: a last sample at the start is inside, a first one at the end is not."""
    assert told(inventory({"x": [span(0, 99), span(1000, 1200)]})) == []
    assert told(inventory({"x": [span(0, 100)]})) == [("foreign_gpu", "G", 100, 100, 0)]
    known = inventory({"": [span(200, 300)]})
    assert told(known) == [("foreign_gpu", "G", 200, 300, 100)]
    assert "(no name)" in misplaced(known, PERIOD, is_seen=True)[0].message
