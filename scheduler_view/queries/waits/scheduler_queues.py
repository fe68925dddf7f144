"""Queues of all schedulers, from metrics and from objects."""

from accounting.domain.core.interval import to_ms
from accounting.models import Cluster
from accounting.queries.queues import QueueRow, queue_rows
from scheduler_view.domain.schedulers import queue_objects
from scheduler_view.domain.schedulers.adapter import QueueObjects
from scheduler_view.models import Observation, ObservationRun


def all_queue_rows(*, cluster: str = "") -> list[QueueRow]:
    """Every queue, by cluster, scheduler and name; for people who see all teams."""
    found = [row for one in queue_objects() for row in _object_rows(one, cluster)]
    return sorted(
        [*queue_rows(cluster=cluster), *found],
        key=lambda r: (r.cluster, r.facts.scheduler, r.facts.queue, r.facts.resource),
    )


def _object_rows(objects: QueueObjects, cluster: str) -> list[QueueRow]:
    """The queues that a scheduler describes as objects; empty if metrics have them."""
    if objects.facts is None:
        return []
    runs = ObservationRun.objects.filter(kind=objects.kind, seen_at__isnull=False)
    seen = {run.cluster_id: to_ms(run.seen_at) for run in runs if run.seen_at}
    clusters = Cluster.objects.filter(pk__in=seen)
    if cluster:
        clusters = clusters.filter(name=cluster)
    return [
        QueueRow(one.name, objects.facts(name, manifest, seen[one.pk]))
        for one in clusters
        for name, manifest in Observation.objects.filter(
            cluster=one, kind=objects.kind
        ).values_list("name", "manifest")
    ]
