"""The state of desired objects in their clusters at the last observation."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from accounting.core.read_once import read_once
from accounting.metering.reads.resources import added_names
from scheduler_view.clusters.models import Drift
from scheduler_view.clusters.reads.last_observation import last_runs, limiting_objects
from scheduler_view.clusters.rules.drift_state import DriftState
from scheduler_view.clusters.rules.live_objects import QUOTA
from scheduler_view.clusters.rules.object_key import ObjectKey
from scheduler_view.clusters.rules.wording import few
from scheduler_view.quotas.rules.headroom import LimitedBy, limited_by

_WORST_FIRST = (DriftState.OTHER, DriftState.DIFFERS, DriftState.NOT_MANAGED)


@dataclass(frozen=True, slots=True)
class SyncRow:
    """One object, its state, and since when.

    Attributes:
        changes: (field, desired, in the cluster).
        who: managers that set those fields; empty if not known.
        by_at: when they last wrote.
        message: the same as a sentence.
    """

    key: ObjectKey
    state: str
    since: datetime
    changes: tuple[tuple[str, str | None, str | None], ...] = ()
    who: str = ""
    by_at: datetime | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class ObservationRow:
    """The last observation of a cluster's quotas.

    Attributes:
        seen_at: time of the shown state; None before the first observation.
        error: of later observations, with the server's message.
    """

    cluster: str
    seen_at: datetime | None
    tried_at: datetime
    error: str


def sync_rows(cluster: str) -> Mapping[ObjectKey, SyncRow]:
    """Every object of a cluster that was compared."""
    return _sync_rows().get(cluster, {})


@read_once
def _sync_rows() -> Mapping[str, Mapping[ObjectKey, SyncRow]]:
    found: dict[str, dict[ObjectKey, SyncRow]] = {}
    for row in Drift.objects.select_related("cluster"):
        key = ObjectKey(row.kind, row.namespace, row.name)
        found.setdefault(row.cluster.name, {})[key] = SyncRow(
            key,
            row.state,
            row.since,
            tuple((name, wanted, there) for name, wanted, there in row.changes),
            row.who,
            row.by_at,
            row.message,
        )
    return found


def observation_rows() -> dict[str, ObservationRow]:
    """The last observation of the quotas of each cluster, by its name."""
    rows = [row for row in last_runs() if row.kind == QUOTA]
    return {
        row.cluster.name: ObservationRow(
            row.cluster.name, row.seen_at, row.tried_at, row.error
        )
        for row in rows
    }


def worst(
    found: Mapping[ObjectKey, SyncRow], keys: Iterable[ObjectKey]
) -> SyncRow | None:
    """The most urgent state of several objects; None if none was compared.

    If several objects have it, all are named, the message and the changes by namespace.
    """
    asked = list(keys)
    rows: Sequence[SyncRow] = [found[key] for key in asked if key in found]
    for state in _WORST_FIRST:
        alike = [row for row in rows if row.state == state]
        if alike and len(asked) > 1:
            return _together(alike)
        if alike:
            return alike[0]
    return rows[0] if rows else None


def _together(rows: Sequence[SyncRow]) -> SyncRow:
    """Several objects of one state as one row."""
    said = [f"{row.key.namespace}: {row.message}".rstrip(".") for row in rows]
    names = dict.fromkeys(name for row in rows for name in row.who.split(", ") if name)
    return replace(
        rows[0],
        since=min(row.since for row in rows),
        changes=tuple(
            (f"{row.key.namespace}: {field}", wanted, there)
            for row in rows
            for field, wanted, there in row.changes
        ),
        who=", ".join(names),
        by_at=max((row.by_at for row in rows if row.by_at), default=None),
        message=f"{few(said, 'more namespaces', '; ')}.",
    )


def live_quotas(cluster_id: int) -> dict[str, list[LimitedBy]]:
    """Every quota of each namespace as last observed, including those of other managers."""
    added = added_names()
    found: dict[str, list[LimitedBy]] = {}
    for _, namespace, _, manifest in limiting_objects(cluster_id, [QUOTA]):
        found.setdefault(namespace, []).append(limited_by(manifest, added))
    return found
