"""What a node's labels say: its GPU model in one spelling, its lifecycle."""

import re
from collections.abc import Mapping

_SUFFIX = re.compile(r"(-SHARED|-MIG-.*)+$")


def normal_model(name: str) -> str:
    """One spelling of a GPU model: dashes, without sharing and MIG suffixes (trap T8)."""
    return _SUFFIX.sub("", "-".join(name.split()))


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
