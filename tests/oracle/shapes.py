"""Shapes of nodes in random fleets: whole GPUs, MIG in both strategies, shared GPUs.

A shape says what a node tells of itself (capacity, labels), into which places its GPUs are
divided at a time, and how its exporter names the pods on them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hypothesis import strategies as st

A100, A30 = "NVIDIA A100-SXM4-80GB", "NVIDIA A30"
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
        kind: whole, mixed, single or shared.
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

    def layout(self, at: float) -> tuple[str, ...]:
        """The profiles of each GPU; none where it is whole."""
        if not self.layouts:
            return ()
        is_turned = self.turn is not None and at >= self.turn
        return self.layouts[-1 if is_turned else 0]

    @property
    def resources(self) -> tuple[str, ...]:
        """What pods can ask for."""
        if self.kind == "mixed":
            profiles = sorted({p for layout in self.layouts for p in layout})
            return tuple(f"nvidia_com_mig_{p.replace('.', '_')}" for p in profiles)
        return ("nvidia_com_gpu_shared",) if self.is_renamed else ("nvidia_com_gpu",)

    def capacity(self, gpus: int, at: float) -> dict[str, int]:
        """Units by resource."""
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
        if self.kind == "whole":
            return {}
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
                yield from ((gpu, n) for n in range(self.replicas))
                continue
            for n, profile in enumerate(self.layout(at)):
                name = f"nvidia_com_mig_{profile.replace('.', '_')}"
                is_same = self.kind == "single" and profile == self.layout(bound)[0]
                if is_same or name == resource:
                    yield gpu, n


WHOLE_GPUS = Shape()


@st.composite
def shapes(draw: st.DrawFn, length: int) -> Shape:
    """A shape of a node."""
    kind = draw(
        st.sampled_from(["mixed", "mixed", "single", "shared", "shared", "whole"])
    )
    if kind == "whole":
        return WHOLE_GPUS
    model = draw(st.sampled_from([A100, A100, A30]))
    if kind == "shared":
        namings = ["arbitrary", "copies", "vgpu", "vgpu", "process", "zeros"]
        return Shape(
            kind,
            model,
            replicas=draw(st.integers(2, 4)),
            naming=draw(st.sampled_from(namings)),
            is_renamed=draw(st.booleans()),
            strategy=draw(st.sampled_from(["time-slicing", "mps"])),
        )
    known = LAYOUTS[model]
    if kind == "single":
        known = tuple(layout for layout in known if len(set(layout)) == 1)
    first, then = draw(st.sampled_from(known)), draw(st.sampled_from(known))
    turn = draw(st.one_of(st.none(), st.integers(60, length)))
    return Shape(
        kind,
        model,
        layouts=(first,) if turn is None or first == then else (first, then),
        turn=turn,
        has_device_row=draw(st.sampled_from([False, False, True])),
    )
