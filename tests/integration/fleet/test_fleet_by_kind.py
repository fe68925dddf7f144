"""A fleet is counted by kinds of nodes, and comes to what its nodes come to."""

from datetime import UTC, datetime

import pytest

from accounting.fleet.reads.fleet_count import (
    fleet_count,
    fleets_by_cluster,
    node_offers,
)
from accounting.fleet.reads.node_facts import alike_nodes
from accounting.metering.models.cluster import Cluster, Gpu, GpuPresence, Node, NodeFact
from scheduler_view.quotas.reads.supply import supply_of
from tests.story import Story

OLD, NEW = datetime(2026, 9, 1, tzinfo=UTC), datetime(2026, 10, 1, tzinfo=UTC)


def node(cluster: Cluster, name: str, gpus: int, **labels: str) -> Node:
    """A node whose labels name it, with some present GPUs and one that has gone."""
    one = Node.objects.create(cluster=cluster, name=name)
    for at, capacity in ((OLD, 1), (NEW, 8)):
        NodeFact.objects.create(
            node=one,
            valid_from=at,
            model="NVIDIA-H100",
            capacity={"nvidia_com_gpu": capacity},
            labels={"label_kubernetes_io_hostname": name, **labels},
        )
    for n in range(gpus + 1):
        gpu = Gpu.objects.create(cluster=cluster, uuid=f"GPU-{name}-{n}")
        end = None if n < gpus else 1_000
        GpuPresence.objects.create(gpu=gpu, node=one, start_ms=0, end_ms=end)
    return one


@pytest.fixture
def cluster(db: None) -> Cluster:
    """Nodes of three kinds; one whose GPUs have gone, one without any, one never sampled."""
    del db
    found = Cluster.objects.create(name="kinds")
    for n in range(20):
        node(found, f"plain-{n}", 8)
    for n in range(3):
        node(found, f"sliced-{n}", 2, label_nvidia_com_gpu_replicas="4")
    node(found, "cordoned", 8, unschedulable="true")
    node(found, "gone", 0)
    empty = Node.objects.create(cluster=found, name="empty")
    NodeFact.objects.create(
        node=empty, valid_from=NEW, capacity={"nvidia_com_gpu": 4}, labels={}
    )
    unknown = Node.objects.create(cluster=found, name="unknown")
    gpu = Gpu.objects.create(cluster=found, uuid="GPU-unknown")
    GpuPresence.objects.create(gpu=gpu, node=unknown, start_ms=0, end_ms=None)
    return found


def test_nodes_that_differ_in_their_names_are_one_group(cluster: Cluster) -> None:
    groups = alike_nodes(cluster.pk)
    assert [(one.nodes, one.gpus) for one in groups] == [
        *((20, 8), (3, 2), (1, 8), (1, 0), (1, 1))
    ]
    assert [one.capacity is None for one in groups] == [False] * 4 + [True]


def test_a_fleet_is_the_sum_of_its_nodes(cluster: Cluster) -> None:
    fleet = fleets_by_cluster()["kinds"]
    assert fleet == fleet_count(node_offers(["kinds"]))
    assert (fleet.nodes, fleet.gpus, fleet.shared, fleet.shared_units) == (
        *(25, 175, 6, 24),
    )


def test_supply_counts_nodes_of_a_kind_together(cluster: Cluster) -> None:
    supply = supply_of(cluster)
    assert supply.capacity == {"nvidia.com/gpu": 24 * 8 + 4}
    assert sorted(kind.nodes for kind in supply.kinds) == [1, 1, 3, 20]


@pytest.mark.usefixtures("db")
def test_fleets_of_the_story_are_the_sums_of_their_nodes(story: Story) -> None:
    fleets = fleets_by_cluster()
    assert fleets
    for name, fleet in fleets.items():
        assert fleet == fleet_count(node_offers([name]))
