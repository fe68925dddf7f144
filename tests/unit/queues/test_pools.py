"""Pools, depth, what is available and what fits: S15, S16 on small clusters."""

from typing import Any

from scheduler_view.queues.rules.pools import ResourcePool
from tests.unit.queues.queue_worlds import PRODUCT, Queues
from tests.unit.waits.worlds import GPU, job, node, owned, pod, refused

H100, A100 = {PRODUCT: "H100"}, {PRODUCT: "A100"}
OVER = (
    'Error creating: pods "x" is forbidden: exceeded quota: gpu, requested: '
    "requests.nvidia.com/gpu=4, used: requests.nvidia.com/gpu=6, limited: "
    "requests.nvidia.com/gpu=8"
)


def nodes() -> list[dict[str, Any]]:
    return [node("a", 8, labels=H100), node("b", 8, labels=H100)]


def test_the_depth_of_a_pool_and_what_of_it_fits() -> None:
    """The example of docs/scheduling.md S16: 5 are free, 8 wait, 4 of them fit."""
    held = [pod("one", 5, on="a"), pod("two", 6, on="b")]
    waits = [pod("four", 4), pod("pair", 2), pod("other", 2)]
    found = Queues({"Node": nodes(), "Pod": [*held, *waits]}).depths()
    one = found[GPU, "H100"]
    assert (one.capacity, one.available, one.depth, one.work) == (16, 5, 8, 3)
    assert (one.waiting, one.refused, one.held_back) == (8, 0, 0)
    assert (one.fitting, one.fitting_held) == (4, 0)


def test_refused_and_held_back_are_apart_and_fit_by_themselves() -> None:
    """S24's example: 12 that a quota refuses, 8 free where two pods of 4 fit."""
    objects = {
        "Node": [*nodes(), node("c", 8, labels=H100)],
        "Pod": [
            *(pod(f"held-{n}", 4, on=n) for n in "ab"),
            pod("full", 8, on="c"),
            pod(
                "gated", 1, spec={"schedulingGates": [{"name": "wait"}], "priority": -1}
            ),
        ],
        "Job": [job("three", gpus=4, parallelism=3, completions=3)],
        "Event": [refused("Job", "three", OVER)],
    }
    one = Queues(objects).depths()[GPU, "H100"]
    assert (one.refused, one.held_back, one.waiting) == (12, 1, 0)
    assert one.available == 8
    assert one.fitting_held == 8


def test_who_names_a_model_waits_in_its_pool_and_who_names_none_in_each() -> None:
    objects = {
        "Node": [node("a", 8, labels=H100), node("b", 8, labels=A100)],
        "Pod": [
            *(pod(f"held-{n}", 8, on=n) for n in "ab"),
            pod("any", 1),
            pod("only", 2, spec={"nodeSelector": A100}),
            pod("none", 4, spec={"nodeSelector": {PRODUCT: "B300"}}),
        ],
    }
    queues = Queues(objects)
    assert [one.model for one in queues.unit("any").pools] == ["A100", "H100"]
    assert queues.unit("only").pools == (ResourcePool(GPU, "A100"),)
    found = queues.depths()
    assert (found[GPU, "H100"].depth, found[GPU, "A100"].depth) == (1, 3)
    lost = found[GPU, "B300"]
    assert (lost.depth, lost.available, lost.capacity) == (4, None, 0)


def test_cordoned_and_lost_nodes_are_not_available() -> None:
    objects = {
        "Node": [
            node("a", 8, cordoned=True),
            node("b", 4, ready=False),
            node("c", 2),
        ],
        "Pod": [pod("w", 4)],
    }
    one = Queues(objects).depths()[GPU, ""]
    assert (one.available, one.capacity, one.fitting) == (2, 14, 0)


def test_a_gang_fits_whole_or_not_at_all() -> None:
    gang = [
        pod(f"g-{i}", 4, meta=owned("Job", "gang", **{"pod-group-name": "x"}))
        for i in range(3)
    ]
    group = {"scheduling.x-k8s.io/pod-group": "trio"}
    for one in gang:
        one["metadata"] = {
            "name": one["metadata"]["name"], "namespace": "lab", "labels": group,
        }  # fmt: skip
    objects = {"Node": nodes(), "Pod": [*gang, pod("held", 5, on="a"), pod("w", 3)]}
    found = Queues(objects).depths()[GPU, "H100"]
    assert (found.depth, found.available) == (15, 11)
    assert found.fitting == 3, "the gang of 12 has no place, the pod of 3 has"


def test_the_node_with_least_left_is_taken() -> None:
    """The pod of 1 goes where 1 is free, so that the one of 8 still has its node."""
    objects = {
        "Node": nodes(),
        "Pod": [
            pod("held", 7, on="a"),
            pod("small", 1, spec={"priority": 5}),
            pod("large", 8),
        ],
    }
    assert Queues(objects).depths()[GPU, "H100"].fitting == 9
