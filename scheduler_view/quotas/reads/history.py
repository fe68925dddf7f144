"""The changes of a team's quotas, from the database's history."""

from dataclasses import dataclass
from datetime import datetime

from django.apps import apps

from accounting.access.scope import Scope

REMOVED = "delete"


@dataclass(frozen=True, slots=True)
class QuotaMoment:
    """One change of one quota.

    Attributes:
        gpus: from here on; None if it was removed.
        change: the change set that wrote it; for a removal, the one that wrote the removed version.
    """

    at: datetime
    cluster: str
    resource: str
    tier: str
    gpus: int | None
    change: int


def quota_history(scope: Scope, team_id: int) -> list[QuotaMoment]:
    """Changes of a team's quotas, oldest first; empty for people who may not read it."""
    if not scope.sees_team(team_id):
        return []
    events = apps.get_model("scheduler_view", "QuotaTargetEvent")
    rows = (
        events.objects.filter(team_id=team_id)
        .order_by("pgh_created_at", "pgh_id")
        .values_list(
            "pgh_created_at",
            "cluster__name",
            "resource",
            "tier",
            "gpus",
            "version",
            "pgh_label",
        )
    )
    return [
        QuotaMoment(
            at, cluster, resource, tier, None if label == REMOVED else gpus, change
        )
        for at, cluster, resource, tier, gpus, change, label in rows
    ]
