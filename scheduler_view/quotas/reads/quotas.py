"""Quotas and resources as rows: desired, held and committed units."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from accounting.access.reads.billing_settings import billing_at
from accounting.access.scope import Scope
from accounting.kit.rows import OffsetInstant, column, derived, listed, member
from accounting.metering.models.cluster import Cluster
from accounting.metering.reads.clusters import clusters_named
from accounting.metering.reads.queues import queue_rows
from scheduler_view.clusters.rules.object_key import ObjectKey
from scheduler_view.clusters.rules.quota_key import key_of
from scheduler_view.quotas.mapping import tier_of
from scheduler_view.quotas.models import QuotaTarget
from scheduler_view.quotas.reads.desired import quota_targets, tiers
from scheduler_view.quotas.reads.pending_units import units_of, waiting_units
from scheduler_view.quotas.reads.queue_borrowing import QueueBorrowing, lent_to, served
from scheduler_view.quotas.reads.resource_use import Ask, Use, uses_of
from scheduler_view.quotas.reads.supply import supply_of
from scheduler_view.quotas.reads.sync import (
    SyncRow,
    live_quotas,
    observation_rows,
    sync_rows,
    worst,
)
from scheduler_view.quotas.rules.headroom import LimitedBy, room
from scheduler_view.quotas.rules.quota_objects import (
    DesiredQuota,
    committed,
    quota_key_of,
)

Live = Mapping[str, Sequence[LimitedBy]]  # by namespace

NOT_COMPARED = "not_compared"  # its objects were not observed yet
Row = TypeVar("Row")


@listed("QuotaRow")
class QuotaRow:
    """One quota of a team for a resource.

    Attributes:
        in_use: units that the counted pods hold now.
        pending: units requested by such unscheduled pods.
        used: as Kubernetes counts, including pending pods; None if not observed.
        rooms: units that the next pod may request, by namespace, the largest first: the
            minimum over all quotas that count it, including those of other managers. Empty if
            not observed.
        lefts: units of the quota that are left in each namespace, the largest first: never more
            than its part, also if the cluster has a larger number now.
        lent: units that queues of its namespaces borrow and hold back.
        peak: the most units held at once in 30 days.
        version: the change set that wrote it; edits name it.
        live: the value of its key in the cluster by namespace, as last observed; None if the
            object or the key is missing. Empty if not observed.
        sync: the state of its objects, the worst first; None if none was compared.
    """

    cluster: str = column()
    team: str = column()
    resource: str = column()

    @member("key in `spec.hard` of the ResourceQuota")
    def key(self) -> str:
        """The key of its resource in `spec.hard`."""
        return key_of(self.resource)

    tier: str = column("empty for all pods")
    gpus: int = column()
    rule: str = column()
    split: Mapping[str, int] = column()
    in_use: int = column("units in use now")
    peak: int = column(name="peak_30_days")
    pending: int = column("units requested by pending pods", default=0)
    used: int | None = column(
        "units in use as reported by Kubernetes; null if not observed", default=None
    )

    @member("units that the next pod can request")
    def room(self) -> int | None:
        """Units that the next pod may request, in the namespace with the most."""
        return max(self.rooms.values(), default=None)

    borrowed = derived(
        int | None,
        "lent.borrowed",
        "units in use above the quota of its queues; null without queues",
    )
    queued = derived(
        int | None,
        "lent.queued",
        "units requested by workloads that wait in its queues",
    )
    queues = derived(list[str], "lent.queues")
    version: int = column("pass it with an edit")
    sync_shown = derived(
        str,
        "sync_state",
        "state of its objects in the cluster at the last observation",
        name="sync",
        choices=("in_sync", "differs", "other", "not_compared"),
    )
    live: Mapping[str, int | None] = column(
        "value of its key in the cluster, by namespace; null if missing",
        default_factory=dict,
    )
    seen_at: OffsetInstant | None = column(default=None)
    team_name: str
    rooms: Mapping[str, int] = field(default_factory=dict)
    lefts: Mapping[str, int] = field(default_factory=dict)
    lent: QueueBorrowing = field(default_factory=QueueBorrowing)
    sync: SyncRow | None = None

    @property
    def sync_state(self) -> str:
        """The state of its objects in the cluster at the last observation."""
        return self.sync.state if self.sync else NOT_COMPARED

    @property
    def left(self) -> int:
        """Units of the quota that are not in use."""
        return max(0, self.gpus - max(self.in_use, self.used or 0))

    @property
    def is_over(self) -> bool:
        """True if more is used than allowed: running pods continue, new ones are rejected (T26)."""
        return max(self.in_use, self.used or 0) > self.gpus


@dataclass(frozen=True, slots=True)
class ResourceRow:
    """One resource of one cluster: committed, capacity and held. For people who see all teams.

    Attributes:
        capacity: None if no node reports the resource.
    """

    cluster: str
    resource: str
    committed: int
    capacity: int | None
    in_use: int
    peak: int


def quota_rows(
    scope: Scope, at: datetime, *, cluster: str = "", team: str = ""
) -> list[QuotaRow]:
    """Quotas that the person may read; a few queries for all clusters."""
    targets = {one: _targets(scope, one, team) for one in clusters_named(cluster)}
    asks = {one: _asks(one, found) for one, found in targets.items()}
    used = uses_of({one.pk: some for one, some in asks.items()}, at)
    return [
        row
        for one, found in targets.items()
        if found
        for row in _rows(one, found, asks[one], used[one.pk])
    ]


def _asks(cluster: Cluster, targets: Sequence[QuotaTarget]) -> list[Ask]:
    classes = {row.name: tier_of(row).classes for row in tiers(cluster)}
    return [
        Ask(row.resource, list(row.split), tuple(classes.get(row.tier, ())), row.gpus)
        for row in targets
    ]


def _rows(
    cluster: Cluster,
    targets: Sequence[QuotaTarget],
    asks: Sequence[Ask],
    used: Sequence[Use],
) -> list[QuotaRow]:
    waiting, live = waiting_units(cluster.pk), live_quotas(cluster.pk)
    places = served(cluster.pk)
    queues = [row.facts for row in queue_rows(cluster=cluster.name)]
    run = observation_rows().get(cluster.name)
    seen_at = run.seen_at if run else None
    standing = sync_rows(cluster.name)
    return [
        QuotaRow(
            cluster=cluster.name,
            team=row.team.slug,
            team_name=row.team.name,
            resource=row.resource,
            tier=row.tier,
            gpus=row.gpus,
            rule=row.rule,
            split=row.split,
            in_use=use.now,
            peak=use.peak,
            version=row.version,
            pending=units_of(waiting, row.resource, row.split, ask.classes),
            used=_used(live, row),
            rooms=(rooms := _rooms(live, row, ask.classes)),
            lefts=_lefts(live, row, rooms),
            lent=(
                QueueBorrowing()
                if row.tier  # a queue does not distinguish tiers
                else lent_to(row.split, row.resource, places, queues)
            ),
            live=_live(live, row) if seen_at else {},
            sync=worst(standing, _keys(row)),
            seen_at=seen_at,
        )
        for row, ask, use in zip(targets, asks, used, strict=True)
    ]


def resource_rows(
    scope: Scope, at: datetime, *, cluster: str = ""
) -> list[ResourceRow]:
    """Resources with quotas or capacity; empty for people who do not see all teams."""
    if not scope.sees_all:
        return []
    asks, supplies = {}, {}
    for one in clusters_named(cluster):
        capacity = supplies[one] = supply_of(one).capacity
        resources = {row.resource for row in _targets(scope, one, "")} | set(capacity)
        asks[one.pk] = [Ask(resource, None) for resource in sorted(resources)]
    used = uses_of(asks, at, billing_at(at).timezone)
    return [
        ResourceRow(
            one.name,
            ask.resource,
            committed(_desired(scope, one), ask.resource),
            capacity.get(ask.resource),
            use.now,
            use.peak,
        )
        for one, capacity in supplies.items()
        for ask, use in zip(asks[one.pk], used[one.pk], strict=True)
    ]


def _desired(scope: Scope, cluster: Cluster) -> list[DesiredQuota]:
    return [
        DesiredQuota(row.team.slug, row.resource, row.tier, row.gpus)
        for row in _targets(scope, cluster, "")
    ]


def _used(live: Live, row: QuotaTarget) -> int | None:
    ours = [_ours(live, key) for key in _keys(row)]
    found = [one.used[row.resource] for one in ours if one and row.resource in one.used]
    return sum(found) if found else None


def _live(live: Live, row: QuotaTarget) -> dict[str, int | None]:
    found = {}
    for key in _keys(row):
        ours = _ours(live, key)
        found[key.namespace] = ours.hard.get(row.resource) if ours else None
    return found


def _ours(live: Live, key: ObjectKey) -> LimitedBy | None:
    return next((q for q in live.get(key.namespace, ()) if q.name == key.name), None)


def _rooms(live: Live, row: QuotaTarget, classes: Sequence[str]) -> dict[str, int]:
    """By namespace, for a pod of the tier's current class."""
    name = classes[0] if classes else ""
    found = {
        place: left
        for place in row.split
        if (left := room(live.get(place, ()), row.resource, name)) is not None
    }
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def among(rows: Iterable[Row], filters: Mapping[str, Sequence[str]]) -> list[Row]:
    """Rows whose columns have one of the given values."""
    return [
        row
        for row in rows
        if all(getattr(row, name) in wanted for name, wanted in filters.items())
    ]


def _lefts(live: Live, row: QuotaTarget, rooms: Mapping[str, int]) -> dict[str, int]:
    found = {}
    for place, room_there in rooms.items():
        ours = _ours(live, quota_key_of(place, row.tier))
        used = ours.used.get(row.resource, 0) if ours else 0
        found[place] = min(room_there, max(0, row.split.get(place, 0) - used))
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def _keys(row: QuotaTarget) -> list[ObjectKey]:
    return [quota_key_of(place, row.tier) for place in row.split]


def live_split(row: QuotaTarget) -> dict[str, int | None]:
    """The value of a quota's key in its cluster, by namespace; None if missing."""
    return _live(live_quotas(row.cluster_id), row)


def _targets(scope: Scope, cluster: Cluster, team: str) -> Sequence[QuotaTarget]:
    return [
        row
        for row in quota_targets(cluster)
        if scope.sees_team(row.team_id) and row.team.slug == (team or row.team.slug)
    ]
