"""Everything that limits GPUs in clusters, also what others set: one row for each number.

As last observed. People read the limits of their teams' namespaces, and of the whole cluster what
names no other team.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from accounting.access.scope import Scope
from accounting.metering.reads.clusters import clusters_named
from scheduler_view.clusters.models import ObservationRun
from scheduler_view.clusters.reads.last_observation import LIMITING, RANGE, last_runs
from scheduler_view.clusters.rules.live_objects import CLASS, QUOTA
from scheduler_view.clusters.rules.stored_manifest import FAULTS
from scheduler_view.quotas.reads.limits.class_limits import class_limits
from scheduler_view.quotas.reads.limits.limit_row import LimitGroup, LimitRow
from scheduler_view.quotas.reads.limits.namespace_limits import (
    quota_limits,
    range_limits,
)
from scheduler_view.quotas.reads.limits.observed import ObservedLimits, observed_limits
from scheduler_view.quotas.reads.limits.queue_limits import queue_limits

ROLES: Mapping[str, str] = {
    QUOTA: "reader.yaml",
    CLASS: "reader.yaml",
    RANGE: "reader.yaml",
    "LocalQueue": "reader.yaml",
    "KaiQueue": "reader.yaml",
    "ClusterQueue": "schedulers/kueue.yaml",
    "Cohort": "schedulers/kueue.yaml",
    "WorkloadPriorityClass": "schedulers/kueue.yaml",
    "VolcanoQueue": "schedulers/volcano.yaml",
}
"""The file of `deploy/rbac` that lets the reader list a kind."""


@dataclass(frozen=True, slots=True)
class NotRead:
    """Kinds of one cluster that could not be listed.

    Attributes:
        kinds: their names.
        error: the server's message.
        role: the file of `deploy/rbac` that allows it; empty if it is not a question of rights.
        is_optional: kinds of a scheduler that the cluster may not have.
        seen_at: of what is shown instead; None if nothing is.
    """

    cluster: str
    kinds: tuple[str, ...]
    error: str
    role: str = ""
    is_optional: bool = False
    seen_at: datetime | None = None


def limit_rows(scope: Scope, at: datetime, *, cluster: str = "") -> list[LimitRow]:
    """All limits that a person may read, by cluster, namespace and name; queues by their tree."""
    if not scope.sees_any:
        return []
    return [
        row
        for one in clusters_named(cluster)
        for row in rows_of(observed_limits(one, scope, at))
    ]


def rows_of(seen: ObservedLimits) -> Iterator[LimitRow]:
    """The same of one cluster."""
    faults = _faults(seen)
    spaces = [*quota_limits(seen), *range_limits(seen)]
    known = {(row.kind, row.namespace, row.name) for row in spaces}
    spaces += [
        _unread(seen, *place)
        for place in sorted(faults.keys() - known)
        if place[0] in (QUOTA, RANGE)
    ]
    spaces.sort(key=lambda row: (row.namespace, row.name, row.resource))
    for row in (*spaces, *class_limits(seen), *queue_limits(seen)):
        fault = faults.get((row.kind, row.namespace, row.name))
        yield replace(row, text=f"{row.text} {fault}".strip()) if fault else row


Place = tuple[str, str, str]  # kind, namespace, name


def _faults(seen: ObservedLimits) -> dict[Place, str]:
    """What was left out of objects that a person may read, as a sentence."""
    return {
        (kind, namespace, name): f"Not read: {'; '.join(live[FAULTS])}."
        for kind, own in seen.objects.items()
        for namespace, name, live in own
        if live.get(FAULTS) and (not namespace or seen.sees(namespace))
    }


def _unread(seen: ObservedLimits, kind: str, namespace: str, name: str) -> LimitRow:
    """An object of which no number of GPUs could be read."""
    return LimitRow(
        cluster=seen.cluster.name,
        group=LimitGroup.NAMESPACES,
        kind=kind,
        name=name,
        namespace=namespace,
        **seen.team_of(namespace),
        why_not="No number of GPUs could be read.",
        seen_at=seen.seen_at.get(kind),
    )


def not_read(cluster: str = "") -> list[NotRead]:
    """What could not be listed at the last observation, one entry for each reason."""
    runs = [run for run in last_runs() if run.kind in LIMITING and run.error]
    if cluster:
        runs = [run for run in runs if run.cluster.name == cluster]
    found: dict[tuple[str, str, bool], list[ObservationRun]] = {}
    for run in runs:
        role = "" if run.is_allowed else ROLES[run.kind]
        reason = role or run.error
        key = (run.cluster.name, reason, not role)
        found.setdefault(key, []).append(run)
    return [_entry(name, own) for (name, _, _), own in found.items()]


def observed_clusters() -> frozenset[str]:
    """Clusters whose quotas were listed at least once."""
    return frozenset(
        run.cluster.name for run in last_runs() if run.kind == QUOTA and run.seen_at
    )


def unmanaged(rows: Sequence[LimitRow]) -> list[LimitRow]:
    """Limits of namespaces and queues that others set; priorities limit no number of GPUs."""
    return [
        row for row in rows if row.limit and not row.is_managed and not row.is_class
    ]


def _entry(cluster: str, runs: Sequence[ObservationRun]) -> NotRead:
    first = runs[0]
    kinds = tuple(run.kind for run in runs)
    return NotRead(
        cluster,
        kinds,
        first.error,
        "" if first.is_allowed else ROLES[first.kind],
        not first.is_allowed and not {QUOTA, CLASS, RANGE} & set(kinds),
        min((run.seen_at for run in runs if run.seen_at), default=None),
    )
