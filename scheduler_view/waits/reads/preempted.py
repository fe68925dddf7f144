"""Pods of a team that the scheduler preempted for others."""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta

from accounting.access.models.teams import Team
from accounting.access.scope import Scope
from accounting.core.unmapped import UNMAPPED
from accounting.kit.reads.paging import ALL_ROWS, Key, Seek, seek_rows
from accounting.kit.rows import column, listed
from accounting.metering.models.cluster import Cluster
from scheduler_view.clusters.models import Preemption
from scheduler_view.quotas.reads.namespaces import owners

LOOK_BACK = timedelta(days=30)
MOST = 100  # rows per page


@listed("PreemptionRow")
class PreemptedRow:
    """One pod that the scheduler preempted for another.

    Attributes:
        message: the scheduler's own, by whom; empty if only the pod's condition is known.
    """

    cluster: str = column()
    team: str = column("`unmapped` for usage without a team", default=UNMAPPED)
    namespace: str = column()
    pod: str = column()
    at: datetime = column()
    message: str = column()
    id: int = 0


def preempted_rows(team_id: int, now: datetime) -> Sequence[PreemptedRow]:
    """The newest of 30 days, for the namespaces that currently belong to the team."""
    return _rows(now, lambda number, _: number == team_id, None, Seek(limit=MOST))


def preempted_key(row: PreemptedRow) -> Key:
    """The position of a pod in `preempted_of`."""
    return row.at.isoformat(), row.id


def preempted_of(
    scope: Scope,
    now: datetime,
    *,
    clusters: Collection[str] | None = None,
    teams: Collection[str] | None = None,
    seek: Seek = ALL_ROWS,
) -> Sequence[PreemptedRow]:
    """Preempted pods of 30 days that the person may read, newest first.

    Args:
        scope: of the person; unmapped namespaces are only for people who see all.
        now: the end of the 30 days.
        clusters, teams: only these; None for all.
        seek: the page, by `preempted_key`.
    """

    def is_meant(number: int | None, slug: str) -> bool:
        is_theirs = scope.sees_all or (number is not None and scope.sees_team(number))
        return is_theirs and (teams is None or slug in teams)

    return _rows(now, is_meant, clusters, seek)


def _rows(
    now: datetime,
    is_meant: Callable[[int | None, str], bool],
    clusters: Collection[str] | None,
    seek: Seek,
) -> list[PreemptedRow]:
    rows: list[PreemptedRow] = []
    slugs = dict(Team.objects.values_list("pk", "slug"))
    found = Preemption.objects.filter(at__gte=now - LOOK_BACK, at__lte=now)
    chosen = Cluster.objects.filter(pk__in=found.values("cluster_id"))
    if clusters is not None:
        chosen = chosen.filter(name__in=clusters)
    for cluster in chosen:
        own = found.filter(cluster=cluster)
        names = set(own.values_list("namespace", flat=True))
        owner = owners(cluster.pk, names, now)
        team_of = {name: slugs.get(owner.get(name, 0), UNMAPPED) for name in names}
        places = [n for n in names if is_meant(owner.get(n), team_of[n])]
        rows += [
            PreemptedRow(
                cluster=cluster.name,
                namespace=row.namespace,
                pod=row.pod,
                at=row.at,
                message=row.message,
                team=team_of[row.namespace],
                id=row.pk,
            )
            for row in seek_rows(own.filter(namespace__in=places), ("-at", "-pk"), seek)
        ]
    rows.sort(key=lambda row: (row.at, row.id), reverse=True)
    return rows[: seek.limit]
