"""What is desired of a cluster: rows of targets and tiers, read once for a page."""

from collections.abc import Sequence

from accounting.domain.core.read_once import read_once
from accounting.models import Cluster
from scheduler_view.models import QueueTarget, QuotaTarget, Tier


@read_once
def quota_targets(cluster: Cluster) -> Sequence[QuotaTarget]:
    """Quotas with their teams, in order of team, resource and tier."""
    rows = QuotaTarget.objects.filter(cluster=cluster).select_related("team")
    return list(rows.order_by("team__name", "resource", "tier"))


@read_once
def queue_targets(cluster: Cluster) -> Sequence[QueueTarget]:
    """Fields of queues and workload priority classes."""
    return list(QueueTarget.objects.filter(cluster=cluster))


@read_once
def tiers(cluster: Cluster) -> Sequence[Tier]:
    """Tiers, the highest first."""
    return list(Tier.objects.filter(cluster=cluster).order_by("-value", "name"))
