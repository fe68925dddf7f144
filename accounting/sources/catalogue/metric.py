"""What a metric name means, as the tables of the exporters say it."""

from collections.abc import Mapping
from dataclasses import dataclass

MEBIBYTE = 1_048_576.0
BLANK = 140_737_488_355_328.0  # DCGM's blank of a double; those of 64 bits are above it
BLANK_32 = 2_147_483_632.0  # of 32 bits; no power is that high
SCALES = {"ratio": 1.0, "percent": 0.01}
PRESENCE = "gpu_other"  # proves that a GPU is there (rules.md N14), and nothing else


@dataclass(frozen=True, slots=True)
class Metric:
    """What a name means.

    Attributes:
        id: canonical; `gpu_other` for a name that is known and not summed.
        scale: what turns its value into our unit.
        blank: from this value on, as written, the driver says "none"; for utilization N8 decides.
        unit: of the source, in words.
        versions: of the exporter that show it, in words.
        note: what else must be known of it.
    """

    id: str
    scale: float = 1.0
    blank: float | None = None
    unit: str = ""
    versions: str = ""
    note: str = ""

    @property
    def is_used(self) -> bool:
        """False where a sample only proves presence."""
        return self.id != PRESENCE


Table = Mapping[str, Metric]
