"""Metric names, scales and label spellings of every exporter and version: one table.

A name that is not here is never summed; names that look like a GPU's go to data health.
Sources: dcgm-exporter `etc/default-counters.csv` (3.3 to 4.8) and its 4.9 release notes
(base units), kube-state-metrics `docs/metrics`.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from accounting.domain.series import GpuKey, PodName, Scraper

MEBIBYTE = 1_048_576.0
BLANK = 140_737_488_355_328.0  # DCGM's blank of a double; those of 64 bits lie above it
BLANK_32 = 2_147_483_632.0  # of 32 bits; no power is that high


@dataclass(frozen=True, slots=True)
class Metric:
    """What a name means.

    Attributes:
        id: canonical.
        scale: what turns its value into our unit.
        blank: from this value on, as written, the driver says "none"; for duty N8 decides.
    """

    id: str
    scale: float = 1.0
    blank: float | None = None


EXPORTER_METRICS: Mapping[str, Metric] = {
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": Metric("duty_engine"),
    "DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO": Metric("duty_engine"),
    "DCGM_FI_DEV_GPU_UTIL": Metric("duty_util", 0.01),
    "DCGM_FI_DEV_GPU_UTIL_RATIO": Metric("duty_util"),
    "DCGM_FI_DEV_POWER_USAGE": Metric("power_watts", blank=BLANK_32),
    "DCGM_FI_DEV_BOARD_POWER_WATTS": Metric("power_watts", blank=BLANK_32),
    "DCGM_FI_DEV_POWER_MGMT_LIMIT": Metric("power_limit_watts", blank=BLANK_32),
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": Metric("energy_joules", 0.001, blank=BLANK),
    "DCGM_FI_DEV_GPU_ENERGY_JOULES_TOTAL": Metric("energy_joules", blank=BLANK),
    "DCGM_FI_DEV_FB_USED": Metric("memory_used_bytes", MEBIBYTE, blank=BLANK),
    "DCGM_FI_DEV_FB_USED_BYTES": Metric("memory_used_bytes", blank=BLANK),
    "DCGM_FI_DEV_FB_FREE": Metric("memory_free_bytes", MEBIBYTE, blank=BLANK),
    "DCGM_FI_DEV_FB_FREE_BYTES": Metric("memory_free_bytes", blank=BLANK),
    "DCGM_FI_DEV_FB_RESERVED": Metric("memory_reserved_bytes", MEBIBYTE, blank=BLANK),
    "DCGM_FI_DEV_FB_RESERVED_BYTES": Metric("memory_reserved_bytes", blank=BLANK),
    "DCGM_FI_PROF_SM_ACTIVE": Metric("sm_active"),
    "DCGM_FI_PROF_SM_UTIL_RATIO": Metric("sm_active"),
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": Metric("tensor_active"),
    "DCGM_FI_PROF_TENSOR_UTIL_RATIO": Metric("tensor_active"),
    "DCGM_FI_PROF_DRAM_ACTIVE": Metric("dram_active"),
    "DCGM_FI_PROF_DRAM_UTIL_RATIO": Metric("dram_active"),
}
KUBE_METRICS = frozenset(
    {
        "kube_job_owner",
        "kube_namespace_labels",
        "kube_node_info",
        "kube_node_labels",
        "kube_node_status_allocatable",
        "kube_node_status_capacity",
        "kube_pod_completion_time",
        "kube_pod_container_resource_requests",
        "kube_pod_created",
        "kube_pod_info",
        "kube_pod_init_container_info",
        "kube_pod_init_container_resource_requests",
        "kube_pod_labels",
        "kube_pod_owner",
        "kube_pod_status_phase",
        "kube_pod_status_scheduled_time",
        "kube_replicaset_owner",
    }
)
KEPT_PREFIXES = ("DCGM_FI_", "DCGM_EXP_")  # other exporter samples prove presence (N14)
_GPU_LOOKING = re.compile(r"^(DCGM_|dcgm_|nvidia_|gpu_|amd_gpu|habanalabs_)")
SCALES = {"ratio": 1.0, "percent": 0.01}

LONGEST_NAME = 300  # letters of a metric name
LONGEST_VALUE = 500  # letters of a label that is not in the table
SHORTEST_LIMIT = 16
LONGEST: Mapping[str, int] = {
    "GPU_I_ID": 16,
    "vgpu": 16,
    "GPU_I_PROFILE": 32,
    "namespace": 63,
    "pod_namespace": 63,
    "owner_kind": 63,
    "created_by_kind": 63,
    "pod_uid": 64,
    "prometheus_replica": 100,
    "replica": 100,
    "__replica__": 100,
    "prometheus": 100,
    "modelName": 200,
    "model_name": 200,
    "Hostname": 253,
    "hostname": 253,
    "node": 253,
    "pod": 253,
    "pod_name": 253,
    "uid": 253,
    "resource": 253,
    "owner_name": 253,
    "created_by_name": 253,
    "priority_class": 253,
    "UUID": 300,
    "uuid": 300,
    "gpu_uuid": 300,
}

_NODE = ("Hostname", "hostname", "exported_node", "node")  # rules.md fine print N14
_REPLICA = ("prometheus_replica", "replica", "__replica__", "prometheus")
_SUFFIX = re.compile(r"(-SHARED|-MIG-.*)+$")


def is_kept(name: str) -> bool:
    """True for a name whose samples the ledger may need."""
    return (
        name in KUBE_METRICS
        or name in EXPORTER_METRICS
        or name == "up"
        or (name.startswith(KEPT_PREFIXES) and len(name) <= LONGEST_NAME)
    )


def overlong_label(labels: Iterable[tuple[str, str]]) -> str | None:
    """The first label whose value is longer than any name of its kind can be."""
    for key, value in labels:
        if len(value) > SHORTEST_LIMIT and len(value) > _longest(key):
            return key
    return None


def _longest(key: str) -> int:
    if key.startswith("label_"):
        return 63  # Kubernetes' own limit, as those below
    return LONGEST.get(key.removeprefix("exported_"), LONGEST_VALUE)


def is_unknown_gpu_metric(name: str) -> bool:
    """True for a name that looks like a GPU's and is in no table: for data health."""
    return bool(_GPU_LOOKING.match(name)) and not is_kept(name)


