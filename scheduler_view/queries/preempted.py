"""Pods of a team that the scheduler pushed out for others."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from accounting.access import Scope
from accounting.domain.reports.rows import UNMAPPED
from accounting.models import Cluster, Team
from scheduler_view.models import Preemption
from scheduler_view.queries.namespaces import owners

LOOK_BACK = timedelta(days=30)
MOST = 100  # rows of a page


@dataclass(frozen=True, slots=True)
class PreemptedRow:
    """One pod that was pushed out.

    Attributes:
        words: the scheduler's own, by whom; empty where only the pod's condition told.
    """

    cluster: str
    namespace: str
    pod: str
    at: datetime
    message: str
    team: str = UNMAPPED


def preempted_rows(team_id: int, now: datetime) -> Sequence[PreemptedRow]:
    """The newest of 30 days, of the namespaces that are the team's now."""
    return _rows(now, lambda number: number == team_id, MOST)


def preempted_of(scope: Scope, now: datetime) -> Sequence[PreemptedRow]:
    """All of 30 days that the asker may read; unmapped namespaces for those who see all."""
    return _rows(
        now,
        lambda n: scope.sees_all or (n is not None and scope.sees_team(n)),
        None,
    )


def _rows(
    now: datetime, is_meant: Callable[[int | None], bool], most: int | None
) -> list[PreemptedRow]:
    rows: list[PreemptedRow] = []
    slugs = dict(Team.objects.values_list("pk", "slug"))
    found = Preemption.objects.filter(at__gte=now - LOOK_BACK, at__lte=now)
    for cluster in Cluster.objects.filter(pk__in=found.values("cluster_id")):
        own = found.filter(cluster=cluster)
        names = set(own.values_list("namespace", flat=True))
        owner = owners(cluster.pk, names, now)
        places = [name for name in names if is_meant(owner.get(name))]
        rows += [
            PreemptedRow(
                cluster.name,
                row.namespace,
                row.pod,
                row.at,
                row.message,
                slugs.get(owner.get(row.namespace, 0), UNMAPPED),
            )
            for row in own.filter(namespace__in=places).order_by("-at")[:most]
        ]
    return sorted(rows, key=lambda row: row.at, reverse=True)[:most]
