"""The stored kube-state jobs of a cluster, and their roles (rules.md N40)."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
from django.db import connection

from accounting.metering.rules.inventory.kube_state.job_samples import Side, merged
from accounting.metering.rules.inventory.kube_state.jobs import (
    NOBODY,
    JobRecord,
    JobRole,
    NamedJobs,
    Roles,
    Run,
    changed_at,
    roles_of,
)


@dataclass(slots=True)
class KnownJobs:
    """The jobs of a cluster, as stored.

    Attributes:
        sides: when each was sampled.
        ids: of their rows.
        overlaps: since when two jobs show the same object, and which one.
        live_ms: the first sample of a live source; None before one was read.
        named: the accepted and listed jobs that are already applied.
        wanted: the currently accepted and listed jobs.
        is_in_force: both are the same, and stored.
    """

    sides: dict[Side, JobRecord] = field(default_factory=dict)
    ids: dict[Side, int] = field(default_factory=dict)
    overlaps: dict[tuple[Side, Side], tuple[int, str]] = field(default_factory=dict)
    live_ms: int | None = None
    named: NamedJobs = NOBODY
    wanted: NamedJobs = NOBODY
    is_in_force: bool = False

    @property
    def names(self) -> set[str]:
        """Every job that was sampled."""
        return {side.job for side in self.sides}

    def copy(self) -> "KnownJobs":
        """A copy that can be changed."""
        return replace(
            self,
            sides=dict(self.sides),
            ids=dict(self.ids),
            overlaps=dict(self.overlaps),
        )

    def records(self, sides: Iterable[Side] | None = None) -> dict[str, JobRecord]:
        """When each job was sampled, for all sides or some."""
        found: dict[str, JobRecord] = {}
        for side in self.sides if sides is None else sides:
            known, own = found.get(side.job), self.sides[side]
            found[side.job] = own if known is None else merged(known, own)
        return found

    def roles(self) -> Roles:
        """The roles of each job over time.

        Files that came after a live source do not change the roles in its windows.
        """
        every = self._roles(self.sides)
        if self.live_ms is None or not any(side.is_late for side in self.sides):
            return every
        early = [side for side in self.sides if not side.is_late]
        return changed_at(every, self._roles(early), self.live_ms)

    def _roles(self, sides: Collection[Side]) -> Roles:
        shared: dict[tuple[str, str], int] = {}
        for (one, other), (at, _) in self.overlaps.items():
            if one in sides and other in sides and one.job != other.job:
                pair = (one.job, other.job)
                shared[pair] = min(at, shared.get(pair, at))
        return roles_of(self.records(sides), shared, self.named)

    def shared(self, roles: Roles) -> dict[str, str]:
        """For each job, an object that the leading jobs show too."""
        found: dict[str, tuple[int, str]] = {}
        for (one, other), (at, name) in self.overlaps.items():
            leads = roles.get(other.job, ())[:1]
            if leads and leads[0].role is JobRole.LEADS and one.job != other.job:
                found[one.job] = min((at, name), found.get(one.job, (at, name)))
        return {job: name for job, (_, name) in found.items()}


_JOBS = """
    SELECT j.cluster_id, j.id, j.job, j.is_late, j.first_node_ms, j.first_live_ms,
           coalesce(array_agg(r.first_ms ORDER BY r.first_ms)
                    FILTER (WHERE r.id IS NOT NULL), '{}'),
           coalesce(array_agg(r.last_ms ORDER BY r.first_ms)
                    FILTER (WHERE r.id IS NOT NULL), '{}')
    FROM accounting_kubejob j LEFT JOIN accounting_kubejobrun r ON r.kube_job_id = j.id
    WHERE j.cluster_id = ANY(%s) GROUP BY j.id
"""
_OVERLAPS = """
    SELECT j.cluster_id, o.kube_job_id, o.other_id, o.first_ms, o.name
    FROM accounting_kubejoboverlap o JOIN accounting_kubejob j ON j.id = o.kube_job_id
    WHERE j.cluster_id = ANY(%s)
"""

_NAMED = """
    SELECT c.id, c.kube_state_jobs, coalesce(c.kube_jobs_in_force, 'null'),
           (SELECT coalesce(jsonb_agg(s.settings), '[]') FROM accounting_source s
            WHERE s.cluster_id = c.id AND s.is_active)
    FROM accounting_cluster c WHERE c.id = ANY(%s)
"""


def known_jobs(cluster_id: int) -> KnownJobs:
    """The jobs of a cluster, including the accepted and listed ones."""
    return known_jobs_of([cluster_id])[cluster_id]


def known_jobs_of(cluster_ids: Collection[int]) -> dict[int, KnownJobs]:
    """The same for several clusters, by id."""
    found = {pk: KnownJobs() for pk in cluster_ids}
    with connection.cursor() as cursor:
        cursor.execute(_JOBS, [list(found)])
        for cluster, pk, job, is_late, node, live, *runs in cursor.fetchall():
            own, side = found[cluster], Side(job, is_late)
            spans = [Run(a, b) for a, b in zip(*runs, strict=True)]
            own.sides[side], own.ids[side] = JobRecord(spans, node), pk
            if live is not None:
                own.live_ms = min(live, own.live_ms or live)
        several = [pk for pk, own in found.items() if len(own.names) > 1]
        if several:
            by_id = {pk: side for own in found.values() for side, pk in own.ids.items()}
            cursor.execute(_OVERLAPS, [several])
            for cluster, pk, other, at, name in cursor.fetchall():
                found[cluster].overlaps[by_id[pk], by_id[other]] = (at, name)
    _put_named(found)
    return found


def _put_named(found: Mapping[int, KnownJobs]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_NAMED, [list(found)])
        stored = cursor.fetchall()
    for pk, *documents in stored:
        accepted, in_force, settings = map(msgspec.json.decode, documents)
        own = found[pk]
        own.wanted = _named(accepted, settings)
        own.named = own.wanted if in_force is None else named_from(in_force)
        own.is_in_force = in_force is not None and own.named == own.wanted


def _named(accepted: Iterable[str], settings: Iterable[Mapping[str, Any]]) -> NamedJobs:
    lists = [one.get("jobs") or () for one in settings]
    return NamedJobs(
        frozenset(accepted),
        frozenset(job for jobs in lists for job in jobs),
        is_closed=bool(lists) and all(lists),
    )


def named_from(stored: Mapping[str, Any]) -> NamedJobs:
    """The accepted and listed jobs in `Cluster.kube_jobs_in_force`."""
    return NamedJobs(
        frozenset(stored["accepted"]), frozenset(stored["listed"]), stored["is_closed"]
    )


def stored_named(named: NamedJobs) -> dict[str, Any]:
    """The value of `Cluster.kube_jobs_in_force` to store."""
    return {
        "accepted": sorted(named.accepted),
        "listed": sorted(named.listed),
        "is_closed": named.is_closed,
    }
