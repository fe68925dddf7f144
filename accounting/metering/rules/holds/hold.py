"""A hold: one pod with units of a resource from its bind until its end."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from accounting.metering.rules.units.geometry import GpuPart
from accounting.metering.rules.units.gpu_units import WHOLE


@dataclass(frozen=True, slots=True)
class Hold:
    """One pod uid holding one resource on one node, in [bound_ms, booked_until_ms).

    Attributes:
        resource: as Kubernetes spells it, such as `nvidia.com/gpu`.
        units: effective request.
        share: of one unit, of one GPU; 1 for a whole GPU.
        ended_ms: None while it lasts or its end is not known yet (N11).
        booked_until_ms: where its booked time ends; equals `ended_ms` if that is known.
        ended_by: `Succeeded`, `Failed`, `gone`, or "" while it lasts.
        inferred_from_ms: from here on only labels show that it lasts (N13); None if kube-state
            shows it all the time.
        is_inferred: kube-state never shows it.
        kind: of its units: "" for whole GPUs and replicas, else a profile (N18).
        is_shared: several units represent one GPU or instance (N17).
        names: other pods whose labels are used for this one: (namespace, name, uid) of KAI's
            reservation pods.
        parts: the known GPUs and instances of its claims.
        is_unit: it uses units of the node's capacity; claims and fractions do not.
        named: the number of samples that named it at each place (a GPU or instance, and its
            vgpu) outside the hours whose labels are loaded (N17).
    """

    uid: str
    namespace: str
    pod: str
    node: str
    resource: str
    units: int
    share: Fraction
    created_ms: int | None
    bound_ms: int
    ended_ms: int | None
    booked_until_ms: int
    ended_by: str = ""
    inferred_from_ms: int | None = None
    is_inferred: bool = False
    kind: str = WHOLE
    is_shared: bool = False
    names: tuple[tuple[str, str, str], ...] = ()
    parts: tuple[GpuPart, ...] = ()
    is_unit: bool = True
    named: Mapping[tuple[GpuPart, str], int] = field(
        default_factory=dict, compare=False, hash=False
    )

    def active_at(self, instant_ms: int) -> bool:
        """True if it holds at an instant."""
        return self.bound_ms <= instant_ms < self.booked_until_ms
