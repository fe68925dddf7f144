"""Sums of the time of holds, to compare with what the product books."""

from collections import defaultdict
from collections.abc import Iterable

from accounting.core.interval import Interval
from accounting.metering.rules.holds.hold import Hold


def held_ms(hold: Hold, period: Interval) -> int:
    """Share-weighted milliseconds of a hold within a period, rounded down.

    A hold of no length, or outside the period, gives 0.
    """
    start = max(hold.bound_ms, period.start_ms)
    end = min(hold.booked_until_ms, period.end_ms)
    return int(max(0, end - start) * hold.units * hold.share)


def held_ms_by(holds: Iterable[tuple[str, Hold]], period: Interval) -> dict[str, int]:
    """Held milliseconds within a period, by the key given with each hold."""
    found: dict[str, int] = defaultdict(int)
    for key, hold in holds:
        found[key] += held_ms(hold, period)
    return dict(found)
