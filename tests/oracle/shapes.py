"""Shapes of nodes in random fleets: whole GPUs, MIG in both strategies, shared, AMD's.

A shape says what a node tells of itself (capacity, labels), into which places its GPUs are
divided at a time, and how its exporter names the pods on them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tests.oracle.dice import Dice, flag, number, pick
from tests.oracle.samples import PARTITIONS

A100, A30 = "NVIDIA A100-SXM4-80GB", "NVIDIA A30"
MI300X = "AMD Instinct MI300X OAM"
LAYOUTS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    A100: (
        ("1g.10gb",) * 7,
        ("3g.40gb", "3g.40gb"),
        ("1g.10gb", "1g.10gb", "2g.20gb", "3g.40gb"),
        ("2g.20gb", "2g.20gb", "2g.20gb"),
        ("1g.10gb", "1g.10gb", "1g.10gb"),
        ("7g.80gb",),
    ),
    A30: (("1g.6gb",) * 4, ("2g.12gb", "2g.12gb"), ("2g.12gb", "1g.6gb"), ("4g.24gb",)),
}


@dataclass(frozen=True)
class Shape:
    """How a node's GPUs are handed out.

    Attributes:
        kind: whole, mixed, single, shared or amd.
        layouts: of a divided GPU, the second from `turn` on.
        naming: of a shared GPU: arbitrary (one pod), copies, vgpu, process (a value of each
            pod beside the device's), zeros (the same without values).
    """

    kind: str = "whole"
    model: str = A100
    layouts: tuple[tuple[str, ...], ...] = ()
    turn: int | None = None
    replicas: int = 1
    naming: str = ""
    is_renamed: bool = False
    strategy: str = "time-slicing"
    has_device_row: bool = False  # a whole GPU's row stands beside its instances
    partition: str = ""  # of an AMD card
    has_labels: bool = True  # an AMD node says itself how its cards are divided

    def layout(self, at: float) -> tuple[str, ...]:
        """The profiles of each GPU; none where it is whole."""
        if not self.layouts:
            return ()
        is_turned = self.turn is not None and at >= self.turn
        return self.layouts[-1 if is_turned else 0]

    @property
    def resources(self) -> tuple[str, ...]:
        """What pods can ask for."""
        if self.kind == "amd":
            return ("amd_com_gpu",)
        if self.kind == "mixed":
            profiles = sorted({p for layout in self.layouts for p in layout})
            return tuple(f"nvidia_com_mig_{p.replace('.', '_')}" for p in profiles)
        return ("nvidia_com_gpu_shared",) if self.is_renamed else ("nvidia_com_gpu",)

    def capacity(self, gpus: int, at: float) -> dict[str, int]:
        """Units by resource."""
        if self.kind == "amd":
            return {"amd_com_gpu": gpus * PARTITIONS[self.partition]}
        if self.kind == "mixed":
            counts = dict.fromkeys(self.resources, 0)
            for profile in self.layout(at):
                counts[f"nvidia_com_mig_{profile.replace('.', '_')}"] += gpus
            return counts
        if self.kind == "single":
            return {"nvidia_com_gpu": gpus * len(self.layout(at))}
        if self.is_renamed:
            return {self.resources[0]: gpus * self.replicas, "nvidia_com_gpu": 0}
        return {"nvidia_com_gpu": gpus * self.replicas}

    def labels(self, gpus: int, at: float) -> dict[str, str]:
        """Labels of GPU feature discovery; none of a whole GPU's node."""
        if self.kind == "whole" or not self.has_labels:
            return {}
        if self.kind == "amd":
            return {
                "label_amd_com_gpu_product_name": self.model.replace(" ", "_"),
                "label_amd_com_compute_memory_partition": f"{self.partition}_nps1",
            }
        product, found = self.model.replace(" ", "-"), {}
        if self.kind == "shared":
            found = {"replicas": self.replicas, "sharing_strategy": self.strategy}
            product += "" if self.is_renamed else "-SHARED"
        count = gpus
        if self.kind == "single":
            product += f"-MIG-{self.layout(at)[0]}"
            count *= len(self.layout(at))
        found |= {"product": product, "count": count}
        names = {f"label_nvidia_com_gpu_{key}": str(v) for key, v in found.items()}
        if self.layouts:
            names["label_nvidia_com_mig_strategy"] = self.kind
        return names

    def places(
        self, gpus: int, resource: str, bound: float, at: float
    ) -> Iterator[tuple[int, int]]:
        """(GPU, place on it) that units bound at a time can stand for, in order."""
        for gpu in range(gpus):
            if not self.layouts:
                parts = PARTITIONS.get(self.partition, self.replicas)
                yield from ((gpu, n) for n in range(parts))
                continue
            for n, profile in enumerate(self.layout(at)):
                name = f"nvidia_com_mig_{profile.replace('.', '_')}"
                is_same = self.kind == "single" and profile == self.layout(bound)[0]
                if is_same or name == resource:
                    yield gpu, n


WHOLE_GPUS = Shape()


def amd_shape(dice: Dice) -> Shape:
    """AMD cards, divided or not; the node says how, or only its exporter does."""
    partition = pick(dice, ["spx", "dpx", "qpx", "cpx"])
    return Shape("amd", MI300X, partition=partition, has_labels=flag(dice))


def shape(dice: Dice, length: int) -> Shape:
    """A shape of a node."""
    kind = pick(dice, ["mixed", "mixed", "single", "shared", "shared", "whole"])
    if kind == "whole":
        return WHOLE_GPUS
    model = pick(dice, [A100, A100, A30])
    if kind == "shared":
        namings = ["arbitrary", "copies", "vgpu", "vgpu", "process", "zeros"]
        return Shape(
            kind,
            model,
            replicas=number(dice, 2, 4),
            naming=pick(dice, namings),
            is_renamed=flag(dice),
            strategy=pick(dice, ["time-slicing", "mps"]),
        )
    known = LAYOUTS[model]
    if kind == "single":
        known = tuple(layout for layout in known if len(set(layout)) == 1)
    first, then = pick(dice, known), pick(dice, known)
    turn = number(dice, 60, length) if flag(dice) else None
    return Shape(
        kind,
        model,
        layouts=(first,) if turn is None or first == then else (first, then),
        turn=turn,
        has_device_row=pick(dice, [False, False, True]),
    )