def metric_of(name: str, scales: Mapping[str, str]) -> Metric:
    """The canonical metric of a kept name, with the scale that its source declares."""
    known = EXPORTER_METRICS.get(name)
    if known is None:
        return Metric(name if name in KUBE_METRICS or name == "up" else "gpu_other")
    if name in scales:
        return Metric(known.id, SCALES[scales[name]], known.blank)
    return known


def scraper_of(labels: Mapping[str, str]) -> Scraper:
    """`job`, `instance` and the replica labels of a series."""
    replica = ",".join(f"{key}={labels[key]}" for key in _REPLICA if labels.get(key))
    return Scraper(labels.get("job", ""), labels.get("instance", ""), replica)


def gpu_key(labels: Mapping[str, str]) -> GpuKey | None:
    """Which GPU an exporter's labels speak of; None without a UUID or a node."""
    uuid = labels.get("UUID") or labels.get("uuid") or labels.get("gpu_uuid", "")
    node = next((labels[key] for key in _NODE if labels.get(key)), "")
    if not uuid:
        return None
    return GpuKey(
        uuid=uuid,
        node=node,
        instance=labels.get("GPU_I_ID", ""),
        profile=labels.get("GPU_I_PROFILE", ""),
        model=normal_model(labels.get("modelName") or labels.get("model_name", "")),
        vgpu=labels.get("vgpu", ""),
        exported=_pod_name(labels, "exported_"),
        plain=_pod_name(labels, ""),
    )


def _pod_name(labels: Mapping[str, str], prefix: str) -> PodName | None:
    for namespace, pod in (("namespace", "pod"), ("pod_namespace", "pod_name")):
        if labels.get(f"{prefix}{pod}"):
            uid = labels.get(f"{prefix}pod_uid") or labels.get("pod_uid", "")
            return PodName(
                labels.get(f"{prefix}{namespace}", ""), labels[f"{prefix}{pod}"], uid
            )
    return None


def normal_model(name: str) -> str:
    """One spelling of a GPU model: dashes, without sharing and MIG suffixes (trap T8)."""
    return _SUFFIX.sub("", "-".join(name.split()))


def workload_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """kube-state's own labels, also where it was scraped with honor_labels=false.

    `exported_x` wins over the target's `x`; `job` and `instance` stay the scraper's.
    """
    found = {k: v for k, v in labels.items() if not k.startswith("exported_")}
    for key, value in labels.items():
        if key.startswith("exported_"):
            found[key.removeprefix("exported_")] = value
    return found


_LIFECYCLE = (  # label, value (casefolded; "" is any) -> lifecycle; semantics of each cloud
    ("label_karpenter_sh_capacity_type", "spot", "spot"),
    ("label_karpenter_sh_capacity_type", "on-demand", "on-demand"),
    ("label_karpenter_sh_capacity_type", "reserved", "reserved"),
    ("label_eks_amazonaws_com_capacitytype", "spot", "spot"),
    ("label_eks_amazonaws_com_capacitytype", "on_demand", "on-demand"),
    ("label_eks_amazonaws_com_capacitytype", "capacity_block", "reserved"),
    ("label_cloud_google_com_gke_spot", "true", "spot"),
    ("label_cloud_google_com_gke_preemptible", "true", "spot"),
    ("label_kubernetes_azure_com_scalesetpriority", "spot", "spot"),
    ("label_machine_openshift_io_interruptible_instance", "", "spot"),
)


def lifecycle_of(labels: Mapping[str, str]) -> str:
    """spot, on-demand, reserved or unknown, by the spellings of the clouds (trap T8c)."""
    folded = {key.casefold(): value.casefold() for key, value in labels.items()}
    for label, value, lifecycle in _LIFECYCLE:
        if label in folded and (not value or folded[label] == value):
            return lifecycle
    return "unknown"


def sanitised_label(key: str) -> str:
    """A Kubernetes label key as kube-state spells it: `label_` and odd characters as `_`."""
    return "label_" + re.sub(r"[^a-zA-Z0-9_]", "_", key)
