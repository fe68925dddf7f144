"""Placements are those of a plain loop over nodes, for every policy (scheduling.md S35).

Covered: nodes of several shapes and models, whole GPUs, parts, pods without GPUs, pods that
end, pods that fit nowhere. Not here: the figures of the public trace
(`tests/acceptance/test_openb_policies.py`).
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_view.what_if.rules.cluster import ReplayCluster, ReplayNode
from scheduler_view.what_if.rules.fragments import popular_classes
from scheduler_view.what_if.rules.placer import Placed, Placer
from scheduler_view.what_if.rules.policies.catalogue import POLICIES, policy_of
from scheduler_view.what_if.rules.request import ReplayRequest
from tests.oracle import placement
from tests.oracle.placement import Loop, Request

NODES = st.lists(
    st.tuples(
        st.sampled_from((32_000, 64_000, 96_000, 128_000, 192_000)),
        st.sampled_from((1, 2, 4, 8)),
        st.sampled_from(("A", "B", "C")),
    ),
    min_size=1,
    max_size=7,
)
PARTS = st.sampled_from((100, 250, 333, 500, 810))
MODELS = st.sampled_from(((), (), (), ("A",), ("A", "B"), ("D",)))
CPU = st.sampled_from((0, 1000, 3152, 4000, 11_300, 32_000, 64_000))
REQUESTS = st.one_of(
    st.tuples(CPU, st.just(1), PARTS, MODELS),
    st.tuples(CPU, st.sampled_from((0, 1, 1, 2, 4, 8)), st.just(1000), MODELS),
)
STEPS = st.lists(st.tuples(REQUESTS, st.integers(0, 9)), min_size=1, max_size=60)


@pytest.mark.parametrize("name", POLICIES)
@settings(max_examples=40, deadline=None)
@given(nodes=NODES, steps=STEPS, seed=st.integers(0, 5))
def test_placements_are_those_of_a_loop(
    name: str,
    nodes: list[tuple[int, int, str]],
    steps: list[tuple[Request, int]],
    seed: int,
) -> None:
    asked = [request for request, _ in steps]
    named = [(f"n{9 - at}", *node) for at, node in enumerate(nodes)]
    loop = Loop(named, name, seed, placement.popular(asked))
    cluster = ReplayCluster(ReplayNode(*node) for node in named)
    classes = popular_classes(ReplayRequest(*request) for request in asked)
    placer = Placer(cluster, policy_of(name, cluster, seed, classes))
    here: list[tuple[ReplayRequest, Placed]] = []
    there: list[tuple[Request, placement.Where]] = []
    for request, luck in steps:
        ours = placer.place(ReplayRequest(*request))
        theirs = loop.place(request)
        assert _shown(cluster, ours) == theirs
        if ours is not None:
            here.append((ReplayRequest(*request), ours))
            there.append((request, theirs))
        if luck < 3 and here:
            ended = luck % len(here)
            placer.end(*here.pop(ended))
            loop.end(*there.pop(ended))
    assert cluster.gpu_free.sum() == sum(sum(node[2]) for node in loop.nodes)


def _shown(cluster: ReplayCluster, placed: Placed | None) -> placement.Where:
    if placed is None:
        return None
    return cluster.nodes[placed.node].name, list(placed.gpus)


@given(st.lists(REQUESTS, max_size=80))
def test_popular_classes_are_those_of_a_loop(asked: list[Request]) -> None:
    ours = popular_classes(ReplayRequest(*request) for request in asked)
    theirs = placement.popular(asked)
    assert [(ReplayRequest(*request), n) for request, n in theirs] == ours
