"""Many nodes and pods: what is shared between pods changes no answer.

Covered: cause, contributing causes, number and best one of the sets of blockers, against a loop
over nodes for every pod (`tests/oracle/waits.py`); units, with members on nodes too, explained
together and alone. Not here: speed (`make bench`).
"""

import json
from typing import Any

import pytest

from bench.waiting_cluster import NOW_MS, decoded, waiting_cluster
from scheduler_view.domain.waits.explain import Explainer, explain
from scheduler_view.domain.waits.world.world import World, read_world
from tests.oracle.waits import PlainLoop


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
