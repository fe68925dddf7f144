"""Accepts scrape jobs of kube-state in addition to those of the first hour (rules.md N40).

Only the decision is stored, so that the page responds at once. `apply_accepted_jobs` in
`metering.tasks.kube_state_jobs.changes` applies it before the cluster's next windows are computed.
"""

from collections.abc import Iterable

from django.core.exceptions import ValidationError

from accounting.kit.audit import Actor, act
from accounting.metering.models.cluster import Cluster
from accounting.metering.reads.data_health.known_kube_state_jobs import known_jobs


def set_accepted(
    cluster: Cluster, jobs: Iterable[str], *, actor: Actor, reason: str
) -> bool:
    """Set exactly these jobs as accepted; True if that changes something.

    Jobs that were never sampled may be named: they count once they are sampled.
    """
    wanted = sorted(set(jobs))
    with act(actor, reason):
        row = Cluster.objects.select_for_update().get(pk=cluster.pk)
        if row.kube_state_jobs == wanted:
            return False
        row.kube_state_jobs = cluster.kube_state_jobs = wanted
        row.save(update_fields=["kube_state_jobs"])
    return True


def accept(
    cluster: Cluster, job: str, *, is_accepted: bool, actor: Actor, reason: str
) -> bool:
    """Accept one job, or withdraw the acceptance; True if that changes something.

    Raises:
        ValidationError: the cluster has no such job.
    """
    with act(actor, reason):
        row = Cluster.objects.select_for_update().get(pk=cluster.pk)
        known = set(row.kube_state_jobs)
        if job not in known_jobs(cluster.pk).names:
            raise ValidationError(
                {"job": f"job {job!r} sent no kube-state-metrics of {cluster.name}"}
            )
        wanted = known | {job} if is_accepted else known - {job}
        return set_accepted(cluster, wanted, actor=actor, reason=reason)
