"""The time and money that another end of a cluster removes (rules.md N38)."""

from dataclasses import dataclass
from datetime import datetime

from accounting.access.scope import EVERYTHING
from accounting.core.interval import WINDOW_MS, Interval, to_instant, to_ms
from accounting.core.money import Money
from accounting.kit.reads.selection import Selection
from accounting.metering.models.cluster import Cluster
from accounting.metering.reads.data_health.retirement import stored
from accounting.usage.reads.ledger import ledger_total
from accounting.usage.reads.usage import usage_total


@dataclass(frozen=True, slots=True)
class RetirementEffect:
    """The time and money that are removed if a cluster ends at a time.

    Attributes:
        start: from when on; None if nothing is stored after it.
        wall_ms: GPU time of all states.
        dark_ms: the part of it that is dark.
        held_ms: the part that pods held.
        wall_charge: the price of all of it.
        charge: the part that teams are charged.
        again: time that is recomputed, because the cluster ends later than before.
    """

    start: datetime | None
    wall_ms: int = 0
    dark_ms: int = 0
    held_ms: int = 0
    wall_charge: Money | None = None
    charge: Money | None = None
    again: Interval | None = None


def retirement_effect(cluster: Cluster, at: datetime | None) -> RetirementEffect:
    """The effect of setting, changing or clearing a cluster's end; writes nothing.

    Args:
        cluster: as stored.
        at: the new end; None clears it. Rounded down to its five-minute window.

    Raises:
        SelectionError: the facts of that time have expired, and it is not a full hour.
    """
    known = stored(cluster.pk)
    if known.end is None or known.first_hour is None:
        return RetirementEffect(None)
    old, new = cluster.retired_at or known.end, at or known.end
    again = None
    if min(old, known.end) < min(new, known.end):
        again = Interval.of(old, min(new, known.end))
    if at is None or at >= known.end:
        return RetirementEffect(None, again=again)
    floor = to_instant(to_ms(at) - to_ms(at) % WINDOW_MS)
    start = max(floor, known.first_hour)
    chosen = Selection(
        EVERYTHING, Interval.of(start, known.end), {"cluster": (cluster.name,)}
    )
    ledger, usage = ledger_total(chosen), usage_total(chosen)
    return RetirementEffect(
        start=start,
        wall_ms=ledger.wall_ms,
        dark_ms=ledger.milliseconds["dark"],
        held_ms=usage.allocated_ms,
        wall_charge=ledger.wall_charge,
        charge=usage.charge,
        again=again,
    )
