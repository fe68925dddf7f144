"""The objects of desired quotas, as they are sent to the API server."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from accounting.metering.models.cluster import Cluster
from scheduler_view.quotas.mapping import target_of, tier_of
from scheduler_view.quotas.models import QuotaTarget, Tier
from scheduler_view.quotas.rules.quota_objects import desired_quotas


@dataclass(frozen=True, slots=True)
class QuotaObjects:
    """What is sent for a team's quotas in a cluster.

    Attributes:
        bodies: the objects, in the order of their names.
        unknown_tiers: that its quotas name and the cluster's tiers do not have: such a quota has no
            object (`desired_quotas`).
    """

    bodies: Sequence[Mapping[str, Any]]
    unknown_tiers: Sequence[str]


def quota_objects(cluster: Cluster, team: str) -> QuotaObjects:
    """The quota objects of a team in a cluster."""
    targets = QuotaTarget.objects.filter(cluster=cluster).select_related("team")
    tiers = {row.name: tier_of(row) for row in Tier.objects.filter(cluster=cluster)}
    own = [target_of(row) for row in targets if row.team.slug == team]
    unknown = {one.tier for one in own if one.tier} - tiers.keys()
    found = desired_quotas(own, tiers)
    return QuotaObjects([found[key] for key in sorted(found)], sorted(unknown))
