"""Clusters and their current resources."""

from accounting.access.rights import SIGNED_IN
from accounting.fleet.reads.clusters import ClusterRow, cluster_rows
from accounting.kit.resources.resource import Resource

CLUSTERS = Resource(
    "clusters",
    ClusterRow,
    SIGNED_IN,
    cluster_rows,
    "List clusters.",
)
