"""Objects and times of the last observation, read once for a page."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from accounting.core.read_once import read_once, read_together
from scheduler_view.clusters.models import Observation, ObservationRun
from scheduler_view.clusters.rules.live_objects import CLASS, QUOTA
from scheduler_view.clusters.rules.schedulers import QUEUE_OBJECTS

RANGE, NAMESPACE = "LimitRange", "Namespace"
LIMITING = (QUOTA, CLASS, RANGE, *QUEUE_OBJECTS)
Manifest = Mapping[str, Any]
Stored = tuple[str, str, str, Manifest]
"""Kind, namespace, name, and the stored parts of an object."""


@read_once
def last_runs() -> Sequence[ObservationRun]:
    """The last observation of each kind of each cluster, in order of both."""
    rows = ObservationRun.objects.select_related("cluster")
    return list(rows.order_by("cluster__name", "kind"))


def limiting_objects(cluster_id: int, kinds: Collection[str]) -> list[Stored]:
    """Objects of kinds that limit GPUs, and namespaces, by kind, namespace and name."""
    return [row for row in _limiting(cluster_id) if row[0] in kinds]


@read_together
def _limiting(clusters: Sequence[int]) -> Mapping[int, Sequence[Stored]]:
    rows = Observation.objects.filter(
        cluster_id__in=clusters, kind__in=(*LIMITING, NAMESPACE)
    ).order_by("kind", "namespace", "name")
    found: dict[int, list[Stored]] = {one: [] for one in clusters}
    for cluster, *row in rows.values_list(
        "cluster_id", "kind", "namespace", "name", "manifest"
    ):
        kind, namespace, name, manifest = row
        found[cluster].append((kind, namespace, name, manifest))
    return found
