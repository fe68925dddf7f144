"""When a cluster was retired, and the effect of another end (rules.md N38)."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection

from accounting.access.scope import EVERYTHING
from accounting.core.interval import (
    WINDOW_MS,
    Interval,
    to_instant,
    to_ms,
)
from accounting.core.money import Money
from accounting.kit.reads.selection import Selection
from accounting.metering.models.cluster import Cluster
from accounting.usage.reads.ledger import ledger_total
from accounting.usage.reads.usage import usage_total

# Each computed hour asks twice: building this query with the ORM takes longer.
_RETIRED = """
    SELECT c.retired_at, p.end_ms FROM accounting_cluster c
    LEFT JOIN accounting_pendingretirement p ON p.cluster_id = c.id WHERE c.id = %s
"""


def retired_ms(cluster_id: int) -> int | None:
    """Where a cluster ends, in ms, as far as applied; None while it is in use.

    While `metering.tasks.retirement` still has days to clear, this is the end of the cleared time,
    so time is conserved at any moment.
    """
    with connection.cursor() as cursor:
        cursor.execute(_RETIRED, [cluster_id])
        at, reached = cursor.fetchone()
    if at is None:
        return None
    return max(to_ms(at), reached or 0)


_BOUNDS = """
    SELECT (SELECT min(hour_start) FROM usage_hour WHERE cluster_id = %(cluster)s),
           (SELECT max(window_start) FROM accounting_ingestwindow
            WHERE cluster_id = %(cluster)s AND shard = 0),
           (SELECT window_start FROM usage_window WHERE cluster_id = %(cluster)s
            ORDER BY window_start LIMIT 1)
"""


@dataclass(frozen=True, slots=True)
class Stored:
    """The stored time of a cluster; None without data.

    Attributes:
        first_hour: the oldest stored hour.
        end: of the newest window.
        first_fact: start of the oldest window with five-minute facts.
    """

    first_hour: datetime | None
    end: datetime | None
    first_fact: datetime | None

    def has_expired(self, at: datetime) -> bool:
        """True if an hour is stored and its five-minute facts are not."""
        if self.first_hour is None or at < self.first_hour:
            return False
        if self.first_fact is None:
            return True
        return at < self.first_fact.replace(minute=0, second=0, microsecond=0)


def stored(cluster_id: int) -> Stored:
    """The bounds of the stored time of a cluster."""
    with connection.cursor() as cursor:
        cursor.execute(_BOUNDS, {"cluster": cluster_id})
        first_hour, last, first_fact = cursor.fetchone()
    end = None if last is None else last + timedelta(milliseconds=WINDOW_MS)
    return Stored(first_hour, end, first_fact)


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
