"""The scrape jobs of kube-state of every cluster, and which of them count (rules.md N40)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from accounting.access.rights import DATA_ISSUES
from accounting.access.scope import Scope
from accounting.core.interval import to_instant
from accounting.metering.models.cluster import Cluster
from accounting.metering.reads.data_health.known_kube_state_jobs import (
    KnownJobs,
    known_jobs_of,
)
from accounting.metering.rules.inventory.kube_state.jobs import (
    JobRecord,
    JobRole,
    Roles,
)


@dataclass(frozen=True, slots=True)
class KubeStateJobRow:
    """One job that sent kube-state-metrics of a cluster.

    Attributes:
        job: empty for samples without a job.
        role: at its last sample: leads, shard, took_over or other; all except other count.
        is_accepted: by a person, or the setup file.
        is_listed: in `jobs` of a source.
        is_applied: False until the windows of a change of these two are due again.
        first_sample, last_sample: of all its samples.
        shares: an object that both it and the leading jobs show, such as `node n1`.
    """

    cluster: str
    job: str
    role: str
    is_accepted: bool
    is_listed: bool
    is_applied: bool
    first_sample: datetime
    last_sample: datetime
    shares: str

    @property
    def counts(self) -> bool:
        """True if its last sample counts."""
        return self.role != JobRole.OTHER.name.lower()


def kube_state_job_rows(
    scope: Scope, clusters: Iterable[str] = ()
) -> list[KubeStateJobRow]:
    """Every job, by cluster and name; for people who may see faults in the data.

    Args:
        scope: of the person.
        clusters: only these; all clusters if None.
    """
    if not DATA_ISSUES.allows(scope):
        return []
    chosen = Cluster.objects.order_by("name").values_list("pk", "name")
    if names := tuple(clusters):
        chosen = chosen.filter(name__in=names)
    names_of = dict(chosen)
    known = known_jobs_of(names_of)
    return [row for pk, name in names_of.items() for row in _rows(name, known[pk])]


def _rows(cluster: str, known: KnownJobs) -> Iterable[KubeStateJobRow]:
    roles, records = known.roles(), known.records()
    shared = known.shared(roles)
    for job in sorted(records):
        runs = records[job].runs
        yield KubeStateJobRow(
            cluster=cluster,
            job=job,
            role=_role(job, roles, records),
            is_accepted=job in known.wanted.accepted,
            is_listed=job in known.wanted.listed,
            is_applied=known.is_in_force,
            first_sample=to_instant(runs[0].first_ms),
            last_sample=to_instant(runs[-1].last_ms),
            shares=shared.get(job, ""),
        )


def _role(job: str, roles: Roles, records: Mapping[str, JobRecord]) -> str:
    at = records[job].runs[-1].last_ms
    role = next(one.role for one in roles[job] if one.period.contains(at))
    return role.name.lower()
