"""The clusters of a page."""

from collections.abc import Sequence

from accounting.core.read_once import read_once, together
from accounting.metering.models.cluster import Cluster


def clusters_named(name: str = "") -> list[Cluster]:
    """The cluster of a name, or all, in order of name; a page reads of all of them together."""
    found = [row for row in _clusters() if not name or row.name == name]
    together(row.pk for row in found)
    return found


def cluster_names() -> list[str]:
    """The names of all clusters, in order."""
    return [row.name for row in _clusters()]


def has_one_cluster() -> bool:
    """Whether a name of a namespace or workload has one id."""
    return len(_clusters()) < 2


@read_once
def _clusters() -> Sequence[Cluster]:
    return list(Cluster.objects.order_by("name"))
