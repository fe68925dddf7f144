"""The simulated cluster is one cluster: the same for everybody, and never overfull."""

from collections import defaultdict
from dataclasses import replace

import pytest

from portal.demo.metrics.exposition import kube_text, node_text
from portal.demo.scenario.engine import Engine
from portal.demo.scenario.fleet import resource_of
from portal.demo.scenario.story import DAY_S, HOUR_S, Story
from tests.unit.portal.demo.conftest import NOW_S

pytestmark = pytest.mark.timeout(30)  # the first test here simulates eight weeks


def facts(engine: Engine) -> list[tuple[object, ...]]:
    """Everything that happened to pods."""
    return [
        (pod.uid, pod.created_s, pod.bound_s, pod.ended_s, pod.phase, pod.units)
        for pod in engine.pods
    ]


def test_the_same_story_gives_the_same_cluster(small: Engine) -> None:
    other = Engine(small.story)
    other.advance(NOW_S)
    assert facts(other) == facts(small)


def test_another_seed_gives_another_cluster(small: Engine) -> None:
    other = Engine(replace(small.story, seed=4))
    other.advance(NOW_S)
    assert facts(other) != facts(small)


def test_the_state_does_not_depend_on_the_steps_in_which_it_was_reached(
    small: Engine,
) -> None:
    other = Engine(small.story)
    for at in range(small.story.start_s, NOW_S, 1237):
        other.advance(at)
    other.advance(NOW_S)
    assert facts(other) == facts(small)
    assert kube_text(other, NOW_S) == kube_text(small, NOW_S)


def test_what_comes_later_does_not_change_what_was_shown(small: Engine) -> None:
    then = NOW_S - DAY_S
    other = Engine(small.story)
    other.advance(then)
    before = (
        kube_text(other, then),
        *(node_text(other, node, then) for node in other.nodes_at(then)),
    )
    other.advance(NOW_S)
    after = (
        kube_text(other, then),
        *(node_text(other, node, then) for node in other.nodes_at(then)),
    )
    assert before == after


def test_no_gpu_is_held_twice(engine: Engine) -> None:
    for seats in engine.seats.values():
        for seat in seats:
            free_at = 0
            for pod in seat.pods:
                assert pod.bound_s is not None
                assert pod.bound_s >= free_at
                free_at = NOW_S if pod.ended_s is None else pod.ended_s


def test_pods_hold_what_they_asked_for_on_nodes_that_are_there(engine: Engine) -> None:
    for pod in engine.pods:
        if pod.node is None or pod.bound_s is None:
            continue
        assert len(set(pod.units)) == pod.request.gpus
        seats = engine.seats[pod.node.name]
        pools = {pod.node.pool_of(seats[unit].unit) for unit in pod.units}
        assert len(pools) == 1
        assert pools <= set(pod.request.pools)
        assert pod.node.joined_s <= pod.bound_s
        end = pod.bound_s if pod.ended_s is None else pod.ended_s
        assert pod.bound_s <= end
        assert pod.node.left_s is None or end <= pod.node.left_s


def test_names_come_back_and_uids_do_not(engine: Engine) -> None:
    uids = [pod.uid for pod in engine.pods]
    assert len(set(uids)) == len(uids)
    names = [(pod.request.namespace, pod.request.name) for pod in engine.pods]
    assert len(set(names)) < len(names)  # notebooks keep theirs


def test_two_pods_of_one_name_are_never_there_at_one_time(engine: Engine) -> None:
    gone: dict[tuple[str, str], int] = defaultdict(int)
    for pod in engine.pods:
        name = (pod.request.namespace, pod.request.name)
        assert pod.created_s >= gone[name]
        gone[name] = NOW_S * 2 if pod.gone_s is None else pod.gone_s


def test_the_fleet_has_three_hundred_gpus_of_six_models_at_any_time(
    engine: Engine,
) -> None:
    for at in range(engine.story.start_s, NOW_S, 6 * HOUR_S):
        nodes = engine.nodes_at(at)
        gpus = sum(node.pool.gpus for node in nodes)
        assert gpus >= 280  # some nodes are being replaced
        assert len({node.pool.model.name for node in nodes}) >= 6
    assert sum(node.pool.gpus for node in engine.nodes_at(NOW_S)) >= 300


def test_a_place_has_one_node_at_a_time(engine: Engine) -> None:
    for at in range(engine.story.start_s, NOW_S, HOUR_S):
        places = [node.place for node in engine.nodes_at(at)]
        assert len(set(places)) == len(places)


def test_a_request_wants_one_resource_wherever_it_may_run(engine: Engine) -> None:
    for pod in engine.pods:
        assert len({resource_of(pool) for pool in pod.request.pools}) == 1


def test_every_shape_is_held(engine: Engine) -> None:
    seats = [
        (pod.node, engine.seats[pod.node.name][unit].unit)
        for pod in engine.pods_between(NOW_S - 3 * DAY_S, NOW_S)
        if pod.node is not None
        for unit in pod.units
    ]
    assert {unit.profile for _, unit in seats} >= {"1g.10gb", "2g.20gb", "3g.40gb"}
    assert any(node.shape.strategy == "single" for node, _ in seats)
    assert any(node.shape.replicas > 1 for node, _ in seats)
    assert any(node.pool.model.is_amd for node, _ in seats)
    assert any(node.lifecycle == "spot" for node, _ in seats)


@pytest.mark.parametrize("gpus", [10, 24, 100, 308])
def test_a_fleet_of_any_size_has_every_model(gpus: int) -> None:
    story = Story.ending_at(NOW_S, seed=7, days=7, gpus=gpus)
    engine = Engine(story)
    engine.advance(story.start_s + HOUR_S)
    assert len({node.pool.model for node in engine.nodes_at(engine.now_s)}) == 8
