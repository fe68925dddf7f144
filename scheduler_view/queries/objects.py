"""The objects of desired quotas, as they are sent to the API server."""

from typing import Any

from accounting.models import Cluster
from scheduler_view.domain.objects.desired import desired_quotas
from scheduler_view.mapping import target_of, tier_of
from scheduler_view.models import QuotaTarget, Tier


def quota_objects(cluster: Cluster, team: str) -> list[dict[str, Any]]:
    """Every quota object of a team in a cluster, in the order of its name."""
    targets = QuotaTarget.objects.filter(cluster=cluster).select_related("team")
    tiers = {row.name: tier_of(row) for row in Tier.objects.filter(cluster=cluster)}
    own = [target_of(row) for row in targets if row.team.slug == team]
    found = desired_quotas(own, tiers)
    return [found[key] for key in sorted(found)]
