"""What one integer of an extended resource stands for on its node.

kube-state writes resource names with every odd character as `_`; Kubernetes' own spelling
is what reports, quotas and bills use. Shares are exact fractions (compute share).
Sources: kube-state-metrics `internal/store/utils.go` (sanitising), NVIDIA device plugin and
GPU feature discovery (labels), NVIDIA MIG user guide (slices).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

_EXACT = {
    "nvidia_com_gpu": "nvidia.com/gpu",
    "nvidia_com_gpu_shared": "nvidia.com/gpu.shared",
    "amd_com_gpu": "amd.com/gpu",
    "habana_ai_gaudi": "habana.ai/gaudi",
    "gpu_intel_com_i915": "gpu.intel.com/i915",
    "gpu_intel_com_xe": "gpu.intel.com/xe",
}
_MIG = re.compile(
    r"nvidia_com_mig_(?:(?P<ci>\d+)c_)?(?P<gi>\d+)g_(?P<gb>\d+)gb"
    r"(?P<me>_me)?(?P<shared>_shared)?"
)
_PROFILE = re.compile(r"(?:(?P<ci>\d+)c\.)?(?P<gi>\d+)g\.(?P<gb>\d+)gb")
_FOUR_SLICE_MODELS = ("A30", "RTX-PRO-6000")  # NVIDIA MIG user guide
_LABEL = "label_nvidia_com_"


def kubernetes_resource(sanitised: str) -> str | None:
    """Kubernetes' spelling of a GPU resource as kube-state writes it; None for others."""
    if sanitised in _EXACT:
        return _EXACT[sanitised]
    found = _MIG.fullmatch(sanitised)
    if found is None:
        return None
    compute = f"{found['ci']}c." if found["ci"] else ""
    media = ".me" if found["me"] else ""
    shared = ".shared" if found["shared"] else ""
    return f"nvidia.com/mig-{compute}{found['gi']}g.{found['gb']}gb{media}{shared}"


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What a node said of itself at one time.

    Attributes:
        capacity: units by resource, in Kubernetes' spelling; GPU resources only.
        labels: kube-state's `label_*` keys.
    """

    capacity: Mapping[str, int] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def product(self) -> str:
        """`nvidia.com/gpu.product`, or the accelerator label of GKE, or empty."""
        return self.labels.get(f"{_LABEL}gpu_product") or self.labels.get(
            "label_cloud_google_com_gke_accelerator", ""
        )

    def number(self, name: str) -> int:
        """An integer label of GPU feature discovery; 0 where absent or not a number."""
        text = self.labels.get(f"{_LABEL}{name}", "")
        return int(text) if text.isdigit() else 0

    @property
    def replicas(self) -> int:
        """Units per GPU (or MIG device) under sharing; 1 where nothing is shared.

        `gpu.replicas` of 0 or absent is 1. Some versions write the multiplied total: if it
        equals the capacity and `gpu.count` divides it, the factor is their quotient.
        """
        written = self.number("gpu_replicas") or 1
        count = self.number("gpu_count")
        is_total = written > 1 and written in self.capacity.values()
        if count and is_total and written % count == 0:
            return written // count
        return written

    @property
    def single_profile(self) -> str:
        """The MIG profile that `nvidia.com/gpu` stands for (single strategy), or empty."""
        if self.labels.get(f"{_LABEL}mig_strategy") != "single":
            return ""
        _, marker, profile = self.product.partition("-MIG-")
        return profile if marker else ""

    @property
    def total_slices(self) -> int:
        """Compute slices of one GPU of this node: 7, or 4 on A30 and RTX PRO 6000."""
        return 4 if any(name in self.product for name in _FOUR_SLICE_MODELS) else 7


def unit_share(resource: str, facts: NodeFacts) -> Fraction:
    """The fraction of one GPU that one unit of `resource` stands for on such a node."""
    slices = _profile_share(resource.partition("/mig-")[2], facts)
    if slices is not None:
        return slices / (facts.replicas if resource.endswith(".shared") else 1)
    if resource.startswith("nvidia.com/gpu"):
        whole = _profile_share(facts.single_profile, facts) or Fraction(1)
        return whole / facts.replicas
    return Fraction(1)


def _profile_share(profile: str, facts: NodeFacts) -> Fraction | None:
    found = _PROFILE.match(profile)
    if found is None:
        return None
    return Fraction(int(found["ci"] or found["gi"]), facts.total_slices)


def gpu_count(facts: NodeFacts) -> int:
    """Physical GPUs that a node's capacity stands for (rules.md, fine print "units").

    `gpu.count` under the mixed strategy; else the sum over resources of units per GPU,
    rounded up.
    """
    if facts.labels.get(f"{_LABEL}mig_strategy") == "mixed" and facts.number(
        "gpu_count"
    ):
        return facts.number("gpu_count")
    total = 0
    for resource, units in facts.capacity.items():
        share = unit_share(resource, facts)
        per_gpu = max(1, int(1 / share))  # rounded down: 3g of 7 fits twice
        total += -(-units // per_gpu)
    return total


def part_of(instance: str) -> int:
    """The ledger's instance number of a GPU_I_ID label; -1 for the whole GPU."""
    return int(instance) if instance.isdigit() else -1
