"""Quotas of teams over time, as methods with `+quota` need them (money.md M23)."""

from collections.abc import Mapping
from datetime import datetime

from django.db import transaction

from accounting.metering.models.cluster import Cluster
from accounting.months.models.team_quota import TeamQuota


def record_quotas(cluster: Cluster, quotas: Mapping[int, int], at: datetime) -> int:
    """Store the quotas of a cluster that differ from those before; returns how many.

    Args:
        cluster: of all of them.
        quotas: thousandths of a GPU by team id; a team that is absent has none.
        at: from when on.
    """
    with transaction.atomic():
        Cluster.objects.select_for_update(no_key=True).get(pk=cluster.pk)
        rows = TeamQuota.objects.filter(cluster=cluster, valid_from__lte=at)
        known = dict(
            rows.order_by("team_id", "-valid_from")
            .distinct("team_id")
            .values_list("team_id", "milli_gpus")
        )
        changed = {
            team: quotas.get(team, 0)
            for team in {*known, *quotas}
            if quotas.get(team, 0) != known.get(team, 0)
        }
        for team, milli_gpus in changed.items():
            TeamQuota.objects.update_or_create(
                cluster=cluster,
                team_id=team,
                valid_from=at,
                defaults={"milli_gpus": milli_gpus},
            )
    return len(changed)
