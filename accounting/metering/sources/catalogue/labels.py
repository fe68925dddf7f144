"""Labels of all sources: the GPU, pod and scraper that they name.

Versions are distinguished by their labels, never by a version number: `UUID` or `uuid`,
`Hostname` or `hostname`, `pod` or `pod_name`.
"""

import re
from collections.abc import Iterable, Mapping

from accounting.metering.rules.samples.series import (
    TARGET_NODE,
    Claimed,
    GpuKey,
    PodName,
    ScraperIdentity,
)
from accounting.metering.rules.units.gpu_units import number_in, share_of
from accounting.metering.rules.units.mig_profiles import known_name
from accounting.metering.sources.catalogue.gpu_model_names import normal_model
from accounting.metering.sources.catalogue.others import AMD_DIVIDED
from accounting.metering.sources.catalogue.reserved import KUBE_NAMING_NODES

LONGEST_NAME = 300  # characters of a metric name
LONGEST_VALUE = 500  # characters of a label that is not in the table
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
    "pod_uuid": 64,
    "gpu_partition_id": 16,
    "gpu_compute_partition_type": 32,
    "gpu_id": 16,
    "card_model": 200,
    "card_series": 200,
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
    "serial": 200,
    "serial_number": 200,
}

NODE_LABELS = (
    "Hostname",
    "hostname",
    "exported_node",
    "node",
)  # rules.md N14
_UUID = ("UUID", "uuid", "gpu_uuid", "serial")
_MODEL = ("modelName", "model_name", "card_series", "card_model")
_AMD = ("card_model", "card_series", "serial_number", "gpu_compute_partition_type")
_UID = ("pod_uid", "pod_uuid")
_REPLICA = ("prometheus_replica", "replica", "__replica__", "prometheus")


def overlong_label(labels: Iterable[tuple[str, str]]) -> str | None:
    """The first label whose value is longer than a name of its kind can be."""
    for key, value in labels:
        if len(value) > SHORTEST_LIMIT and len(value) > _longest(key):
            return key
    return None


_NAMES = frozenset(  # labels that identify what a series belongs to
    {
        *("UUID", "uuid", "gpu_uuid", "serial", "serial_number", "GPU_I_ID", "vgpu"),
        *("GPU_I_PROFILE", "Hostname", "hostname", "node", "namespace", "pod", "uid"),
        *("pod_namespace", "pod_name", "pod_uid", "pod_uuid", "resource", "gpu_id"),
        *("owner_name", "owner_kind", "created_by_name", "created_by_kind"),
    }
)
# Characters in names of Kubernetes objects, nodes and GPUs. Not: control characters, line ends,
# marks of text direction, markup, formulas of spreadsheets, letters that imitate others.
_NAME = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9 ._:/+~#-]*)?")
_NOBODY = "<none>"  # kube-state's value for a pod without an owner


def odd_label(labels: Iterable[tuple[str, str]]) -> str | None:
    """The first name with characters that are not valid, and that can imitate another name."""
    for key, value in labels:
        is_name = key.removeprefix("exported_") in _NAMES
        if is_name and not _NAME.fullmatch(value) and value != _NOBODY:
            return key
    return None


def _longest(key: str) -> int:
    if key.startswith("label_"):
        return 63  # Kubernetes' own limit, as the following ones
    return LONGEST.get(key.removeprefix("exported_"), LONGEST_VALUE)


def scraper_of(labels: Mapping[str, str]) -> ScraperIdentity:
    """`job`, `instance` and the replica labels of a series."""
    replica = ",".join(f"{key}={labels[key]}" for key in _REPLICA if labels.get(key))
    return ScraperIdentity(labels.get("job", ""), labels.get("instance", ""), replica)


def node_of(labels: Mapping[str, str]) -> str:
    """The node that an exporter's labels name; "" if they name none."""
    return next((labels[key] for key in NODE_LABELS if labels.get(key)), "")


