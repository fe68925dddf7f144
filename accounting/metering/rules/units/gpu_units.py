"""What one integer of an extended resource represents on its node (rules.md "Units").

A unit is a whole GPU, a replica of one, an instance of a partitioned one or a replica of
an instance. Shares are exact fractions of one GPU. Sources: NVIDIA device plugin and GPU feature
discovery, GKE's and AMD's node labels, HAMi's resources.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from accounting.metering.rules.units.mig_profiles import known_name, normal, shape_of

WHOLE = ""  # the kind of a GPU that is not partitioned, and of its replicas
_LABEL = "label_nvidia_com_"
_GKE = "label_cloud_google_com_gke_"
# labels with the cloud's name of a GPU or machine, used if no label names the model
_MACHINE = (
    "label_karpenter_k8s_aws_instance_gpu_name",
    "label_eks_amazonaws_com_instance_gpu_name",
    "label_node_kubernetes_io_instance_type",
)
_AMD_PARTITIONS = {
    "spx": 1,
    "dpx": 2,
    "tpx": 3,
    "qpx": 4,
    "cpx": 8,
}  # MI300X, MI325X, MI355X
_AMD_CPX = {"mi300a": 6, "mi308x": 4}  # as many as it has compute dies
# In addition to a node's labels: partitioning by samples, if no label shows it (`partition`).
SAMPLED_PARTITION, SAMPLED_MODEL = "sampled_partition", "sampled_model"
SAMPLED_CARDS = "sampled_cards"  # of a node of HAMi: how many UUIDs (`divided_nodes`)
DIVIDED = "sampled_parts"  # a pod on the node requested a part of each of its GPUs
HAMI_NODE = ("label_gpu", "on")  # the label without which HAMi ignores a node


@dataclass(frozen=True, slots=True)
class GpuUnit:
    """One unit of a resource on a node.

    Attributes:
        kind: "" for a whole GPU or a replica of one; else the profile of an instance.
        share: of one GPU; the compute share.
        memory: of one GPU's memory.
        replicas: the number of units of one GPU (or instance).
    """

    kind: str
    share: Fraction
    memory: Fraction
    replicas: int = 1

    @property
    def is_shared(self) -> bool:
        """True if several units represent one GPU or instance (N17)."""
        return self.replicas > 1


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """Capacity and labels of a node at one time.

    Attributes:
        capacity: units by resource, in Kubernetes' spelling; GPU resources only.
        labels: kube-state's `label_*` keys.
    """

    capacity: Mapping[str, int] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def product(self) -> str:
        """The model in the node's labels, or empty."""
        return (
            self.labels.get(f"{_LABEL}gpu_product")
            or self.labels.get(f"{_GKE}accelerator")
            or self.labels.get("label_amd_com_gpu_product_name", "").replace("_", "-")
        )

    @property
    def likely_model(self) -> str:
        """The name of a GPU whose model neither labels nor samples name: so it can have a price.

        The cloud's name of the GPU or the machine, else the name of its resource.
        """
        named = (label for key in _MACHINE if (label := self.labels.get(key)))
        units = (name for name, count in sorted(self.capacity.items()) if count)
        return next(named, "") or next(units, "")

    def number(self, name: str) -> int:
        """An integer label of GPU feature discovery; 0 if missing or not a number."""
        return number_in(self.labels.get(f"{_LABEL}{name}", ""))

    @property
    def is_mixed(self) -> bool:
        """True if each MIG profile is a separate resource."""
        return self.labels.get(f"{_LABEL}mig_strategy") == "mixed"

    @property
    def replicas(self) -> int:
        """Units per GPU (or MIG device) under sharing; 1 without sharing.

        `gpu.replicas` of 0 or absent is 1. Some versions write the multiplied total: if it
        equals the capacity and `gpu.count` divides it, the factor is their quotient. GKE has a
        separate label; a node of HAMi shows only the multiplied capacity, and its cards are those
        of GPU feature discovery or those that are sampled.
        """
        clients = number_in(self.labels.get(f"{_GKE}max_shared_clients_per_gpu", ""))
        written = self.number("gpu_replicas") or clients or 1
        count = self.number("gpu_count")
        is_total = written > 1 and written in self.capacity.values()
        if count and is_total and written % count == 0:
            return written // count
        cards = number_in(self.labels.get(SAMPLED_CARDS, ""))
        is_hami = cards or self.labels.get(HAMI_NODE[0]) == HAMI_NODE[1]
        if written == 1 and is_hami and (count := count or cards):
            units = self.capacity.get("nvidia.com/gpu", 0)
            return units // count if units and units % count == 0 else 1
        return written

    def replicas_of(self, resource: str, kind: str) -> int:
        """Units per MIG instance; the resource may keep its name under sharing.

        By the label of the profile under the mixed strategy, else that of the node. A written total
        is the factor times the instances, as for `replicas`.
        """
        is_renamed = resource.endswith(".shared")
        is_other_renamed = self.capacity.get(f"{resource}.shared", 0) > 0
        odd = re.sub(r"[^a-z0-9]", "_", kind)
        written = self.number(f"mig_{odd}_replicas") if self.is_mixed else 0
        if not is_renamed and (is_other_renamed or not self.capacity.get(resource)):
            return 1
        count = self.number(f"mig_{odd}_count")
        if count and written == self.capacity.get(resource) and written % count == 0:
            return written // count
        return written or (self.replicas if is_renamed else 1)

    @property
    def present(self) -> Mapping[str, int]:
        """The capacity without instances that no strategy offers: left over (trap T32)."""
        strategy = self.labels.get(f"{_LABEL}mig_strategy", "mixed")
        if strategy == "mixed" or not self.capacity.get("nvidia.com/gpu"):
            return self.capacity
        return {r: n for r, n in self.capacity.items() if "/mig-" not in r}

    @property
    def single_profile(self) -> str:
        """The MIG profile that `nvidia.com/gpu` represents, or empty."""
        if self.labels.get(f"{_LABEL}mig_strategy") == "single":
            _, marker, profile = self.product.partition("-MIG-")
            return normal(profile.removesuffix("-SHARED")) if marker else ""
        return normal(self.labels.get(f"{_GKE}gpu_partition_size", ""))

    @property
    def amd_partition(self) -> str:
        """How the AMD GPUs of this node are partitioned: dpx, qpx or cpx; empty if undivided.

        By the node's label, else by the samples of its GPUs.
        """
        names = (
            "label_amd_com_compute_memory_partition",
            "label_amd_com_compute_partition",
            SAMPLED_PARTITION,
        )
        text = next((self.labels[name] for name in names if self.labels.get(name)), "")
        kind = text.casefold().partition("_")[0]
        return kind if _AMD_PARTITIONS.get(kind, 1) > 1 else WHOLE


