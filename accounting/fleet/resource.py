"""Clusters and their current resources."""

from accounting.queries.teams.directory import ClusterRow, cluster_rows
from accounting.resources.resource import Resource
from accounting.rights import SIGNED_IN

CLUSTERS = Resource(
    "clusters",
    ClusterRow,
    SIGNED_IN,
    lambda scope, filters: cluster_rows(scope),
    "List clusters.",
)
