"""Random pools: what fits is free and waits, and a range has its estimate (S16, S19)."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_view.queues.rules.queued import UNSERVED, positions_of
from scheduler_view.queues.rules.remaining import HoldDurations
from scheduler_view.queues.rules.starts import RunningHold, estimate_starts
from tests.unit.queues.queue_worlds import HOUR_MS, PRODUCT, Queues
from tests.unit.waits.worlds import GPU, NOW_MS, node, pod

LIKE = ("pool", GPU, "", "")
DURATIONS = HoldDurations({LIKE: [hours * HOUR_MS for hours in range(1, 60)]})


@st.composite
def queues(draw: st.DrawFn) -> tuple[Queues, list[RunningHold]]:
    """Up to four nodes of two models with holds, and up to eight pods that wait."""
    nodes, pods = list[dict[str, Any]](), list[dict[str, Any]]()
    holds: list[RunningHold] = []
    for number in range(draw(st.integers(1, 4))):
        name, labels = f"n{number}", {PRODUCT: draw(st.sampled_from("AB"))}
        nodes.append(node(name, 8, labels=labels, cordoned=draw(st.booleans())))
        free = 8
        for i in range(draw(st.integers(0, 3))):
            gpus = draw(st.integers(1, 4))
            if gpus <= free:
                free -= gpus
                pods.append(pod(f"p{number}-{i}", gpus, name))
                bound = NOW_MS - draw(st.integers(0, 30)) * HOUR_MS
                request = ((GPU, gpus * 1000),)
                holds.append(
                    RunningHold(f"uid-p{number}-{i}", name, request, bound, (LIKE,))
                )
    for number in range(draw(st.integers(0, 8))):
        model = draw(st.sampled_from([{}, {PRODUCT: "A"}, {PRODUCT: "B"}]))
        spec = {"priority": draw(st.integers(0, 2)), "nodeSelector": model}
        pods.append(pod(f"w{number}", draw(st.integers(1, 8)), spec=spec))
    return Queues({"Node": nodes, "Pod": pods}), holds


@given(queues())
@settings(deadline=None)
def test_what_fits_is_free_and_waits(found: tuple[Queues, list[RunningHold]]) -> None:
    world, _ = found
    depths = world.depths().values()
    for one in depths:
        assert 0 <= one.fitting <= (one.available or 0) <= one.capacity
        assert one.fitting <= one.depth
    assert sum(one.fitting for one in depths) <= sum(u.units for u in world.units)


@given(queues())
@settings(deadline=None)
def test_a_range_has_its_estimate_and_everything_has_a_place(
    found: tuple[Queues, list[RunningHold]],
) -> None:
    world, holds = found
    starts = estimate_starts(world.rooms, world.units, holds, DURATIONS, NOW_MS)
    for one in starts.values():
        assert one.low_ms is not None
        assert NOW_MS <= one.low_ms <= one.start_ms
        assert one.high_ms is None or one.start_ms <= one.high_ms
    places = positions_of(world.units)
    assert len(places) == len(world.units)
    for unit in world.units:
        place = places[unit.subject]
        assert (place.rank is None) == (unit.cause in UNSERVED)
        assert place.rank is None or 1 <= place.rank <= place.count
