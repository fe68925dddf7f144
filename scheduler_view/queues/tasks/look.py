"""Observes a cluster: all that is stored of it, and why its work waits."""

from functools import partial

from django.db.models import Count

from accounting.metering.models.cluster import Cluster
from scheduler_view.changes.tasks.watch import WATCHED, Now, look_at
from scheduler_view.clusters.client.access import AccessRole
from scheduler_view.clusters.client.client import ClusterClient
from scheduler_view.clusters.client.errors import ClusterError
from scheduler_view.clusters.models import WAITS
from scheduler_view.clusters.rules.object_key import ObjectKey
from scheduler_view.clusters.tasks.cluster_connection import (
    Connect,
    connect_to,
    visible_clusters,
)
from scheduler_view.clusters.tasks.observe import (
    KINDS,
    Seen,
    note_error,
    observe_queues,
)
from scheduler_view.clusters.tasks.preemptions import note_preemptions
from scheduler_view.clusters.tasks.resource_claims import observe_devices
from scheduler_view.clusters.tasks.tokens import note_tokens
from scheduler_view.queues.tasks.observe_queues import observe_waits
from scheduler_view.waits.models import WaitRecord

MOST_UNITS = 5_000  # of a cluster whose objects are listed every minute


def watched_each_minute() -> list[Cluster]:
    """Clusters whose waits are observed every minute; larger ones with all else."""
    units = dict(
        WaitRecord.objects.filter(ended_at=None)
        .values_list("cluster")
        .annotate(count=Count("pk"))
    )
    return [c for c in visible_clusters() if units.get(c.pk, 0) <= MOST_UNITS]


def look_at_waits(cluster: Cluster, *, now: Now, connect: Connect = connect_to) -> int:
    """Explain what waits and store queues; returns how many explanations changed."""
    try:
        with connect(cluster, AccessRole.READER) as client:
            return observe_waits(cluster, client, {}, now())
    except ClusterError as error:  # no credentials
        note_error(cluster, [WAITS], error)
        return 0


def observe_once(cluster: Cluster, *, now: Now, connect: Connect = connect_to) -> Seen:
    """Store everything of a cluster, find differences from the desired state, and explain waits.

    If a cluster does not respond, its stored objects are kept; its observation runs have the
    reason.
    """
    note_tokens(cluster, now())
    further = partial(_look_further, cluster, now)
    return look_at(cluster, KINDS, now=now, connect=connect, also=further)


def _look_further(
    cluster: Cluster, now: Now, client: ClusterClient, seen: Seen
) -> set[ObjectKey]:
    """Queues, devices, preemptions and waits; returns the objects of queues that changed."""
    if all(kind in seen.errors for kind in WATCHED):
        return set()
    changed = observe_queues(cluster, client)
    observe_devices(cluster, client)
    note_preemptions(cluster, client)
    observe_waits(cluster, client, seen.listed, now())
    return changed
