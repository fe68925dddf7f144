"""The scrape jobs of kube-state of every cluster, and which of them count (rules.md N40)."""

from collections.abc import Iterable, Mapping

from accounting.access.rights import DATA_ISSUES
from accounting.access.scope import Scope
from accounting.core.interval import to_instant
from accounting.kit.rows import Moment, column, listed, member
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


@listed("KubeStateJob")
class KubeStateJobRow:
    """A scrape job that sent kube-state-metrics of a cluster.

    Attributes:
        first_sample, last_sample: of all its samples.
    """

    cluster: str = column()
    job: str = column("empty for samples without a job")
    role: str = column(
        "role at its last sample; samples with role `other` are ignored",
        choices=[role.name.lower() for role in JobRole],
    )

    @member("whether its last sample is used")
    def counts(self) -> bool:
        """True if its last sample counts."""
        return self.role != JobRole.OTHER.name.lower()

    is_accepted: bool = column(
        "accepted by a person or in the setup file", name="accepted"
    )
    is_listed: bool = column("listed in `jobs` of a source", name="listed")
    is_applied: bool = column(
        "false until the windows affected by the last change are due again",
        name="applied",
    )
    first_sample: Moment = column()
    last_sample: Moment = column()
    shares: str = column("an object that the leading jobs also report")


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
