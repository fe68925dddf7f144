"""Stores which pods were preempted: events expire after an hour, ended pods are deleted (T30 d)."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.dateparse import parse_datetime

from accounting.metering.models.cluster import Cluster
from scheduler_view.clusters.client.client import ClusterClient
from scheduler_view.clusters.client.errors import ClusterError, NotFound
from scheduler_view.clusters.client.kinds import EVENT, POD
from scheduler_view.clusters.models import Observation, Preemption
from scheduler_view.clusters.tasks.observe import note_error

REASON = "Preempted"
_CONDITION = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "PreemptionByScheduler",
}


def note_preemptions(cluster: Cluster, client: ClusterClient) -> None:
    """Store the preemptions in events and in conditions of observed pods; one row for each pod."""
    rows = {row.pod_uid: row for row in _of_pods(cluster)}
    try:
        events = client.list(EVENT, fields=f"reason={REASON}").objects
    except NotFound:
        events = ()  # an API that does not exist
    except ClusterError as error:
        note_error(cluster, [EVENT], error)
        events = ()
    for event in events:
        row = _of_event(cluster, event.manifest)
        if row is not None:
            rows[row.pod_uid] = row  # it names the other pod
    Preemption.objects.bulk_create(
        [row for row in rows.values() if not row.message], ignore_conflicts=True
    )
    Preemption.objects.bulk_create(
        [row for row in rows.values() if row.message],
        update_conflicts=True,
        unique_fields=["cluster", "pod_uid"],
        update_fields=["at", "message"],
    )


def _of_pods(cluster: Cluster) -> Iterator[Preemption]:
    """Pods whose condition shows a preemption; it may be there before the event, or alone."""
    seen = Observation.objects.filter(
        cluster=cluster, kind=POD, manifest__status__conditions__contains=[_CONDITION]
    )
    for one in seen:
        yield Preemption(
            cluster=cluster,
            pod_uid=one.uid,
            namespace=one.namespace,
            pod=one.name,
            at=one.changed_at,
        )


def _of_event(cluster: Cluster, event: Any) -> Preemption | None:
    about = event.get("involvedObject") or {}
    at = _when(event)
    if about.get("kind") != POD or not about.get("uid") or at is None:
        return None
    return Preemption(
        cluster=cluster,
        pod_uid=str(about["uid"])[:64],
        namespace=str(about.get("namespace", ""))[:63],
        pod=str(about.get("name", ""))[:253],
        at=at,
        message=str(event.get("message") or REASON).replace("\0", "?")[:500],
    )


def _when(event: Any) -> datetime | None:
    for name in ("eventTime", "firstTimestamp", "lastTimestamp"):
        if event.get(name):
            found = parse_datetime(str(event[name]))
            if found is not None and timezone.is_aware(found):
                return found
    return None
