"""Holds: one pod keeping units of a resource from bind until its end (rules.md N10-N13).

The value; how it is derived from an inventory stands below it.
"""

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Hold:
    """One pod uid holding one resource on one node, in [bound_ms, booked_until_ms).

    Attributes:
        resource: Kubernetes' spelling, e.g. `nvidia.com/gpu`.
        units: effective request.
        share: of one unit, of one GPU; 1 for a whole GPU.
        ended_ms: None while it lasts or nobody knows yet (N11).
        booked_until_ms: where its time ends; equals `ended_ms` when that is known.
        ended_by: `Succeeded`, `Failed`, `gone`, or "" while it lasts.
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
    is_inferred: bool = False
