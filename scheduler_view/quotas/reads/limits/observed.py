"""What is stored of a cluster's limits, read once for all their rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.dateparse import parse_datetime

from accounting.access.models.teams import Team
from accounting.access.reads.teams import known_teams
from accounting.access.scope import Scope
from accounting.metering.models.cluster import Cluster
from accounting.metering.reads.resources import added_names
from scheduler_view.clusters.reads.last_observation import (
    LIMITING,
    NAMESPACE,
    Manifest,
    last_runs,
    limiting_objects,
)
from scheduler_view.clusters.rules.live_objects import Path
from scheduler_view.clusters.rules.object_key import ObjectKey
from scheduler_view.clusters.rules.quota_key import Added
from scheduler_view.quotas.models import QuotaTarget, Tier
from scheduler_view.quotas.reads.desired import quota_targets, tiers
from scheduler_view.quotas.reads.namespaces import known_namespaces, namespaces_by_team
from scheduler_view.quotas.reads.sync import SyncRow, sync_rows
from scheduler_view.quotas.rules.limits.maker import OURS, Maker, maker_of


@dataclass(frozen=True, slots=True)
class ObservedLimits:
    """One cluster as last observed, and what is desired of it.

    Attributes:
        objects: stored parts by kind, in the order of namespace and name.
        teams: the team of each namespace; only of those that have one.
        seen_at: time of the last complete list, by kind.
    """

    cluster: Cluster
    scope: Scope
    objects: Mapping[str, Sequence[tuple[str, str, Manifest]]]
    teams: Mapping[str, Team]
    targets: Sequence[QuotaTarget]
    tiers: Sequence[Tier]
    sync: Mapping[ObjectKey, SyncRow]
    seen_at: Mapping[str, datetime | None]
    added: Added

    def sees(self, namespace: str) -> bool:
        """True if the person may read what is in a namespace."""
        if self.scope.sees_all:
            return True
        team = self.teams.get(namespace)
        return team is not None and self.scope.sees_team(team.pk)

    def team_of(self, namespace: str) -> dict[str, Any]:
        """Columns of a row: the team of its namespace."""
        team = self.teams.get(namespace)
        return {"team": team.slug, "team_name": team.name} if team else {}

    def made(self, live: Manifest, *paths: Path, change: int = 0) -> dict[str, Any]:
        """Columns of a row: who set some fields, and when."""
        maker: Maker = maker_of(live, paths)
        name = maker.name or (OURS if change else "")
        return {
            "set_by": name,
            "set_at": parse_datetime(maker.at) if maker.at else None,
            "change": change,
        }


def observed_limits(cluster: Cluster, scope: Scope, at: datetime) -> ObservedLimits:
    """All that limits GPUs in a cluster, as stored; some queries."""
    objects: dict[str, list[tuple[str, str, Manifest]]] = {}
    for kind, namespace, name, manifest in limiting_objects(cluster.pk, LIMITING):
        objects.setdefault(kind, []).append((namespace, name, manifest))
    runs = [run for run in last_runs() if run.cluster_id == cluster.pk]
    return ObservedLimits(
        cluster,
        scope,
        objects,
        teams_of(cluster, at),
        quota_targets(cluster),
        tiers(cluster),
        sync_rows(cluster.name),
        {run.kind: run.seen_at for run in runs},
        added_names(),
    )


def teams_of(cluster: Cluster, at: datetime) -> dict[str, Team]:
    """The team of each namespace of a cluster, by current rules and observed labels."""
    live = {**known_namespaces(cluster.pk)}
    for _, _, name, manifest in limiting_objects(cluster.pk, [NAMESPACE]):
        live[name] = manifest["metadata"].get("labels") or live.get(name, {})
    teams = known_teams()
    return {
        name: teams[team]
        for team, names in namespaces_by_team(live, at).items()
        for name in names
        if team in teams
    }
