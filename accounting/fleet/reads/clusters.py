"""Clusters as rows, with their GPUs."""

from django.db.models import prefetch_related_objects

from accounting.access.scope import Scope
from accounting.fleet.reads.fleet_count import fleets_by_cluster
from accounting.kit.rows import column, listed
from accounting.metering.reads.clusters import clusters_named
from accounting.metering.reads.share_policies import policies_now
from accounting.metering.rules.units.mig_profiles import Policy


@listed("Cluster")
class ClusterRow:
    """A cluster and its current resources."""

    name: str = column()
    is_demo: bool = column()
    nodes: int = column()
    gpus: int = column()
    sources: int = column()
    share_policy: str = column()


def cluster_rows(scope: Scope) -> list[ClusterRow]:
    """Every cluster with its present nodes and GPUs."""
    if not scope.sees_any:
        return []
    fleets = fleets_by_cluster()
    rows = clusters_named()
    prefetch_related_objects(rows, "sources")
    shares = policies_now()
    return [
        ClusterRow(
            name=row.name,
            is_demo=row.is_demo,
            nodes=fleets[row.name].nodes if row.name in fleets else 0,
            gpus=fleets[row.name].gpus if row.name in fleets else 0,
            sources=row.sources.count(),
            share_policy=shares.get(row.pk, Policy.COMPUTE.value),
        )
        for row in rows
    ]
