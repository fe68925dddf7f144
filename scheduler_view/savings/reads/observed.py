"""Which clusters are observed: rules that need their objects are silent elsewhere."""

from accounting.metering.models.cluster import Cluster
from scheduler_view.clusters.models import WAITS, ObservationRun


def clusters_not_observed(cluster: str = "") -> list[str]:
    """Clusters whose waits were never observed: rules that need their objects are silent there.

    Args:
        cluster: only this one; empty for all.
    """
    seen = ObservationRun.objects.filter(kind=WAITS, seen_at__isnull=False)
    found = Cluster.objects.exclude(pk__in=seen.values("cluster_id"))
    if cluster:
        found = found.filter(name=cluster)
    return list(found.order_by("name").values_list("name", flat=True))