def gpu_key(labels: Mapping[str, str]) -> GpuKey | None:
    """The GPU that an exporter's labels name; None if they name none."""
    node = node_of(labels)
    uuid = _uuid(labels, node)
    if not uuid:
        return None
    partition, kind = amd_partition(labels)
    model, profile = _model(labels), labels.get("GPU_I_PROFILE", kind)
    return GpuKey(
        uuid=uuid,
        node=node,
        instance=labels.get("GPU_I_ID", partition),
        profile=known_name(profile, model) if profile else "",
        model=model,
        vgpu=labels.get("vgpu", ""),
        exported=_pod_name(labels, "exported_"),
        plain=_pod_name(labels, ""),
        claim=_claim(labels),
        names=_node_names(labels),
    )


def _node_names(labels: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Which labels name a node, and which, if they name different ones."""
    found = tuple((key, labels[key]) for key in NODE_LABELS if labels.get(key))
    return found if len({name for _, name in found}) > 1 else ()


def _uuid(labels: Mapping[str, str], node: str) -> str:
    """The identifier of a GPU: its UUID; for AMD the serial number, which partitions share.

    A guest may not see that number: its GPUs are identified by node and index. The exporter numbers
    partitions consecutively, so those of card 1 in CPX are 8 to 15; each has its own UUID.
    """
    is_amd = any(labels.get(key) for key in _AMD) and not labels.get("UUID")
    if not is_amd:
        return next((labels[key] for key in _UUID if labels.get(key)), "")
    part, kind = amd_partition(labels)
    number = labels.get("serial_number") or ("" if kind else labels.get("gpu_uuid"))
    if number:
        return number
    index = labels.get("gpu_id", "")
    share = share_of(kind, _model(labels)) if index.isdecimal() else None
    if share is not None:
        first = max(0, number_in(index) - number_in(part))
        index = str(first // share[0].denominator)
    return f"{node}/amd-{index}" if node and index else labels.get("gpu_uuid", "")


def _model(labels: Mapping[str, str]) -> str:
    return normal_model(next((labels[key] for key in _MODEL if labels.get(key)), ""))


def amd_partition(labels: Mapping[str, str]) -> tuple[str, str]:
    """Number and kind (`cpx`) of a part of a divided GPU; both empty for an undivided one."""
    kind = labels.get("gpu_compute_partition_type", "").casefold()
    if kind not in AMD_DIVIDED:
        return "", ""
    return labels.get("gpu_partition_id", ""), kind


def _claim(labels: Mapping[str, str]) -> Claimed | None:
    """The claim whose device a series names (dcgm-exporter, KUBERNETES_ENABLE_DRA)."""
    name = labels.get("dra_claim_name", "")
    if not name:
        return None
    rest = ("claim_namespace", "driver_name", "pool_name", "device_name")
    namespace, driver, pool, device = (labels.get(f"dra_{key}", "") for key in rest)
    return Claimed(namespace, name, driver, pool, device)


def _pod_name(labels: Mapping[str, str], prefix: str) -> PodName | None:
    for namespace, pod in (("namespace", "pod"), ("pod_namespace", "pod_name")):
        if labels.get(f"{prefix}{pod}"):
            spelled = (*(f"{prefix}{key}" for key in _UID), *_UID)
            uid = next((labels[key] for key in spelled if labels.get(key)), "")
            return PodName(
                labels.get(f"{prefix}{namespace}", ""), labels[f"{prefix}{pod}"], uid
            )
    return None


def workload_labels(name: str, labels: Mapping[str, str]) -> dict[str, str]:
    """kube-state's own labels of a metric, also if it was scraped with honor_labels=false.

    `exported_x` has precedence over the target's `x`; `job` and `instance` are the scraper's. A
    `node` that kube-state does not write is the target's, with either setting (trap T31).
    """
    found = {k: v for k, v in labels.items() if not k.startswith("exported_")}
    for key, value in labels.items():
        if key.startswith("exported_"):
            found[key.removeprefix("exported_")] = value
    if "node" in found and name not in KUBE_NAMING_NODES:
        found[TARGET_NODE] = found.pop("node")
    return found
