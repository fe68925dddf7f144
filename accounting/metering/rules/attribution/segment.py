"""A period of a node's time in which nothing changes: its parts, and their holders."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from accounting.core.interval import Interval
from accounting.metering.rules.units.geometry import GpuPart
from accounting.metering.rules.units.share_policy import Factors

_NOTHING = Fraction(0)


@dataclass(frozen=True, slots=True)
class UnassignedUnits:
    """The units of a hold for which no GPU is known."""

    uid: str
    weight: Fraction  # units x share


@dataclass(frozen=True, slots=True)
class Segment:
    """A period of a node's time in which nothing changes.

    Attributes:
        parts: GPUs, instances and placeholders that are present, with their share of the GPU.
        stranded: by GPU, the share that its instances leave unused.
        mapped: by part, the holds that its samples name: (uid, share of the GPU).
        pools: by kind of unit, the holds whose units have no GPU.
        is_seen: kube-state is seen.
        factors: by part, the factor from its compute share to the share of the policy, if the
            policy is not compute (`share_policy`).
    """

    period: Interval
    parts: Mapping[GpuPart, Fraction]
    stranded: Mapping[str, Fraction]
    mapped: Mapping[GpuPart, tuple[tuple[str, Fraction], ...]]
    pools: Mapping[str, tuple[UnassignedUnits, ...]]
    is_seen: bool
    factors: Factors = field(default_factory=dict)

    def rooms(self) -> dict[GpuPart, Fraction]:
        """The unmapped share of each part that has one (N18)."""
        found: dict[GpuPart, Fraction] = {}
        for part, share in self.parts.items():
            items = self.mapped.get(part)
            room = share - sum((s for _, s in items), _NOTHING) if items else share
            if room > 0:
                found[part] = room
        return found