def unit_of(
    resource: str, facts: NodeFacts, added: Mapping[str, Fraction] | None = None
) -> GpuUnit | None:
    """What one unit of a resource is on such a node.

    Args:
        resource: Kubernetes' spelling.
        facts: of the node.
        added: share of one unit of each resource that an administrator added.

    Returns:
        None for a profile that is not valid or larger than a GPU: nothing is booked for it.
    """
    if added and resource in added:
        return GpuUnit(WHOLE, added[resource], added[resource])
    if "/mig-" in resource:
        name = resource.partition("/mig-")[2]
        kind = normal(name.removesuffix(".shared"))
        return _part(kind, facts, facts.replicas_of(resource, kind))
    if resource.startswith("nvidia.com/gpu"):
        return _part(facts.single_profile, facts, facts.replicas)
    if resource.startswith("amd.com/"):
        name = resource.removeprefix("amd.com/").partition("_")[0]
        kind = name if name in _AMD_PARTITIONS else facts.amd_partition
        return _part(WHOLE if kind == "spx" else kind, facts, 1)
    return GpuUnit(WHOLE, Fraction(1), Fraction(1))


def _part(kind: str, facts: NodeFacts, replicas: int) -> GpuUnit | None:
    model = facts.product or facts.labels.get(SAMPLED_MODEL, "")
    found = share_of(kind, model)
    if found is None:
        return None
    compute, memory = found
    return GpuUnit(
        known_name(kind, model), compute / replicas, memory / replicas, replicas
    )


def share_of(kind: str, model: str) -> tuple[Fraction, Fraction] | None:
    """Compute and memory share of a part of a GPU; None if it is not possible."""
    if kind == WHOLE:
        return Fraction(1), Fraction(1)
    if kind in _AMD_PARTITIONS:
        die = next((n for name, n in _AMD_CPX.items() if name in model.casefold()), 0)
        part = Fraction(1, (kind == "cpx" and die) or _AMD_PARTITIONS[kind])
        return part, part
    shape = shape_of(kind, model)
    return None if shape is None else (shape.compute, shape.memory)


def parts_of(kind: str) -> int:
    """The number of parts of an AMD partitioning mode; 1 for any other kind."""
    return _AMD_PARTITIONS.get(kind, 1)


def is_partition(kind: str) -> bool:
    """True for an AMD partition, which is not a MIG instance."""
    return kind in _AMD_PARTITIONS


def gpu_count(facts: NodeFacts, added: Mapping[str, Fraction] | None = None) -> int:
    """Physical GPUs that a node's capacity represents (rules.md "Units").

    `gpu.count` under the mixed strategy; else the sum over resources of units divided by units per
    GPU, rounded up.
    """
    if facts.is_mixed and facts.number("gpu_count"):
        return facts.number("gpu_count")
    total = 0
    for resource, units in facts.present.items():
        unit = unit_of(resource, facts, added)
        if unit is not None:
            on_one = int(1 / (unit.share * unit.replicas))  # 3g of 7 fits twice
            total += -(-units // (max(1, on_one) * unit.replicas))
    return total


def part_of(instance: str) -> int:
    """The ledger's instance number of a GPU_I_ID label; -1 for the whole GPU."""
    return int(instance) if instance.isdecimal() and len(instance) < 5 else -1


def number_in(text: str) -> int:
    """A label or annotation that is a number of at most nine digits; else 0."""
    return int(text) if text.isdecimal() and len(text) < 10 else 0
