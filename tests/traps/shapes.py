"""Nodes whose GPUs are divided, as their labels and exporters show it."""

from collections.abc import Mapping, Sequence

from tests.traps.scene import PRODUCT, Scene


def mig_node(
    told: Scene,
    units: Mapping[str, int],
    name: str = "n1",
    product: str = PRODUCT,
    count: int = 1,
    at: Sequence[float] | None = None,
) -> None:
    """A node with the mixed strategy: each profile is a resource of its own."""
    capacity = {f"nvidia_com_mig_{_odd(p)}": n for p, n in units.items()}
    labels = {"gpu_count": count, "mig_strategy": "mixed"}
    told.node(name, capacity, labels, product, at)


def _odd(profile: str) -> str:
    return profile.replace(".", "_").replace("+", "_")


def part(profile: str, number: int) -> dict[str, str]:
    """The labels of an instance."""
    return {"GPU_I_PROFILE": profile, "GPU_I_ID": str(number)}


def shared_node(
    told: Scene,
    gpus: int,
    replicas: int,
    name: str = "n1",
    strategy: str = "time-slicing",
    capacity: Mapping[str, int] | None = None,
    product: str = f"{PRODUCT}-SHARED",
) -> None:
    """A node whose GPUs are handed out several times."""
    labels = {
        "gpu_count": gpus,
        "gpu_replicas": replicas,
        "gpu_sharing_strategy": strategy,
    }
    units = capacity or {"nvidia_com_gpu": gpus * replicas}
    told.node(name, units, labels, product)
