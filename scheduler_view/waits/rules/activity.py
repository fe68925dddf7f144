"""Whether a five-minute window of a hold is idle, busy or unknown (scheduling.md S28)."""

from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple

from accounting.core.efficiency import StateTimes

IDLE_BELOW_PERCENT = 5  # of the observed time
BUSY_FROM_PERCENT = 10
OBSERVED_FROM_PERCENT = 50  # of the held time
EPISODE_MS = 1_800_000  # of idle windows, from which an idle episode counts
LONGEST_UNKNOWN = 6  # windows in a row that do not end an idle episode


class Activity(IntEnum):
    """What a window shows. `BETWEEN` is read as the known window before it."""

    IDLE = 0
    BETWEEN = 1
    BUSY = 2
    UNKNOWN = 3


class Stretch(NamedTuple):
    """Consecutive windows of one activity, in milliseconds since 1970: [start_ms, end_ms)."""

    start_ms: int
    end_ms: int
    activity: Activity


def activity_of(busy_ms: int, idle_ms: int, unknown_ms: int) -> Activity:
    """The activity of one window, from its share-weighted milliseconds.

    A window without held time is unknown.
    """
    times = StateTimes(busy_ms, idle_ms, unknown_ms)
    observed = times.observed_ms
    if not observed or observed * 100 < times.allocated_ms * OBSERVED_FROM_PERCENT:
        return Activity.UNKNOWN
    if busy_ms * 100 < observed * IDLE_BELOW_PERCENT:
        return Activity.IDLE
    if busy_ms * 100 >= observed * BUSY_FROM_PERCENT:
        return Activity.BUSY
    return Activity.BETWEEN


def resolved(stretches: Iterable[Stretch]) -> list[Stretch]:
    """Stretches in order of time, without `BETWEEN`, and with gaps as unknown.

    A window between the two thresholds is as the known one before it; the first ones count as
    busy, because nothing proves that they were idle.
    """
    found: list[Stretch] = []
    before = Activity.BUSY
    for one in sorted(stretches):
        activity = before if one.activity is Activity.BETWEEN else one.activity
        if activity is not Activity.UNKNOWN:
            before = activity
        if found and found[-1].end_ms < one.start_ms:
            _append(found, Stretch(found[-1].end_ms, one.start_ms, Activity.UNKNOWN))
        _append(found, Stretch(one.start_ms, one.end_ms, activity))
    return found


def _append(found: list[Stretch], one: Stretch) -> None:
    """Add a stretch; one that continues the last one, or is beside it in time, extends it."""
    if found and found[-1].activity is one.activity:
        found[-1] = found[-1]._replace(end_ms=max(found[-1].end_ms, one.end_ms))
    else:
        found.append(one)
