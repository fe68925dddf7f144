"""All findings of one work unit: each millisecond in at most one (scheduling.md, "Waste")."""

from collections.abc import Mapping, Sequence

from scheduler_view.domain.waste.duration import too_long
from scheduler_view.domain.waste.finding import Finding
from scheduler_view.domain.waste.gangs import Gang, incomplete, spread
from scheduler_view.domain.waste.held_time import HeldTime
from scheduler_view.domain.waste.idle import (
    idle_gpus,
    idle_holder,
    never_busy,
    tail,
)
from scheduler_view.domain.waste.pieces import Claim, taken
from scheduler_view.domain.waste.preemption_loss import preemption_loss


def find(holds: Sequence[HeldTime], gang: Gang | None, until_ms: int) -> list[Finding]:
    """The findings of the holds of one work unit.

    Time goes to the first rule that claims it: S20, S29 never busy, S29 tail, S28, S23, S27.
    Unknown time is in none.

    Args:
        gang: None if its pods are of use alone.
        until_ms: the instant up to which time is known.
    """
    waiting = incomplete(gang, until_ms) if gang else {}
    apart = spread(gang, until_ms) if gang else {}
    return [
        finding
        for hold in holds
        for finding in taken(hold, _claims(hold, waiting, apart, until_ms))
    ]


def overlapping(holds: Sequence[HeldTime], until_ms: int) -> list[Finding]:
    """Findings of holds whose time may be in others as well: S30."""
    found = (preemption_loss(hold, until_ms) for hold in holds)
    return [one for one in found if one is not None]


def _claims(
    hold: HeldTime,
    waiting: Mapping[int, list[Claim]],
    apart: Mapping[int, list[Claim]],
    until_ms: int,
) -> list[Claim]:
    """The claims to a hold's time, in the order in which they take it."""
    alone = [never_busy(hold, until_ms), tail(hold)]
    return [
        *waiting.get(hold.pod, ()),
        *(one for one in alone if one is not None),
        *idle_holder(hold),
        *idle_gpus(hold),
        *(one for one in [too_long(hold, until_ms)] if one is not None),
        *apart.get(hold.pod, ()),
    ]
