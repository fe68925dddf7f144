"""What units and instances stand for (rules.md "Units" and rules.md "MIG").

The oracle's own small table: profiles with one compute instance, `nvidia.com/gpu` in its
three meanings, renamed shares, partitions of AMD cards.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from tests.oracle.samples import PARTITIONS

AMD = "amd_com_gpu"
WHOLE_UNITS = ("nvidia_com_gpu", "nvidia_com_gpu_shared")
RESOURCES = ("nvidia_com_", "amd_com_")
_MIG = "nvidia_com_mig_"
_LABEL = "label_nvidia_com_"


@dataclass(frozen=True)
class Said:
    """What is known of a node: units by resource, its labels, what its exporter shows."""

    capacity: Mapping[str, int] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    divided: str = ""  # how its AMD cards are divided, by their exporter

    def label(self, name: str) -> str:
        """A label of NVIDIA's, or empty."""
        return self.labels.get(_LABEL + name, "")

    def number(self, name: str) -> int:
        """A label that is a number, else 0."""
        text = self.label(name)
        return int(text) if text.isdecimal() else 0

    @property
    def replicas(self) -> int:
        """How often a GPU is handed out; a written total is divided by the GPUs."""
        written, count = self.number("gpu_replicas") or 1, self.number("gpu_count")
        is_total = written > 1 and written in self.capacity.values()
        if is_total and count and written % count == 0:
            return written // count
        return written

    @property
    def profile(self) -> str:
        """What `nvidia.com/gpu` stands for under the single strategy, else empty."""
        if self.label("mig_strategy") != "single":
            return ""
        return self.label("gpu_product").partition("-MIG-")[2]

    @property
    def amd(self) -> str:
        """How its AMD cards are divided: by its label, else by its exporter."""
        label = self.labels.get("label_amd_com_compute_memory_partition", "")
        kind = label.partition("_")[0] or self.divided
        return kind if PARTITIONS.get(kind, 1) > 1 else ""

    @property
    def slices(self) -> int:
        """Compute slices of one of its GPUs."""
        return slices_of(self.label("gpu_product"))


def slices_of(model: str) -> int:
    """7, or 4 on A30 and RTX PRO 6000."""
    return 4 if re.search(r"A30(?!\d)|RTX.PRO.6000", model) else 7


def part_share(profile: str, slices: int) -> Fraction:
    """An instance's share of its GPU, or an AMD partition's of its card."""
    if profile in PARTITIONS:
        return Fraction(1, PARTITIONS[profile])
    return Fraction(int(profile.partition("g.")[0]), slices)


def kind_of(resource: str, said: Said) -> str:
    """ "" for whole GPUs and replicas, else the profile (N18)."""
    if resource == AMD:
        return said.amd
    if resource in WHOLE_UNITS:
        return said.profile
    return resource.removeprefix(_MIG).replace("_", ".")


def unit_share(resource: str, said: Said) -> Fraction:
    """One unit's share of a GPU."""
    profile = kind_of(resource, said)
    if resource.startswith(_MIG) or (resource == AMD and profile):
        return part_share(profile, said.slices)
    whole = part_share(profile, said.slices) if profile else Fraction(1)
    return whole / said.replicas


def gpus_of(said: Said) -> int:
    """How many GPUs a node's capacity stands for."""
    if said.label("mig_strategy") == "mixed" and said.number("gpu_count"):
        return said.number("gpu_count")
    is_divided = said.label("mig_strategy") in {"", "mixed"}
    is_whole = not is_divided and bool(said.capacity.get("nvidia_com_gpu"))
    return sum(
        -(-units // int(1 / unit_share(resource, said)))
        for resource, units in said.capacity.items()
        if not (is_whole and resource.startswith(_MIG))
    )


def spelled(resource: str) -> str:
    """Kubernetes' spelling (N35)."""
    if resource.startswith(_MIG):
        return "nvidia.com/mig-" + resource.removeprefix(_MIG).replace("_", ".")
    return {
        AMD: "amd.com/gpu",
        "nvidia_com_gpu": "nvidia.com/gpu",
        "nvidia_com_gpu_shared": "nvidia.com/gpu.shared",
    }[resource]
