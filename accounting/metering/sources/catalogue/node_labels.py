"""The GPU model and the lifecycle of a node, from its labels."""

from collections.abc import Mapping, Sequence

from accounting.metering.rules.inventory.label_names import label_name

SPOT, ON_DEMAND, RESERVED, UNKNOWN = "spot", "on-demand", "reserved", "unknown"
# Label, value (casefolded; "" is any), lifecycle. GKE and AKS label the nodes of spot pools; other
# AKS nodes have no such label, and neither have nodes whose labels kube-state may not show.
CLOUDS: Sequence[tuple[str, str, str]] = (
    ("karpenter.sh/capacity-type", "spot", SPOT),
    ("karpenter.sh/capacity-type", "on-demand", ON_DEMAND),
    ("karpenter.sh/capacity-type", "reserved", RESERVED),
    ("eks.amazonaws.com/capacityType", "spot", SPOT),
    ("eks.amazonaws.com/capacityType", "on_demand", ON_DEMAND),
    ("eks.amazonaws.com/capacityType", "capacity_block", RESERVED),
    ("cloud.google.com/gke-spot", "true", SPOT),
    ("cloud.google.com/gke-preemptible", "true", SPOT),
    ("cloud.google.com/reservation-name", "", RESERVED),
    ("cloud.google.com/gke-provisioning", "spot", SPOT),
    ("cloud.google.com/gke-provisioning", "preemptible", SPOT),
    ("cloud.google.com/gke-provisioning", "standard", ON_DEMAND),
    ("kubernetes.azure.com/scalesetpriority", "spot", SPOT),
    ("kubernetes.azure.com/scalesetpriority", "regular", ON_DEMAND),
    ("machine.openshift.io/interruptible-instance", "", SPOT),
)
_OF_CLOUDS = tuple((label_name(key), value, kind) for key, value, kind in CLOUDS)
_OWN_WORDS = {  # values of a label from the setup file, casefolded, `_` as `-`
    "spot": SPOT,
    "ec2spot": SPOT,
    "preemptible": SPOT,
    "on-demand": ON_DEMAND,
    "ondemand": ON_DEMAND,
    "normal": ON_DEMAND,
    "regular": ON_DEMAND,
    "standard": ON_DEMAND,
    "reserved": RESERVED,
    "capacity-block": RESERVED,
}


def lifecycle_of(labels: Mapping[str, str], own: Sequence[str] = ()) -> str:
    """spot, on-demand, reserved or unknown (trap T8c).

    Args:
        labels: of the node, as `kube_label.object_labels` gives them.
        own: names of labels from the setup file, in order; they have precedence over the clouds'.
    """
    for key in own:
        value = labels.get(label_name(key), "").casefold().replace("_", "-")
        if value in _OWN_WORDS:
            return _OWN_WORDS[value]
    for label, value, lifecycle in _OF_CLOUDS:
        if label in labels and (not value or labels[label].casefold() == value):
            return lifecycle
    return UNKNOWN
