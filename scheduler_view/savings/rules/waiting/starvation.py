"""Work that waited far longer than usual and was overtaken (scheduling.md S22)."""

from collections.abc import Iterable
from dataclasses import dataclass

from scheduler_view.queues.rules.pools import ResourcePool

DAY_MS = 86_400_000
LEAST_MS = DAY_MS
TIMES = 10  # the wait that 95% of others do not exceed
LOOK_BACK_MS = 28 * DAY_MS


@dataclass(frozen=True, slots=True)
class PastWait:
    """The wait of one unit.

    Attributes:
        priority: None if it is not known: then it overtakes nobody and is not starved.
        pod_units: that one of its pods requests.
        bound_ms: None if it was not bound.
        ended_ms: when it was no longer observed; None if it still is.
    """

    unit: int
    pool: ResourcePool
    tier: str
    priority: int | None
    pod_units: int
    created_ms: int
    bound_ms: int | None = None
    ended_ms: int | None = None

    def waited_until(self, now_ms: int) -> int:
        """When its wait ended: with its bind, its end, or not yet."""
        ends = (self.bound_ms, self.ended_ms, now_ms)
        return min(one for one in ends if one is not None)


@dataclass(frozen=True, slots=True)
class Starved:
    """What made a unit starved.

    Attributes:
        usual_ms: the wait from which on it is.
        overtaken: units that were bound before it, although they were created later.
    """

    unit: int
    start_ms: int
    end_ms: int
    waited_ms: int
    usual_ms: int
    overtaken: int


def starved(one: PastWait, others: Iterable[PastWait], now_ms: int) -> Starved | None:
    """Whether a unit is or was starved; None if not.

    Args:
        others: of the same cluster, in any order; the unit itself may be among them.
        now_ms: the instant up to which waits are known.
    """
    if one.priority is None or not one.pod_units:
        return None
    end = one.waited_until(now_ms)
    waited = end - one.created_ms
    if waited <= LEAST_MS:
        return None
    of_pool = [o for o in others if o.pool == one.pool and o.unit != one.unit]
    waits = [
        o.bound_ms - o.created_ms
        for o in of_pool
        if o.tier == one.tier
        and o.bound_ms is not None
        and now_ms - LOOK_BACK_MS <= o.bound_ms <= now_ms
    ]
    usual = TIMES * sorted(waits)[-(-95 * len(waits) // 100) - 1] if waits else 0
    limit = max(LEAST_MS, usual)
    overtaken = sum(_overtook(one, other, end) for other in of_pool)
    if waited <= limit or not overtaken:
        return None
    return Starved(one.unit, one.created_ms, end, waited, limit, overtaken)


def _overtook(one: PastWait, other: PastWait, end_ms: int) -> bool:
    return (
        other.priority is not None
        and one.priority is not None
        and other.priority <= one.priority
        and other.pod_units >= one.pod_units
        and other.created_ms > one.created_ms
        and other.bound_ms is not None
        and other.bound_ms <= end_ms
    )
