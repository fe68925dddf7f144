"""Units that wait, at which position, and how soon they start (scheduling.md S17, S18).

Of teams that the person may read there is a row for each unit. Of others only counts by tier and
pool are shown.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Count, F, Min, Q, QuerySet, Sum

from accounting.access.reads.teams import TeamRef, visible_teams
from accounting.access.scope import Scope
from accounting.core.unmapped import UNMAPPED
from accounting.kit.rows import column, listed
from accounting.metering.reads.clusters import clusters_named
from scheduler_view.queues.rules.like_waits import StartWord
from scheduler_view.queues.rules.queued import UNSERVED
from scheduler_view.quotas.reads.namespaces import owners
from scheduler_view.waits.models import WaitRecord
from scheduler_view.waits.rules.cause import Stage, WaitCause

OTHERS = ""  # the team of units that the person may not read


@listed("QueuedUnitRow")
class QueuedUnitRow:
    """One unit of work that waits, with its position and estimated start.

    Attributes:
        number: of its page.
        units: GPUs that its waiting pods request together.
        position, count: rank in its pool and units that wait there; None while it starts.
        start_at: estimated; None if it has no estimate whose error is measured.
        low_at, high_at: the range of the estimate.
        start_word: how soon it starts, or why that is not said; empty if nothing is.
        start_like, start_kept: waits like it, and how many of them did.
        since: when it was created; of a service, when the pods that wait were.
        is_from_metrics: the objects of its cluster are not observed.
    """

    number: int = column("of its page")
    cluster: str = column()
    team: str = column("`unmapped` for usage without a team")
    namespace: str = column()
    kind: str = column()
    name: str = column()
    tier: str = column("priority class")
    resource: str = column()
    model: str = column("of its pool; empty if no node shows one")
    units: int = column("requested by all its waiting pods")
    stage: str = column(choices=Stage)
    cause: str = column(choices=WaitCause)
    created_at: datetime | None = column(name="created")
    admitted_at: datetime | None = column(name="admitted")
    position: int | None = column("estimated rank in its pool, from 1")
    count: int | None = column("units that wait in this pool", name="of")
    start_word: str = column(
        "within which time it probably starts, or why that is not said: `few` (too "
        "few such waits), `long` (over a day), `endless` (holders have no end); "
        "empty: not before something is changed",
        name="start",
        choices=["", *(one.value for one in StartWord)],
    )
    start_like: int = column("waits like it that lasted as long", name="start_waits")
    start_kept: int = column(
        "of them: started within this time", name="start_waits_kept"
    )
    start_at: datetime | None = column(
        "null before the error of its pool is measured, and beyond a day",
        name="estimated_start",
    )
    low_at: datetime | None = column(name="earliest_start")
    high_at: datetime | None = column(name="latest_start")
    is_from_metrics: bool = column(
        "from kube-state-metrics alone: without position and estimated start",
        name="from_metrics",
    )
    since: datetime | None

    @property
    def is_unserved(self) -> bool:
        """No node could take it, whatever ends: it is in no line (S17)."""
        return self.cause in UNSERVED


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
    scope: Scope,
    now: datetime,
    *,
    cluster: str,
    team: str,
    limit: int,
    teams: Collection[TeamRef] | None = None,
) -> QueueNow:
    """The oldest units, and counts by team, tier and pool; nothing without a team.

    Args:
        cluster, team: only this one; empty for all.
        limit: of units.
        teams: those that the person may read; read here if they are not known.
    """
    reader = _QueueReading(scope, now, cluster, teams)
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


WAITING = ~Q(stage="") & ~Q(stage=Stage.STARTING.value)
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

    def __init__(
        self,
        scope: Scope,
        now: datetime,
        cluster: str = "",
        teams: Collection[TeamRef] | None = None,
    ) -> None:
        self._scope, self._now = scope, now
        counted = _counts(cluster) if scope.sees_any else []
        self._names: dict[int, str] = {}  # of clusters with work that waits
        self._counts: dict[int, list[_Counted]] = {}
        self._teams: dict[int, dict[str, str]] = {}
        if not counted:
            return
        if teams is None:
            teams = visible_teams(scope).values()
        slugs = {one.id: one.slug for one in teams}
        for number, name in ((one.pk, one.name) for one in clusters_named()):
            own = [row for row in counted if row.cluster_id == number]
            if not own:
                continue
            spaces = sorted({row.namespace for row in own})
            owner = owners(number, spaces, now)
            self._names[number] = name
            self._counts[number] = own
            self._teams[number] = {n: self._team(owner.get(n), slugs) for n in spaces}

    def _team(self, number: int | None, slugs: Mapping[int, str]) -> str:
        """The slug; `OTHERS` if the person may not read the team."""
        if number is None:
            return UNMAPPED if self._scope.sees_all else OTHERS
        return slugs.get(number, OTHERS)

    def rows(self, team: str, limit: int | None) -> list[QueuedUnitRow]:
        """Units of teams that the person may read, oldest first."""
        rows = [
            _row(name, self._teams[number], one)
            for number, name in self._names.items()
            for one in self._records(number, team)[:limit]
        ]
        rows.sort(key=lambda row: (row.since or self._now, row.number))
        return rows[:limit]

    def _records(self, number: int, team: str) -> QuerySet[WaitRecord, tuple[Any, ...]]:
        names = [
            name
            for name, slug in self._teams[number].items()
            if slug != OTHERS and team in ("", slug)
        ]
        waits = WaitRecord.objects.filter(
            WAITING, cluster_id=number, namespace__in=names
        )
        waits = waits.order_by(F("waits_since").asc(nulls_last=True), "pk")
        return waits.values_list(*_SHOWN)

    def groups(self, team: str) -> list[QueueGroupRow]:
        """Counts by team, tier and pool, of all teams."""
        found: dict[tuple[str, str, str, str, str], QueueGroupRow] = {}
        for cluster, counts in self._counts.items():
            teams = self._teams[cluster]
            for group in counts:
                row = QueueGroupRow(
                    teams[group.namespace],
                    self._names[cluster],
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
    waits = WaitRecord.objects.filter(WAITING)
    if cluster:
        waits = waits.filter(cluster__name=cluster)
    grouped = waits.values_list(*_GROUP)
    rows = grouped.annotate(Count("pk"), Sum("units"), Min("waits_since"))
    return [_Counted(*row) for row in rows]


_GROUP = ("cluster_id", "namespace", "tier", "resource", "model")
_SHOWN = (
    *("pk", "namespace", "kind", "name", "tier", "resource", "model", "units"),
    *("stage", "cause", "created_at", "admitted_at", "position", "count"),
    *("start_at", "low_at", "high_at", "start_word", "start_like", "start_kept"),
    *("waits_since", "is_from_metrics"),
)
_NAMES = (*_SHOWN[2:-2], "since", "is_from_metrics")  # of the row, after the first two


def _row(
    cluster: str, teams: Mapping[str, str], shown: tuple[Any, ...]
) -> QueuedUnitRow:
    """The row of the values of `_SHOWN`."""
    number, namespace, *others = shown
    return QueuedUnitRow(
        number=number,
        cluster=cluster,
        team=teams[namespace],
        namespace=namespace,
        **dict(zip(_NAMES, others, strict=True)),
    )
