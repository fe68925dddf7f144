"""What kube-state-metrics show of a cluster now: what waits, who holds GPUs, and the nodes.

Only evidence that the ledger keeps anyway, and the newest state of nodes. Pods that request GPUs
by claims (DRA) are left out: metrics do not show how many devices a claim requests.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.db.models.functions import Coalesce

from accounting.metering.models.cluster import NodeFact
from accounting.metering.models.node_state import NodeState
from accounting.metering.models.pod import Owner, PodHold
from accounting.metering.models.queue import QueuedJob
from accounting.metering.rules.inventory.records import PodRecord
from accounting.metering.rules.inventory.requests import effective_requests
from scheduler_view.quotas.reads.pending_units import last_read, waiting_pods
from scheduler_view.waits.rules.from_metrics import (
    MetricPod,
    ShownCluster,
    SuspendedJob,
)
from scheduler_view.waits.rules.world.nodes import (
    CORDON,
    KEEPS_AWAY,
    MODEL_LABELS,
    ClusterNode,
    taint_of,
)
from scheduler_view.waits.rules.world.pod_spec import Toleration
from scheduler_view.waits.rules.world.pods import ControllerRef

# a node or a suspended Job that the newest scrapes did not show for longer is gone
LASTS_MS = 10 * 60_000


def newest_scrape_ms(cluster_id: int) -> int | None:
    """When kube-state-metrics were last scraped; None if never."""
    return max(last_read(cluster_id).values(), default=None)


def shown_cluster(cluster_id: int) -> ShownCluster | None:
    """What metrics show; None if kube-state-metrics were never read. A few queries."""
    read = last_read(cluster_id)
    if not read:
        return None
    at_ms = max(read.values())
    pods = [
        *(_waiting(pod) for pod in waiting_pods(cluster_id, read)),
        *_holding(cluster_id),
    ]
    with_pods = {
        (pod.namespace, pod.controller.name)
        for pod in pods
        if pod.controller is not None and pod.controller.kind == "Job"
    }
    return ShownCluster(
        at_ms,
        tuple(pod for pod in pods if pod.requests),
        tuple(_nodes(cluster_id, at_ms)),
        tuple(
            job
            for job in _suspended(cluster_id, at_ms)
            if (job.namespace, job.name) not in with_pods
        ),
        _owners(cluster_id, pods),
    )


def _waiting(pod: PodRecord) -> MetricPod:
    return MetricPod(
        pod.uid,
        pod.namespace,
        pod.name,
        effective_requests(pod),
        _controller(pod.owner_kind, pod.owner_name),
        pod.created_ms,
        priority_class=pod.priority_class,
        tolerations=tuple(
            Toleration(key, operator or "Equal", value, effect)
            for key, operator, value, effect in sorted(pod.tolerations)
        )
        or None,
        is_unschedulable=pod.unschedulable_ms is not None,
    )


def _holding(cluster_id: int) -> Iterator[MetricPod]:
    """Pods with GPUs now, with all that they hold."""
    rows = PodHold.objects.filter(
        pod__cluster_id=cluster_id, ended_ms__isnull=True, is_inferred=False
    ).values(
        "resource",
        "units",
        "bound_ms",
        "node__name",
        "pod__uid",
        "pod__namespace__name",
        "pod__name",
        "pod__record__owner_kind",
        "pod__record__owner_name",
        "pod__record__created_ms",
        "pod__priority_class",
    )
    by_pod: dict[str, list[Any]] = {}
    for row in rows:
        by_pod.setdefault(row["pod__uid"], []).append(row)
    for uid, held in sorted(by_pod.items()):
        one = held[0]
        yield MetricPod(
            uid,
            one["pod__namespace__name"],
            one["pod__name"],
            {row["resource"]: row["units"] for row in held},
            _controller(
                one["pod__record__owner_kind"] or "",
                one["pod__record__owner_name"] or "",
            ),
            one["pod__record__created_ms"],
            one["node__name"],
            one["bound_ms"],
            one["pod__priority_class"],
        )


def _controller(kind: str, name: str) -> ControllerRef | None:
    return ControllerRef(kind, name) if kind and name else None


def _nodes(cluster_id: int, at_ms: int) -> Iterator[ClusterNode]:
    models = dict(
        NodeFact.objects.filter(node__cluster_id=cluster_id)
        .order_by("node_id", "-valid_from")
        .distinct("node_id")
        .values_list("node__name", "model")
    )
    shown_ms = Coalesce("missing_ms", "cluster__nodes_read__at_ms")
    for row in (
        NodeState.objects.filter(cluster_id=cluster_id)
        .annotate(shown_ms=shown_ms)
        .filter(shown_ms__gte=at_ms - LASTS_MS)
        .order_by("name")
    ):
        taints = (taint_of(*parts) for parts in row.taints)
        capacity = {name: 1000 * units for name, units in row.capacity.items()}
        allocatable = {name: 1000 * units for name, units in row.allocatable.items()}
        yield ClusterNode(
            row.name,
            {MODEL_LABELS[0]: models.get(row.name) or ""},
            tuple(t for t in taints if t.effect in KEEPS_AWAY and t.key != CORDON),
            row.is_cordoned,
            allocatable=allocatable or capacity,
            capacity=capacity or allocatable,
        )


def _suspended(cluster_id: int, at_ms: int) -> Iterator[SuspendedJob]:
    for row in QueuedJob.objects.filter(
        cluster_id=cluster_id, suspended_ms__gte=at_ms - LASTS_MS
    ).order_by("namespace", "name"):
        yield SuspendedJob(row.namespace, row.name, row.created_ms)


def _owners(
    cluster_id: int, pods: Iterable[MetricPod]
) -> Mapping[tuple[str, str, str], tuple[str, str]]:
    names = {pod.controller.name for pod in pods if pod.controller is not None}
    rows = Owner.objects.filter(namespace__cluster_id=cluster_id, name__in=names)
    return {
        (row.kind, row.namespace.name, row.name): (row.owner_kind, row.owner_name)
        for row in rows.select_related("namespace")
    }
