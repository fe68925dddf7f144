"""What is desired of clusters: rows of targets and tiers, read once for a page.

Those of all clusters are read at once: they are few, and most pages show every cluster.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from accounting.core.read_once import read_once
from accounting.metering.models.cluster import Cluster
from scheduler_view.quotas.models import QueueTarget, QuotaTarget, Tier

Row = TypeVar("Row", QueueTarget, QuotaTarget, Tier)


def quota_targets(cluster: Cluster) -> Sequence[QuotaTarget]:
    """Quotas with their teams, in order of team, resource and tier."""
    return _quota_targets().get(cluster.pk, [])


def queue_targets(cluster: Cluster) -> Sequence[QueueTarget]:
    """Fields of queues and workload priority classes."""
    return _queue_targets().get(cluster.pk, [])


def tiers(cluster: Cluster) -> Sequence[Tier]:
    """Tiers, the highest first."""
    return _tiers().get(cluster.pk, [])


@read_once
def _quota_targets() -> Mapping[int, Sequence[QuotaTarget]]:
    rows = QuotaTarget.objects.select_related("team")
    return _by_cluster(rows.order_by("team__name", "resource", "tier"))


@read_once
def _queue_targets() -> Mapping[int, Sequence[QueueTarget]]:
    return _by_cluster(QueueTarget.objects.all())


@read_once
def _tiers() -> Mapping[int, Sequence[Tier]]:
    return _by_cluster(Tier.objects.order_by("-value", "name"))


def _by_cluster(rows: Iterable[Row]) -> Mapping[int, Sequence[Row]]:
    found: defaultdict[int, list[Row]] = defaultdict(list)
    for row in rows:
        found[row.cluster_id].append(row)
    return found
