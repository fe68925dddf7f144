"""Data issues of whole clusters: each run tells all there is of them, and ends the rest."""

from collections.abc import Iterable

from accounting.domain.core.interval import to_ms
from accounting.domain.core.issue import Issue
from accounting.ingest.data_issues import record
from accounting.models import Cluster, DataIssue
from accounting.queries.data_health.cluster_issues import (
    sampled_after,
    shared_gpus,
    silence,
)

SILENT, AFTER, SHARED = "cluster_silent", "sampled_after_retired", "gpu_in_two_clusters"


def look_at(cluster_id: int) -> None:
    """Keep what is wrong with a cluster now, and with those that share GPUs with it."""
    cluster = Cluster.objects.get(pk=cluster_id)
    record.replace(cluster_id, (SILENT,), _silence(cluster))
    record.replace(cluster_id, (AFTER,), _after_its_end(cluster))
    before = set(
        DataIssue.objects.filter(code=SHARED, resolved_at__isnull=True).values_list(
            "cluster_id", flat=True
        )
    )
    found = list(_shared(cluster_id))
    if not found and not before:
        return
    record.replace(cluster_id, (SHARED,), found)
    names = {name for shared in shared_gpus(cluster_id) for name in shared.others}
    others = Cluster.objects.filter(name__in=names).values_list("pk", flat=True)
    for other in sorted({*others, *before} - {cluster_id}):
        record.replace(other, (SHARED,), _shared(other))


def _silence(cluster: Cluster) -> Iterable[Issue]:
    if cluster.retired_at is not None:
        return
    found = silence(cluster.pk)
    if found is not None:
        yield Issue(
            code=SILENT,
            subject=cluster.name,
            message=f"{found.gpus} GPUs are present but no longer reported. Their time counts as "
            "dark, at full price.",
            first_ms=found.period.start_ms,
            last_ms=found.period.end_ms,
            at_stake_ms=found.at_stake_ms,
            severity="error",
        )


def _after_its_end(cluster: Cluster) -> Iterable[Issue]:
    if cluster.retired_at is None:
        return
    found = sampled_after(cluster.pk, to_ms(cluster.retired_at))
    if found is not None:
        yield Issue(
            code=AFTER,
            subject=cluster.name,
            message=f"Retired {cluster.retired_at:%Y-%m-%d %H:%M:%S} UTC, and {found.gpus}"
            " GPUs were sampled after that time, which is not booked.",
            first_ms=found.period.start_ms,
            last_ms=found.period.end_ms,
            at_stake_ms=found.at_stake_ms,
            severity="error",
        )


def _shared(cluster_id: int) -> Iterable[Issue]:
    for shared in shared_gpus(cluster_id):
        yield Issue(
            code=SHARED,
            subject=shared.uuid,
            message=f"It is also in {', '.join(shared.others)} at the same time. That time is "
            "booked in each cluster.",
            first_ms=shared.period.start_ms,
            last_ms=shared.period.end_ms,
            at_stake_ms=shared.at_stake_ms,
            severity="error",
        )
