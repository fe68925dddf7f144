"""The order in which work is served and positions in it: S17."""

from scheduler_view.queues.rules.queued import positions_of
from tests.unit.queues.queue_worlds import PRODUCT, Queues
from tests.unit.waits.worlds import GPU, node, pod


def waiting(
    name: str, time: str, priority: int = 0, **more: object
) -> dict[str, object]:
    meta = {
        "name": name,
        "namespace": "lab",
        "uid": f"uid-{name}",
        "creationTimestamp": f"2026-11-18T{time}Z",
    }
    return pod(name, 4, meta=meta, spec={"priority": priority, **more})


def test_priority_then_admission_then_uid() -> None:
    """The example of docs/scheduling.md S17."""
    pods = [
        waiting("late", "11:00:00"),
        waiting("early", "10:00:00"),
        waiting("twin", "10:00:00"),
        waiting("urgent", "12:00:00", 100),
    ]
    held = pod("held", 2, "a")
    objects = {"Node": [node("a", 4)], "Pod": [held, *pods]}
    queues = Queues(objects)
    assert queues.names == ["urgent", "early", "twin", "late"]
    found = positions_of(queues.units)
    assert (found["Pod", "lab", "late"].rank, found["Pod", "lab", "late"].count) == (
        4,
        4,
    )
    later = {("Pod", "lab", "early"): queues.unit("late").since_ms + 1}
    admitted = Queues(objects, later)  # type: ignore[arg-type]
    assert admitted.names == ["urgent", "twin", "late", "early"]


def test_the_best_rank_of_several_pools_counts() -> None:
    h100, a100 = {PRODUCT: "H100"}, {PRODUCT: "A100"}
    queues = Queues(
        {
            "Node": [node("a", 4, labels=h100), node("b", 4, labels=a100)],
            "Pod": [
                pod("held", 2, "a"),
                pod("other", 2, "b"),
                waiting("first", "10:00:00", nodeSelector=h100),
                waiting("any", "11:00:00"),
                waiting("second", "12:00:00", nodeSelector=h100),
            ],
        }
    )
    found = positions_of(queues.units)
    any_of = found["Pod", "lab", "any"]
    assert (any_of.pool.model, any_of.rank, any_of.count) == ("A100", 1, 1)
    assert found["Pod", "lab", "second"].rank == 3
    assert found["Pod", "lab", "second"].pool.resource == GPU


def test_work_that_no_node_could_take_is_in_no_line() -> None:
    queues = Queues(
        {
            "Node": [node("a", 2)],
            "Pod": [
                pod("held", 2, "a"),
                waiting("nowhere", "10:00:00", nodeSelector={"zone": "x"}),
                waiting("huge", "10:30:00"),
                pod("fits", 2, meta={"name": "fits", "namespace": "lab", "uid": "f"}),
            ],
        }
    )
    found = positions_of(queues.units)
    for name in ("nowhere", "huge"):
        assert found["Pod", "lab", name].rank is None
    assert (found["Pod", "lab", "fits"].rank, found["Pod", "lab", "fits"].count) == (
        1,
        1,
    )


def test_work_that_no_node_could_take_has_none_of_several_pools() -> None:
    models = ({"nvidia.com/gpu.product": name} for name in ("H100", "A100"))
    nodes = [node(f"n{i}", 2, labels=labels) for i, labels in enumerate(models)]
    queues = Queues({"Node": nodes, "Pod": [waiting("huge", "10:00:00")]})
    place = positions_of(queues.units)["Pod", "lab", "huge"]
    assert (place.pool.resource, place.pool.model, place.rank) == (GPU, "", None)
