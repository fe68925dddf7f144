"""How spend and use move through a period: rows for charts."""

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from accounting.domain.period import DAY_MS, Period
from accounting.domain.report import UsageRow
from accounting.domain.week import WeekHour, fold_week
from accounting.queries.selection import Selection
from accounting.queries.usage import usage_rows


@dataclass(frozen=True, slots=True)
class Point:
    """One step of one line: the step's label (a day or an hour) and its sums."""

    at: str  # 2026-10-01, or 2026-10-01T10:00:00Z
    group: str
    row: UsageRow


HOURLY_UP_TO_MS = 7 * DAY_MS  # product 4.1: hours up to a week, days above


def step_of(period: Period | None) -> str:
    """`hour` or `day`, by the length of the period."""
    if period is not None and period.length_ms <= HOURLY_UP_TO_MS:
        return "hour"
    return "day"


def points(
    selection: Selection, group: str = "team", step: str | None = None
) -> list[Point]:
    """Use and charge by step and group, in order of time.

    Args:
        selection: what is asked for.
        group: a dimension, or "" for one line.
        step: `hour` or `day`; None chooses by the period's length.
    """
    chosen = step or step_of(selection.period)
    by = (chosen, group) if group else (chosen,)
    return [
        Point(row.key[chosen], row.key.get(group, ""), row)
        for row in usage_rows(selection, by)
    ]


def week_hours(selection: Selection, zone: ZoneInfo) -> list[WeekHour]:
    """Held time by hour of the local week; one query over hours."""
    rows = usage_rows(selection, ("hour",))
    hours = (
        (
            datetime.fromisoformat(row.key["hour"]),
            row.busy_ms,
            row.idle_ms,
            row.unknown_ms,
        )
        for row in rows
    )
    return fold_week(hours, zone)
