"""How the GPUs of a node are divided into units: whole, MIG instances, time-sliced replicas.

Labels and resource names as NVIDIA's device plugin and GPU feature discovery write them;
profiles and instance numbers as `nvidia-smi mig -lgip` prints them.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from portal.demo.scenario.hardware import GpuModel

SLICES = 7  # compute slices of an A100 or H100


@dataclass(frozen=True, slots=True)
class PartitionUnit:
    """A unit that one pod can hold: a GPU or a part of one.

    Attributes:
        slot: of the GPU in the node.
        number: GPU_I_ID of an instance, `vgpu` of a replica; -1 for a whole GPU.
        profile: of an instance; else empty.
        share: of the GPU's compute.
    """

    slot: int
    number: int = -1
    profile: str = ""
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class PartitionLayout:
    """A way to divide GPUs.

    Attributes:
        suffix: of the pool's name, after the model.
        geometries: instances of a GPU as (GPU_I_ID, profile); GPUs use them in turn.
        strategy: `nvidia.com/mig.strategy`.
        replicas: pods that share a GPU.
    """

    suffix: str = ""
    geometries: tuple[tuple[tuple[int, str], ...], ...] = ()
    strategy: str = "none"
    replicas: int = 1

    def units(self, gpus: int) -> Iterator[PartitionUnit]:
        """The units of a node, GPU by GPU."""
        for slot in range(gpus):
            if self.geometries:
                for number, profile in self.geometries[slot % len(self.geometries)]:
                    slices = int(profile.partition("g")[0])
                    yield PartitionUnit(slot, number, profile, slices / SLICES)
            elif self.replicas > 1:
                for number in range(self.replicas):
                    yield PartitionUnit(slot, number, share=1 / self.replicas)
            else:
                yield PartitionUnit(slot)

    def resource(self, unit: PartitionUnit, model: GpuModel) -> str:
        """The resource that a pod requests for a unit, in Kubernetes' spelling."""
        if model.is_amd:
            return "amd.com/gpu"
        if unit.profile and self.strategy == "mixed":
            return f"nvidia.com/mig-{unit.profile}"
        return "nvidia.com/gpu"

    def capacity(self, gpus: int, model: GpuModel) -> Mapping[str, int]:
        """Units of a node by resource."""
        return Counter(self.resource(unit, model) for unit in self.units(gpus))

    def labels(self, gpus: int, model: GpuModel) -> dict[str, str]:
        """Labels that GPU feature discovery, or AMD's node labeller, writes on a node."""
        product = "-".join(model.name.split())
        if model.is_amd:
            return {"amd.com/gpu.product-name": model.name.replace(" ", "_")}
        count = gpus
        if self.strategy == "single":
            units = list(self.units(gpus))
            product, count = f"{product}-MIG-{units[0].profile}", len(units)
        elif self.replicas > 1:
            product = f"{product}-SHARED"
        return {
            "nvidia.com/gpu.product": product,
            "nvidia.com/gpu.count": str(count),
            "nvidia.com/gpu.memory": str(model.memory_mib),
            "nvidia.com/gpu.family": model.family,
            "nvidia.com/gpu.replicas": str(self.replicas),
            "nvidia.com/mig.strategy": self.strategy,
        }


WHOLE = PartitionLayout()
SHARED = PartitionLayout("-shared", replicas=4)
MIG_MIXED = PartitionLayout(
    "-mig",
    (
        tuple((number, "1g.10gb") for number in range(7, 14)),
        ((1, "3g.40gb"), (5, "2g.20gb"), (9, "1g.10gb")),  # one slice is unused
    ),
    "mixed",
)
MIG_SINGLE = PartitionLayout(
    "-mig", (tuple((number, "1g.5gb") for number in range(7, 14)),), "single"
)
