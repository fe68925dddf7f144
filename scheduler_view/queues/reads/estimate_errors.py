"""How far estimated starts were off, by pool, as last summed (scheduling.md S19)."""

from scheduler_view.queues.models.queues import EstimateSummary
from scheduler_view.queues.rules.pools import ResourcePool

ClusterPool = tuple[int, ResourcePool]


def estimate_errors() -> dict[ClusterPool, EstimateSummary]:
    """By cluster and pool; pools with fewer than 20 estimates are left out."""
    return {
        (one.cluster_id, ResourcePool(one.resource, one.model)): one
        for one in EstimateSummary.objects.all()
    }
