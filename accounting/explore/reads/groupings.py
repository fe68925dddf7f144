"""The groupings of Explore, and which of them closed months answer."""

from collections.abc import Sequence

from accounting.core.billing_calendar import DayRange
from accounting.kit.reads.dimensions import BY_NAME, DIMENSIONS, Dimension

TIMES = ("day", "week", "month")
"""Groupings through time."""

GROUPINGS = tuple(
    one for one in DIMENSIONS if one.name not in ("pod", "hour", "workload_type")
)
"""Dimensions that days answer. Pods and hours are those of pages with a short range."""

FILTERED = tuple(one.name for one in GROUPINGS if one.is_filter)

DAILY_DAYS, WEEKLY_DAYS = 31, 184  # up to this length, groups are by day, and by week


def step_of(days: DayRange) -> str:
    """The grouping through time of a range for which none was chosen."""
    if days.days <= DAILY_DAYS:
        return "day"
    return "week" if days.days <= WEEKLY_DAYS else "month"


def groupings_of(by: str, then: str, days: DayRange) -> tuple[Dimension, ...]:
    """The one or two chosen groupings.

    Args:
        by, then: of an address; names that are not offered are those that were not chosen, which
            are teams, and time. `then` is "none" for one grouping.
        days: of the range.
    """
    offered = {one.name for one in GROUPINGS}
    first = by if by in offered else "team"
    second = then if then in (*offered, "none") else step_of(days)
    if not then and first in TIMES:
        second = "team"
    names = (first,) if second in ("none", first) else (first, second)
    return tuple(BY_NAME[name] for name in names)


def unanswered(dimensions: Sequence[Dimension]) -> str:
    """The dimensions that closed months do not have, in words; "" if they have all of them."""
    missing = [one.label for one in dimensions if not one.is_of_lines]
    words = [label if label[:2].isupper() else label.lower() for label in missing]
    return " and ".join(dict.fromkeys(words))
