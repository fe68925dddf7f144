"""How long holds may last: by tier and team, by label, by deadline (scheduling.md S23)."""

from collections.abc import Collection, Mapping

from django.conf import settings

from accounting.access.models.teams import Team
from accounting.metering.models.cluster import Cluster
from scheduler_view.quotas.models import Tier
from scheduler_view.savings.reads.past_waits import UnitKey, deadlines_of
from scheduler_view.savings.rules.duration import duration_limits, limit_of
from scheduler_view.savings.rules.held_time import HoldLimit

LIMIT_LABEL = "label_max_duration"


class HoldLimits:
    """The limits of the holds of some units of one cluster; at most three queries."""

    def __init__(self, cluster: Cluster, names: Collection[str]) -> None:
        self._deadlines = deadlines_of(cluster, names)
        self._limits = duration_limits(settings.MAX_DURATIONS)
        self._tiers = _tiers(cluster) if self._limits.tiers else {}
        self._teams: dict[int, str] = {}
        if self._limits.teams:
            teams = Team.objects.filter(slug__in=self._limits.teams)
            self._teams = dict(teams.values_list("pk", "slug"))

    def of(
        self, unit: UnitKey, labels: Mapping[str, str], priority_class: str, team: int
    ) -> HoldLimit | None:
        """The limit that counts, and what sets it; None without one.

        Args:
            unit: kind, namespace and name.
            labels: of the pod, as kube-state spells them.
            priority_class: of the pod.
            team: the number of the team that holds it; 0 without one.
        """
        tier = self._tiers.get(priority_class, priority_class)
        limit = self._limits.of(tier, self._teams.get(team, ""))
        if limit is not None:
            return limit
        if (limit_ms := limit_of(labels.get(LIMIT_LABEL, ""))) is not None:
            return HoldLimit(limit_ms, "its label max-duration")
        if (seconds := self._deadlines.get(unit)) is not None:
            return HoldLimit(seconds * 1000, "its activeDeadlineSeconds")
        return None


def _tiers(cluster: Cluster) -> dict[str, str]:
    """The tier of each of its classes, older ones included."""
    return {
        name: tier.name
        for tier in Tier.objects.filter(cluster=cluster)
        for name in (tier.class_name, *tier.old_classes)
    }
