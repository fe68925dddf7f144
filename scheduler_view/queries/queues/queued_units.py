"""Units that wait, at which position, and when they probably start (scheduling.md S17, S18).

Of teams that the person may read there is a row for each unit. Of others only counts by tier and
pool are shown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.db.models import Count, F, Min, Q, QuerySet, Sum

from accounting.access import Scope
from accounting.domain.reports.rows import UNMAPPED
from accounting.models import Cluster, Team
from scheduler_view.domain.waits.cause import Stage
from scheduler_view.models import WaitRecord
from scheduler_view.queries.namespaces import owners

OTHERS = ""  # the team of units that the person may not read


@dataclass(frozen=True, slots=True)
class QueuedUnitRow:
    """One unit that waits.

    Attributes:
        number: of its page.
        units: GPUs that its waiting pods request together.
        position, count: rank in its pool and units that wait there; None while it starts.
        start_at: estimated; None if it has no estimate.
        low_at, high_at: the range of the estimate.
        since: when it was created; of a service, when the pods that wait were.
        is_from_metrics: the objects of its cluster are not observed.
    """

    number: int
    cluster: str
    team: str
    namespace: str
    kind: str
    name: str
    tier: str
    resource: str
    model: str
    units: int
    stage: str
    cause: str
    created_at: datetime | None
    admitted_at: datetime | None
    position: int | None
    count: int | None
    start_at: datetime | None
    low_at: datetime | None
    high_at: datetime | None
    since: datetime | None
    is_from_metrics: bool


@dataclass(frozen=True, slots=True)
class QueueGroupRow:
    """What waits of one team, tier and pool.

    Attributes:
        team: empty for teams that the person may not read, together.
        work: units of work.
        units: GPUs that they request.
        since: when the oldest one began to wait.
    """

    team: str
    cluster: str
    tier: str
    resource: str
    model: str
    work: int
    units: int
    since: datetime | None


@dataclass(frozen=True, slots=True)
class QueueNow:
    """What waits now: units of the teams that the person may read, and counts of all."""

    rows: Sequence[QueuedUnitRow]
    groups: Sequence[QueueGroupRow]


def queued_rows(scope: Scope, now: datetime) -> Sequence[QueuedUnitRow]:
    """Every unit that waits, of the teams that the person may read; oldest first."""
    return _QueueReading(scope, now).rows("", None)


def queue_now(
    scope: Scope, now: datetime, *, cluster: str, team: str, limit: int
) -> QueueNow:
    """The oldest units, and counts by team, tier and pool; nothing without a team.

    Args:
        cluster, team: only this one; empty for all.
        limit: of units.
    """
    reader = _QueueReading(scope, now, cluster)
    return QueueNow(reader.rows(team, limit), reader.groups(team))


def queued_unit(scope: Scope, now: datetime, number: int) -> WaitRecord | None:
    """One unit, waiting or not; None if the person may not read it."""
    found = WaitRecord.objects.select_related("cluster").filter(pk=number).first()
    if found is None:
        return None
    names = [found.namespace]
    team = owners(found.cluster_id, names, now).get(found.namespace)
    may = scope.sees_all or (team is not None and scope.sees_team(team))
    return found if may else None


def _sum(one: QueueGroupRow | None, other: QueueGroupRow) -> QueueGroupRow:
    if one is None:
        return other
    oldest = [at for at in (one.since, other.since) if at is not None]
    return QueueGroupRow(
        other.team,
        other.cluster,
        other.tier,
        other.resource,
        other.model,
        one.work + other.work,
        one.units + other.units,
        min(oldest, default=None),
    )


_WAITING = ~Q(stage="") & ~Q(stage=Stage.STARTING.value)
"""Units that hold no node yet; those that start have one."""


class _Counted(NamedTuple):
    cluster_id: int
    namespace: str
    tier: str
    resource: str
    model: str
    work: int
    units: int
    since: datetime | None


class _QueueReading:
    """What waits in clusters, and whose it is; counts and owners are read once."""

    def __init__(self, scope: Scope, now: datetime, cluster: str = "") -> None:
        self._scope, self._now = scope, now
        counted = _counts(cluster) if scope.sees_any else []
        self._counts: dict[Cluster, list[_Counted]] = {}
        self._teams: dict[Cluster, dict[str, str]] = {}
        if not counted:
            return
        slugs: Mapping[int, str] = dict(Team.objects.values_list("pk", "slug"))
        numbers = {one.cluster_id for one in counted}
        for one in Cluster.objects.filter(pk__in=numbers).order_by("name"):
            own = [row for row in counted if row.cluster_id == one.pk]
            names = sorted({row.namespace for row in own})
            owner = owners(one.pk, names, now)
            self._counts[one] = own
            self._teams[one] = {n: self._team(owner.get(n), slugs) for n in names}

    def _team(self, number: int | None, slugs: Mapping[int, str]) -> str:
        """The slug; `OTHERS` if the person may not read the team."""
        if number is None:
            return UNMAPPED if self._scope.sees_all else OTHERS
        return slugs[number] if self._scope.sees_team(number) else OTHERS

    def rows(self, team: str, limit: int | None) -> list[QueuedUnitRow]:
        """Units of teams that the person may read, oldest first."""
        rows = [
            _row(cluster, teams[one.namespace], one)
            for cluster, teams in self._teams.items()
            for one in self._records(cluster, team)[:limit]
        ]
        rows.sort(key=lambda row: (row.since or self._now, row.number))
        return rows[:limit]

    def _records(self, cluster: Cluster, team: str) -> QuerySet[WaitRecord]:
        names = [
            name
            for name, slug in self._teams[cluster].items()
            if slug != OTHERS and team in ("", slug)
        ]
        waits = WaitRecord.objects.filter(
            _WAITING, cluster=cluster, namespace__in=names
        )
        return waits.order_by(F("waits_since").asc(nulls_last=True), "pk")

    def groups(self, team: str) -> list[QueueGroupRow]:
        """Counts by team, tier and pool, of all teams."""
        found: dict[tuple[str, str, str, str, str], QueueGroupRow] = {}
        for cluster, counts in self._counts.items():
            teams = self._teams[cluster]
            for group in counts:
                row = QueueGroupRow(
                    teams[group.namespace],
                    cluster.name,
                    group.tier,
                    group.resource,
                    group.model,
                    group.work,
                    group.units,
                    group.since,
                )
                key = row.team, row.cluster, row.tier, row.resource, row.model
                found[key] = _sum(found.get(key), row)
        rows = [row for row in found.values() if team in ("", row.team)]
        return sorted(rows, key=lambda r: (r.team == OTHERS, r.team, -r.units, r.tier))


def _counts(cluster: str) -> list[_Counted]:
    """What waits by cluster, namespace, tier and pool; of one cluster if it is named."""
    waits = WaitRecord.objects.filter(_WAITING)
    if cluster:
        waits = waits.filter(cluster__name=cluster)
    grouped = waits.values("cluster_id", "namespace", "tier", "resource", "model")
    rows = grouped.annotate(
        work=Count("pk"), sum=Sum("units"), since=Min("waits_since")
    )
    return [_Counted(*row) for row in rows.values_list(*_COLUMNS)]


_COLUMNS = (
    *("cluster_id", "namespace", "tier", "resource", "model"),
    *("work", "sum", "since"),
)


def _row(cluster: Cluster, team: str, one: WaitRecord) -> QueuedUnitRow:
    return QueuedUnitRow(
        one.pk,
        cluster.name,
        team,
        one.namespace,
        one.kind,
        one.name,
        one.tier,
        one.resource,
        one.model,
        one.units,
        one.stage,
        one.cause,
        one.created_at,
        one.admitted_at,
        one.position,
        one.count,
        one.start_at,
        one.low_at,
        one.high_at,
        one.waits_since,
        one.is_from_metrics,
    )
