"""Kueue: figures of ClusterQueues are metrics; LocalQueues show which namespaces use a queue."""

from typing import Any

from scheduler_view.domain.schedulers.adapter import (
    Endpoint,
    Manifest,
    QueueObjects,
    SchedulerAdapter,
)


def stored(manifest: Manifest) -> dict[str, Any]:
    """The stored part of a LocalQueue."""
    spec = manifest.get("spec") or {}
    return {
        "spec": {name: spec[name] for name in ("clusterQueue",) if name in spec},
    }


def served(manifest: Manifest) -> str:
    """The ClusterQueue of a LocalQueue's namespace."""
    return str((manifest.get("spec") or {}).get("clusterQueue"))


ADAPTER = SchedulerAdapter(
    "kueue",
    "Kueue",
    objects=QueueObjects(
        kind="LocalQueue",
        endpoints=(
            Endpoint("kueue.x-k8s.io/v1beta2", "localqueues"),
            Endpoint("kueue.x-k8s.io/v1beta1", "localqueues"),  # before 0.15
        ),
        stored=stored,
        served=served,
    ),
)
