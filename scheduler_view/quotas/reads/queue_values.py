"""Fields of queues that GPU Ledger may set, as rows: one for each part of an object."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from accounting.kit.rows import TextOrNull, column, listed, member
from accounting.metering.models.cluster import Cluster
from accounting.metering.reads.clusters import clusters_named
from accounting.metering.reads.resources import added_names
from scheduler_view.clusters.models import Observation
from scheduler_view.clusters.reads.last_observation import limiting_objects
from scheduler_view.clusters.rules.drift_state import DriftState
from scheduler_view.clusters.rules.object_key import ObjectKey
from scheduler_view.clusters.rules.quota_key import resource_of
from scheduler_view.clusters.rules.schedulers import QUEUE_FIELDS, scheduler_of
from scheduler_view.clusters.rules.schedulers.queue_fields import (
    QueueFields,
    Values,
    name_of,
    part_of,
)
from scheduler_view.quotas.models import QueueTarget
from scheduler_view.quotas.reads.desired import queue_targets
from scheduler_view.quotas.reads.sync import SyncRow, sync_rows

Targets = Mapping[str, tuple[str | None, int]]  # value and version by field


@dataclass(frozen=True, slots=True)
class QueueFieldValue:
    """One field.

    Attributes:
        field: `a100/nvidia.com/gpu/nominalQuota`; `name` is its last part.
        live: in the cluster; None if it is not set.
        value: as desired if GPU Ledger manages it, else as in the cluster.
        version: the change set that set it; 0 if GPU Ledger does not manage it.
    """

    field: str
    name: str
    live: str | None
    value: str | None
    version: int


@dataclass(frozen=True, slots=True)
class QueuePart:
    """A resource of a queue, or the fields without one.

    Attributes:
        kind: `ClusterQueue`.
        part: `a100/nvidia.com/gpu`; empty for fields without a resource.
        used: as its scheduler reports; None if not reported.
        sync: of the object; None if it was not compared or nothing is managed.
    """

    cluster: str
    scheduler: str
    kind: str
    queue: str
    part: str
    values: Sequence[QueueFieldValue]
    used: str | None
    sync: SyncRow | None = None

    @property
    def is_managed(self) -> bool:
        """GPU Ledger set one of its fields."""
        return any(one.version for one in self.values)

    @property
    def version(self) -> int:
        """The latest change set that set one of its fields."""
        return max(one.version for one in self.values)


def queue_parts(cluster: str, resources: Sequence[str] = ()) -> list[QueuePart]:
    """Parts that count GPUs, and managed ones, as last observed.

    Args:
        cluster: its name.
        resources: GPU resources of its nodes, which a queue may limit.
    """
    [one] = clusters_named(cluster)
    targets = _targets(one)
    sync = sync_rows(cluster)
    added = added_names()
    found = []
    for kind, _, name, manifest in limiting_objects(one.pk, QUEUE_FIELDS):
        own = targets.get((kind, name), {})
        fields = QUEUE_FIELDS[kind]
        if name in fields.fixed:
            continue
        values = dict(fields.values(manifest, resources))
        values |= {field: fields.value(manifest, field) for field in own}
        for part, members in _by_part(values, own).items():
            resource = fields.resource(members[0].field)
            is_gpu = not resource or resource_of(resource, added) is not None
            if not is_gpu and not any(member.version for member in members):
                continue
            found.append(
                QueuePart(
                    cluster,
                    scheduler_of(kind).name,
                    kind,
                    name,
                    part,
                    members,
                    fields.used(manifest, part),
                    sync.get(ObjectKey(kind, "", name)) if own else None,
                )
            )
    return found


@listed("QueueValueRow")
class QueueValueRow:
    """One field of a queue, or of another object of a scheduler."""

    cluster: str = column()
    scheduler: str = column()
    kind: str = column("pass it with an edit", name="object")
    queue: str = column(name="name")
    field: str = column("pass it with an edit")
    value: TextOrNull | None = column("as desired if managed, else as in the cluster")
    live: TextOrNull | None = column("in the cluster; null if it is not set")
    used: TextOrNull | None = column("as its scheduler reports; null if not reported")

    @member("set by a change set")
    def is_managed(self) -> bool:
        """GPU Ledger set it."""
        return bool(self.version)

    version: int = column("pass it with an edit")
    sync_state: str = column(
        "state of the object in the cluster at the last observation",
        name="sync",
        choices=("in_sync", "differs", "not_managed", "not_compared"),
    )


def value_rows() -> list[QueueValueRow]:
    """Every field of every cluster; for people who see all teams."""
    names = Cluster.objects.order_by("name").values_list("name", flat=True)
    return [
        QueueValueRow(
            cluster=part.cluster,
            scheduler=part.scheduler,
            kind=part.kind,
            queue=part.queue,
            field=one.field,
            value=one.value,
            live=one.live,
            used=part.used,
            version=one.version,
            sync_state=_sync_state(part, one),
        )
        for name in names
        for part in queue_parts(name)
        for one in part.values
    ]


def _sync_state(part: QueuePart, one: QueueFieldValue) -> str:
    if not one.version:
        return DriftState.NOT_MANAGED
    return part.sync.state if part.sync else "not_compared"


def managed_edits(cluster: Cluster, kind: str, name: str) -> list[dict[str, Any]]:
    """Edits that set the managed fields of an object to their desired values again."""
    return [
        _edit(row, row.value)
        for row in QueueTarget.objects.filter(cluster=cluster, kind=kind, name=name)
    ]


def adopting_edits(cluster: Cluster, kind: str, name: str) -> list[dict[str, Any]]:
    """Edits with the values in the cluster, as last observed; only of fields that differ."""
    seen = Observation.objects.filter(cluster=cluster, kind=kind, name=name).first()
    fields: QueueFields = QUEUE_FIELDS[kind]
    if seen is None:
        return []
    return [
        _edit(row, now)
        for row in QueueTarget.objects.filter(cluster=cluster, kind=kind, name=name)
        if not fields.same(
            row.field, row.value, now := fields.value(seen.manifest, row.field)
        )
    ]


def _edit(row: QueueTarget, value: str | None) -> dict[str, Any]:
    return {
        "kind": "queue",
        "object": row.kind,
        "name": row.name,
        "field": row.field,
        "value": value,
        "version": row.version,
    }


def _targets(cluster: Cluster) -> dict[tuple[str, str], dict[str, tuple[Any, int]]]:
    found: dict[tuple[str, str], dict[str, tuple[Any, int]]] = {}
    for row in queue_targets(cluster):
        found.setdefault((row.kind, row.name), {})[row.field] = row.value, row.version
    return found


def _by_part(values: Values, own: Targets) -> dict[str, list[QueueFieldValue]]:
    found: dict[str, list[QueueFieldValue]] = {}
    for field, live in values.items():
        value, version = own.get(field, (live, 0))
        one = QueueFieldValue(field, name_of(field), live, value, version)
        found.setdefault(part_of(field), []).append(one)
    return found
