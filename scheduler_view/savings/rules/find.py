"""All findings of one work unit: each millisecond in at most one (scheduling.md, "Waste")."""

from collections.abc import Iterable, Mapping, Sequence

from scheduler_view.savings.rules.duration import too_long
from scheduler_view.savings.rules.finding import Finding, Slice, SliceKey, WasteRule
from scheduler_view.savings.rules.gangs import Gang, incomplete, spread
from scheduler_view.savings.rules.held_time import HeldTime
from scheduler_view.savings.rules.idle import (
    idle_gpus,
    idle_holder,
    in_use,
    never_busy,
    tail,
)
from scheduler_view.savings.rules.pieces import Claim, taken
from scheduler_view.savings.rules.preemption_loss import preemption_loss


def find(holds: Sequence[HeldTime], gang: Gang | None, until_ms: int) -> list[Finding]:
    """The findings of the holds of one work unit.

    Time goes to the first rule that claims it: S20, S29 never busy, S29 tail, S28, S23, S27.
    Unknown time is in none. The last is not a finding: idle time inside of windows with work.

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


def merged(found: Iterable[Finding], rule: WasteRule) -> list[Finding]:
    """Findings of which those of one rule are one, of the first subject and without evidence."""
    listed = list(found)
    of_rule = [one for one in listed if one.rule is rule]
    if len(of_rule) < 2:
        return listed
    slices: dict[SliceKey, Slice] = {}
    for one in of_rule:
        for key, part in one.slices.items():
            slices[key] = slices.get(key, Slice()) + part
    start = min(one.start_ms for one in of_rule)
    end = max(one.end_ms for one in of_rule)
    others = [one for one in listed if one.rule is not rule]
    return [*others, Finding(rule, of_rule[0].subject, start, end, slices)]


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
        in_use(hold),
    ]
