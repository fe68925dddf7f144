"""kube-state-metrics 2.x, and known names of schedulers that are never summed.

Sources: kube-state-metrics `docs/metrics`; Kueue's and Volcano's metric references. Metrics of
queues that are read are in `queues`.
"""

from accounting.metering.sources.catalogue.queues import QUEUE_METRICS

# Prometheus is not queried for it: each pod has five series, almost all of them 0, and rules.md N11
# needs it only for a word of why.
POD_REASON = "kube_pod_status_reason"
KUBE_METRICS = frozenset(
    {
        "kube_job_created",
        "kube_job_owner",
        "kube_job_status_start_time",
        "kube_job_status_suspended",
        "kube_namespace_labels",
        "kube_node_info",
        "kube_node_labels",
        "kube_node_spec_taint",
        "kube_node_spec_unschedulable",
        "kube_node_status_allocatable",
        "kube_node_status_capacity",
        "kube_pod_completion_time",
        "kube_pod_container_resource_requests",
        "kube_pod_created",
        "kube_pod_info",
        "kube_pod_init_container_info",
        "kube_pod_init_container_resource_requests",
        "kube_pod_labels",
        "kube_pod_annotations",
        "kube_pod_owner",
        "kube_pod_resourceclaim_info",
        "kube_pod_status_phase",
        POD_REASON,
        "kube_pod_status_scheduled_time",
        "kube_pod_status_unschedulable",
        "kube_pod_tolerations",
        "kube_replicaset_owner",
    }
)
# Metrics whose `node` is of the object that they show. On any other, it is the scraped target's.
KUBE_NAMING_NODES = frozenset(
    {
        *(name for name in KUBE_METRICS if name.startswith("kube_node_")),
        "kube_pod_container_resource_requests",
        "kube_pod_info",
        "kube_pod_init_container_resource_requests",
    }
)
RESERVED_PREFIXES = ("kueue_", "volcano_", "kube_", "karpenter_")


def is_reserved(name: str) -> bool:
    """True for a known name that belongs to no GPU: ignored without an issue."""
    is_read = name in KUBE_METRICS or name in QUEUE_METRICS
    return not is_read and name.startswith(RESERVED_PREFIXES)
