"""Desired quotas as GPUs over time: the weights of `+quota` (money.md M23)."""

from datetime import UTC, datetime, timedelta

import pytest

from accounting.access.models.teams import Team
from accounting.metering.models.cluster import Cluster, Gpu, GpuPresence, Node, NodeFact
from accounting.months.actions.team_quotas import record_quotas
from accounting.months.models.team_quota import TeamQuota
from scheduler_view.quotas.models import QuotaTarget
from scheduler_view.quotas.reads.quota_shares import milli_gpus_of

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 10, 5, tzinfo=UTC)
MIG = "nvidia.com/mig-1g.10gb"


@pytest.fixture
def cluster() -> Cluster:
    """A node with two divided H100: 14 parts of a seventh."""
    cluster = Cluster.objects.create(name="north")
    node = Node.objects.create(cluster=cluster, name="n1")
    gpu = Gpu.objects.create(cluster=cluster, uuid="GPU-1", model="H100")
    GpuPresence.objects.create(gpu=gpu, node=node, start_ms=0)
    NodeFact.objects.create(
        node=node,
        valid_from=NOW,
        model="NVIDIA-H100-80GB-HBM3",
        lifecycle="on-demand",
        capacity={"nvidia_com_mig_1g_10gb": 14},
        labels={"label_nvidia_com_gpu_product": "NVIDIA-H100-80GB-HBM3"},
    )
    return cluster


def target(
    cluster: Cluster, team: str, resource: str, gpus: int, tier: str = ""
) -> int:
    row, _ = Team.objects.get_or_create(slug=team, defaults={"name": team})
    QuotaTarget.objects.create(
        cluster=cluster, team=row, resource=resource, tier=tier, gpus=gpus, version=1
    )
    return row.pk


def test_units_are_their_share_of_a_gpu(cluster: Cluster) -> None:
    vision = target(cluster, "vision", "nvidia.com/gpu", 2)
    target(cluster, "vision", MIG, 3)
    search = target(cluster, "search", MIG, 7)
    assert milli_gpus_of(cluster) == {vision: 2429, search: 1000}


def test_quotas_of_tiers_count_only_without_one_of_all_pods(cluster: Cluster) -> None:
    vision = target(cluster, "vision", "nvidia.com/gpu", 8)
    target(cluster, "vision", "nvidia.com/gpu", 3, "low")
    search = target(cluster, "search", "nvidia.com/gpu", 1, "low")
    target(cluster, "search", "nvidia.com/gpu", 2, "high")
    assert milli_gpus_of(cluster) == {vision: 8000, search: 3000}


def test_only_changes_are_recorded(cluster: Cluster) -> None:
    vision = target(cluster, "vision", "nvidia.com/gpu", 1)
    assert record_quotas(cluster, {vision: 1000}, NOW) == 1
    later = NOW + timedelta(days=1)
    assert record_quotas(cluster, {vision: 1000}, later) == 0
    assert record_quotas(cluster, {}, later) == 1
    found = TeamQuota.objects.order_by("valid_from").values_list(
        "milli_gpus", flat=True
    )
    assert list(found) == [1000, 0]
