"""Queue metrics of Kueue and Volcano: their meaning, and the labels that name the queue.

Sources: Kueue `pkg/metrics/metrics.go` (v1beta2; all have `replica_role`), Volcano
`pkg/scheduler/metrics/queue.go`. Volcano counts extended resources in thousandths (T30 c);
Kueue reports +Inf for a borrowing limit that is not set (T30 e); the queue of
`kueue_preempted_workloads_total` is the preempting one, that of `kueue_evicted_workloads_total`
the preempted one (T30 b). Queues are shown, but are not part of the ledger.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from accounting.metering.sources.catalogue.metric import Metric

KUEUE, VOLCANO = "kueue", "volcano"


@dataclass(frozen=True, slots=True)
class QueueMetric:
    """The meaning of a queue metric.

    Attributes:
        id: canonical: `queue_` and the field.
        queue: the label that names the queue.
        parts: labels over which its values are summed.
        only: required label values; other series have another meaning.
        scale: the conversion into units.
    """

    id: str
    scheduler: str
    queue: str = "cluster_queue"
    parts: tuple[str, ...] = ()
    only: tuple[tuple[str, str], ...] = ()
    scale: float = 1.0


def _volcano(name: str) -> QueueMetric:
    return QueueMetric(name, VOLCANO, "queue_name", scale=0.001)


QUEUE_METRICS: Mapping[str, QueueMetric] = {
    "kueue_cluster_queue_nominal_quota": QueueMetric(
        "queue_quota", KUEUE, parts=("flavor",)
    ),
    "kueue_cluster_queue_borrowing_limit": QueueMetric(
        "queue_borrowing_limit", KUEUE, parts=("flavor",)
    ),
    "kueue_cluster_queue_resource_usage": QueueMetric(
        "queue_used", KUEUE, parts=("flavor",)
    ),
    "kueue_cluster_queue_resource_pending": QueueMetric("queue_pending", KUEUE),
    "kueue_pending_workloads": QueueMetric("queue_waiting", KUEUE, parts=("status",)),
    "kueue_evicted_workloads_total": QueueMetric(
        "queue_preempted",
        KUEUE,
        parts=("underlying_cause", "priority_class"),
        only=(("reason", "Preempted"),),
    ),
    "kueue_preempted_workloads_total": QueueMetric(
        "queue_preempting",
        KUEUE,
        "preempting_cluster_queue",
        parts=("reason", "priority_class"),
    ),
    "volcano_queue_allocated_scalar_resources": _volcano("queue_used"),
    "volcano_queue_deserved_scalar_resources": _volcano("queue_quota"),
    "volcano_queue_request_scalar_resources": _volcano("queue_requested"),
}


def queue_meaning(
    name: str, labels: Mapping[str, str]
) -> tuple[Metric, Mapping[str, str]] | None:
    """The canonical metric of a queue's series, with its queue, resource and part.

    None for a series with another meaning, or a copy: a follower of Kueue repeats the values of its
    leader.
    """
    known = QUEUE_METRICS[name]
    queue = labels.get(known.queue, "")
    if not queue or labels.get("replica_role") == "follower":
        return None
    if any(labels.get(label, wanted) != wanted for label, wanted in known.only):
        return None
    about = {
        "scheduler": known.scheduler,
        "queue": queue,
        "resource": labels.get("resource", ""),
        "part": "/".join(labels.get(label, "") for label in known.parts),
    }
    return Metric(known.id, known.scale), about
