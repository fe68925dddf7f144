"""What a replayed pod requests, and the pod itself."""

from dataclasses import dataclass

MILLI = 1000  # thousandths of one GPU


@dataclass(frozen=True, slots=True, order=True)
class ReplayRequest:
    """CPU, GPUs and GPU models that a pod requests (scheduling.md S34).

    Attributes:
        cpu_milli: thousandths of a CPU.
        gpus: how many GPUs; 0 for none.
        gpu_milli: thousandths of each of these GPUs; below 1,000 only of one GPU.
        models: GPU models that it accepts, sorted; empty for any.

    Raises:
        ValueError: if a number is out of range.
    """

    cpu_milli: int
    gpus: int
    gpu_milli: int = MILLI
    models: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.cpu_milli < 0 or self.gpus < 0:
            raise ValueError(f"a request cannot be negative: {self}")
        if self.gpus and not 0 < self.gpu_milli <= MILLI:
            raise ValueError(f"a share of a GPU is 1 to 1,000 thousandths: {self}")
        if self.gpus > 1 and self.gpu_milli != MILLI:
            raise ValueError(f"several GPUs are requested as whole GPUs: {self}")

    @property
    def total_milli(self) -> int:
        """Thousandths of GPUs in total; 0 without GPUs."""
        return self.gpus * self.gpu_milli

    @property
    def is_fraction(self) -> bool:
        """True for a part of one GPU."""
        return self.gpus == 1 and self.gpu_milli < MILLI

    @property
    def size(self) -> int:
        """The size class: 0 for a part of a GPU, else the number of GPUs."""
        return 0 if self.is_fraction else self.gpus


@dataclass(frozen=True, slots=True)
class ReplayPod:
    """A pod of a trace: its name and its request."""

    name: str
    request: ReplayRequest
