"""Scores of the policies and fragments, with the numbers of scheduling.md S34 and S35."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from scheduler_view.what_if.rules.cluster import ReplayCluster, ReplayNode
from scheduler_view.what_if.rules.fragments import FragmentMeasure
from scheduler_view.what_if.rules.placer import Placed, Placer
from scheduler_view.what_if.rules.policies.best_fit import BestFit
from scheduler_view.what_if.rules.policies.catalogue import POLICIES, policy_of
from scheduler_view.what_if.rules.policies.dot_product import DotProduct
from scheduler_view.what_if.rules.policies.fragmentation_gradient import (
    FragmentationGradient,
)
from scheduler_view.what_if.rules.policies.gpu_clustering import GpuClustering
from scheduler_view.what_if.rules.policies.gpu_packing import GpuPacking
from scheduler_view.what_if.rules.policy import PlacementPolicy
from scheduler_view.what_if.rules.request import ReplayPod, ReplayRequest
from scheduler_view.what_if.rules.saturation import drawn_order, inflated, saturate

ONE = ReplayRequest(8_000, 1)
PART = ReplayRequest(4_000, 1, 300)
HALF = ReplayRequest(0, 1, 500)
CLASSES = [
    (ONE, 5),
    (HALF, 2),
    (ReplayRequest(0, 2), 1),
    (ReplayRequest(0, 0), 2),
]
EXAMPLE = [ReplayNode("a", 64_000, 2, "A"), ReplayNode("b", 128_000, 8, "B")]


def example() -> ReplayCluster:
    """Node a has 1,000 and 400 thousandths free and 40 CPUs; node b is empty."""
    cluster = ReplayCluster(EXAMPLE)
    cluster.take(ReplayRequest(24_000, 1, 600), 0, [1])
    return cluster


def score(
    policy: PlacementPolicy, cluster: ReplayCluster, request: ReplayRequest
) -> list[int]:
    return [int(found) for found in policy.scores(cluster, request, np.arange(2))]


def test_fragments_are_what_the_usual_pods_cannot_use() -> None:
    cluster = example()
    measure = FragmentMeasure(cluster, CLASSES)
    found = measure.amounts(cluster.cpu_free, cluster.gpu_free, cluster.model_of)
    assert (found[0], measure.weight) == (700 * 10, 10)
    # 0.5 x 400 + 0.2 x 400 + 0.1 x 1,400 + 0.2 x 1,400 = 700 of 1,400 thousandths


def test_a_class_cannot_run_on_another_model_or_without_cpu() -> None:
    cluster = example()
    cpu, gpu, model = cluster.cpu_free, cluster.gpu_free, cluster.model_of
    for asked in (
        ReplayRequest(0, 1, 100, ("B",)),
        ReplayRequest(40_001, 1, 100),
    ):
        measure = FragmentMeasure(cluster, [(asked, 1)])
        assert measure.amounts(cpu, gpu, model).tolist() == [1400, 0]


def test_scores_of_the_example() -> None:
    cluster = example()
    # a: 100 (1 - (36 / 128 + 1.1 / 8) / 2) = 79.06; b: 100 (1 - (124/128 + 7.7/8) / 2) = 3.4
    assert score(BestFit(), cluster, PART) == [79, 3]
    # a: 100 (1 - (40/128 x 8/128 + 1.4/8 x 1/8) / 2) = 97.9; b: 100 (1 - (1/16 + 1/8) / 2)
    assert score(DotProduct(), cluster, ONE) == [97, 90]
    assert score(GpuPacking(), cluster, PART) == [96, 25]  # 100 - 40 / 10; 33 - 8
    assert score(GpuPacking(), cluster, ONE) == [
        49,
        25,
    ]  # one free GPU of a node in use
    assert score(GpuClustering(), cluster, PART) == [
        95,
        25,
    ]  # 75 + 25 (1 - 1.4 / 8); 25
    assert score(GpuClustering(), cluster, ONE) == [20, 25]
    for policy in (GpuPacking(), GpuClustering()):
        assert score(policy, cluster, ReplayRequest(1000, 0)) == [0, 0]


def test_fgd_takes_the_gpu_whose_fragments_grow_least() -> None:
    cluster = example()
    policy = FragmentationGradient(cluster, CLASSES)
    # The rest of GPU 1, 100, is lost to fewer classes than 700 of GPU 0 would be.
    assert policy.gpus(cluster, PART, 0) == [1]
    before, after = 700, 0.5 * 100 + 0.2 * 100 + 0.1 * 1100 + 0.2 * 1100
    assert after == 400
    expected = int(100 / (1 + np.exp((after - before) / 1000)))
    assert score(policy, cluster, PART)[0] == expected == 57


def test_equal_scores_go_to_the_smallest_name_and_a_part_to_the_fullest_gpu() -> None:
    nodes = [ReplayNode(name, 1000, 2) for name in ("c", "b", "a")]
    cluster = ReplayCluster(nodes)
    placer = Placer(cluster, GpuPacking())
    half = ReplayRequest(0, 1, 500)
    assert placer.place(half) == Placed(0, (0,))
    assert cluster.nodes[0].name == "a"
    assert placer.place(half) == Placed(0, (0,))
    assert placer.place(half) == Placed(0, (1,))


@pytest.mark.parametrize("name", POLICIES)
def test_a_pod_that_fits_nowhere_changes_nothing(name: str) -> None:
    cluster = ReplayCluster([ReplayNode("a", 1000, 1, "A")])
    placer = Placer(cluster, policy_of(name, cluster, 0, [(ONE, 1)]))
    for request in (
        ReplayRequest(1001, 0),
        ReplayRequest(0, 2),
        ReplayRequest(0, 1, 1000, ("B",)),
    ):
        assert placer.place(request) is None
    assert (cluster.changes, cluster.total_milli) == (0, 1000)


@pytest.mark.parametrize("name", POLICIES)
def test_a_cluster_without_nodes_takes_nothing(name: str) -> None:
    cluster = ReplayCluster([])
    placer = Placer(cluster, policy_of(name, cluster, 0, [(ONE, 1)]))
    assert placer.place(ONE) is None
    assert saturate(placer, [], [50]).allocated == {50: 0}


def test_allocated_share_is_read_when_the_load_is_reached() -> None:
    cluster = ReplayCluster([ReplayNode("a", 100_000, 4)])
    pods = [ReplayPod(str(at), ONE) for at in range(3)]
    pods += [ReplayPod("large", ReplayRequest(0, 2)), ReplayPod("last", ONE)]
    found = saturate(Placer(cluster, BestFit()), pods, [50, 90, 100, 200])
    # 90 and 100 are both reached by the large pod, which fits nowhere
    assert found.allocated == {
        50: Fraction(1, 2),
        90: Fraction(3, 4),
        100: Fraction(3, 4),
        200: 1,
    }
    assert found.dropped == 1


def test_copies_reach_the_load_and_a_seed_gives_one_order() -> None:
    pods = [ReplayPod("a", ONE), ReplayPod("b", HALF), ReplayPod("c", HALF)]
    found = inflated(pods, 10_000, seed=1)
    assert 13_000 <= sum(pod.request.total_milli for pod in found) < 14_000
    assert {pod.name for pod in found} == {"a", "b", "c"}
    assert inflated(pods, 10_000, seed=1) == found != inflated(pods, 10_000, seed=2)
    with pytest.raises(ValueError, match="no pod"):
        inflated([ReplayPod("a", ReplayRequest(1, 0))], 10_000, seed=1)


@pytest.mark.parametrize(
    "wrong", [(-1, 1, 1000), (0, -1, 1000), (0, 1, 0), (0, 1, 1001), (0, 2, 500)]
)
def test_a_request_out_of_range_is_refused(wrong: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="ReplayRequest"):
        ReplayRequest(*wrong)


def test_two_nodes_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="same name"):
        ReplayCluster([ReplayNode("a", 1, 1), ReplayNode("a", 1, 1)])


def test_each_seed_draws_an_order_of_the_nodes() -> None:
    """Pods that score the same everywhere do not fill the nodes of the first model."""
    nodes = [ReplayNode(f"n{at:02}", 1000, 1, "AB"[at // 10]) for at in range(20)]
    first, again, other = (drawn_order(nodes, seed) for seed in (1, 1, 2))
    assert first == again
    assert [n.name for n in first] != [n.name for n in other]
    assert [replace(n, name=n.name[7:]) for n in first] == nodes
    models = {node.model for node in ReplayCluster(first).nodes[:10]}
    assert models == {"A", "B"}
