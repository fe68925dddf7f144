"""Many nodes and pods: what is shared between pods changes no answer.

Covered: cause, contributing causes, number and best one of the sets of blockers, against a loop
over nodes for every pod (`tests/oracle/waits.py`); units, with members on nodes too, explained
together and alone. Not here: speed (`make bench`).
"""

import json
from typing import Any

import pytest

from bench.waiting_cluster import NOW_MS, decoded, waiting_cluster
from scheduler_view.waits.rules.explain import Explainer, explain
from scheduler_view.waits.rules.explanation import WaitExplanation
from scheduler_view.waits.rules.world.world import World, read_world
from tests.oracle.waits import PlainLoop
from tests.unit.waits.test_autoscalers import SCALE_UP, event
from tests.unit.waits.worlds import kinds, node, pod, world_of


def cluster(
    nodes: int, waiting: int, seed: int
) -> tuple[World, PlainLoop, dict[str, Any]]:
    objects = waiting_cluster(nodes, waiting, seed)
    manifests = {
        kind: [json.loads(one) for one in found] for kind, found in objects.items()
    }
    loop = PlainLoop(manifests["Node"], manifests["Pod"])
    pods = {
        f"{one['metadata']['namespace']}/{one['metadata']['name']}": one
        for one in manifests["Pod"]
    }
    return read_world(decoded(objects), NOW_MS), loop, pods


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_answers_are_those_of_a_loop_over_nodes(seed: int) -> None:
    world, loop, pods = cluster(8, 120, seed)
    explainer = Explainer(world)
    compared = 0
    for unit in explainer.index.units:
        found = explainer.explain(unit)
        if found is None or unit.bound or unit.missing:
            continue
        pod = pods[unit.waiting[0].path]
        others = frozenset(one.value for one in found.contributing)
        assert (found.cause.value, others) == loop.causes(pod)
        count, best = loop.blockers(pod)
        assert found.blocker_sets == count
        assert [set(one.pods) for one in found.blockers[:1]] == (
            [set(best)] if best else []
        )
        compared += 1
    assert compared > 12


def test_a_unit_is_explained_alone_as_together_with_others() -> None:
    world, _, _ = cluster(12, 40, 4)
    explainer = Explainer(world)
    for unit in explainer.index.units:
        assert explain(world, unit) == explainer.explain(unit)


def equal_pods(**more: Any) -> list[WaitExplanation]:
    """Of two pods with the same demand, which pods of lower priority keep out."""
    pods = [pod("r", 8, on="n"), *(pod(n, 8, spec={"priority": 9}) for n in "vw")]
    return list(Explainer(world_of(Node=[node("n")], Pod=pods, **more)).waiting())


def test_remedies_of_equal_pods_are_tried_once_whatever_holds_their_gpus() -> None:
    one, other = equal_pods()
    assert one.overlays == other.overlays == ("priority_inversion",)
    assert one.starts_if
    assert one.starts_if is other.starts_if


def test_what_an_autoscaler_does_for_one_pod_is_no_remedy_of_another() -> None:
    told = event("TriggeredScaleUp", SCALE_UP)
    found = {one.name: kinds(one) for one in equal_pods(Event=[told])}
    assert "wait_for_node" in found["w"]
    assert found["v"] == found["w"] - {"wait_for_node"}
