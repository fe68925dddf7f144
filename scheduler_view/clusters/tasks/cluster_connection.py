"""The connection to a cluster, from its settings."""

from collections.abc import Callable

from accounting.metering.models.cluster import Cluster
from scheduler_view.clusters.client.access import AccessRole, access_of, is_configured
from scheduler_view.clusters.client.client import ClusterClient, connect

Connect = Callable[[Cluster, AccessRole], ClusterClient]


def connect_to(cluster: Cluster, role: AccessRole) -> ClusterClient:
    """A client of a cluster, from its settings.

    Raises:
        NotConfigured: the settings have no usable access.
    """
    return connect(access_of(cluster.name, cluster.kubernetes, role))


def visible_clusters() -> list[Cluster]:
    """Clusters whose settings have a reader."""
    clusters = Cluster.objects.all()
    return [c for c in clusters if is_configured(c.kubernetes, AccessRole.READER)]
