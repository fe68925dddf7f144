"""The meaning of a metric name, as in the tables of the exporters."""

from collections.abc import Mapping
from dataclasses import dataclass

MEBIBYTE = 1_048_576.0
# DCGM's blank value of a double; those of 64 bits are larger
BLANK = 140_737_488_355_328.0
BLANK_32 = 2_147_483_632.0  # blank value of 32 bits; no power is that high
SCALES = {"ratio": 1.0, "percent": 0.01}
PRESENCE = "gpu_other"  # only proves that a GPU is present (rules.md N14)


@dataclass(frozen=True, slots=True)
class Metric:
    """The meaning of a name.

    Attributes:
        id: canonical; `gpu_other` for a known name that is not summed.
        scale: the conversion into our unit.
        blank: raw values from this one on mean "no data"; for utilization see N8.
        unit: of the source, as text.
        versions: of the exporter that report it, as text.
        note: further information.
    """

    id: str
    scale: float = 1.0
    blank: float | None = None
    unit: str = ""
    versions: str = ""
    note: str = ""

    @property
    def is_used(self) -> bool:
        """False if a sample only proves presence."""
        return self.id != PRESENCE


Table = Mapping[str, Metric]
