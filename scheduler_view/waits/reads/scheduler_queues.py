"""Queues of all schedulers, from metrics and from objects."""

from accounting.core.interval import to_ms
from accounting.metering.reads.queues import QueueRow, queue_rows
from scheduler_view.clusters.reads.last_observation import last_runs, limiting_objects
from scheduler_view.clusters.rules.schedulers import queue_objects
from scheduler_view.clusters.rules.schedulers.adapter import QueueObjects


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
    return [
        QueueRow(run.cluster.name, objects.facts(name, manifest, to_ms(run.seen_at)))
        for run in last_runs()
        if run.kind == objects.kind
        and run.seen_at
        and run.cluster.name == (cluster or run.cluster.name)
        for _, _, name, manifest in limiting_objects(run.cluster_id, [objects.kind])
    ]
