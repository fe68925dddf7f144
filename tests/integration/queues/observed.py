"""Pods as the API shows them, and observations of a cluster with one node."""

from datetime import UTC, datetime, timedelta
from typing import Any

from accounting.core.interval import to_ms
from accounting.metering.models.cluster import Cluster
from scheduler_view.clusters.models import ObservationRun
from scheduler_view.queues.tasks.observe_queues import store_waits
from scheduler_view.waits.models import WaitRecord
from scheduler_view.waits.rules.world.world import read_world
from tests.unit.waits.worlds import node, pod

NOW = datetime(2026, 11, 23, 9, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def stamp(at: datetime) -> str:
    """As the API writes it."""
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"


def made(name: str, at: datetime, uid: str = "") -> dict[str, Any]:
    """Metadata of a pod."""
    return {
        "name": name,
        "namespace": "lab",
        "uid": uid or f"uid-{name}",
        "creationTimestamp": stamp(at),
    }


def bound(name: str, gpus: int, created: datetime, at: datetime) -> dict[str, Any]:
    """A pod that was bound, and started a minute later."""
    one = pod(name, gpus, "a", meta=made(name, created))
    one["status"]["conditions"] = [
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": stamp(at)}
    ]
    started = {"running": {"startedAt": stamp(at + MINUTE)}}
    one["status"]["containerStatuses"] = [{"name": "main", "state": started}]
    return one


def observe(cluster: Cluster, at: datetime, *pods: dict[str, Any]) -> None:
    """Store one observation."""
    ObservationRun.objects.all().delete()  # once a minute else
    objects = {"Node": [node("a", 8)], "Pod": pods}
    store_waits(cluster, read_world(objects, to_ms(at)), at)


def record(name: str = "w") -> WaitRecord:
    """The record of a unit that did not end."""
    return WaitRecord.objects.get(name=name, ended_at=None)
