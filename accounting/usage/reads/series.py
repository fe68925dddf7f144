"""Spend and use over a period: rows for charts."""

from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

from accounting.core.interval import (
    Interval,
    to_instant,
)
from accounting.kit.reads.selection import (
    Amounts,
    Selection,
)
from accounting.usage.reads.booked import months_of
from accounting.usage.reads.coverage import hours_with_data
from accounting.usage.reads.usage import usage_rows
from accounting.usage.rules.hour_of_week import (
    WeekHour,
    fold_week,
)
from accounting.usage.rules.rows import (
    LedgerRow,
    UsageRow,
)
from accounting.usage.rules.totals import total_of

STEPS = {  # by step of a chart: its dimension
    "hour": "hour",
    "day": "day",
    "month": "day",
}
MONTH = len("2026-10")


def step_key(row: UsageRow | LedgerRow, step: str) -> str:
    """The hour, billing day or month that a row belongs to: `2026-10-01T10:00:00Z`, `2026-10`."""
    key = row.key[STEPS[step]]
    return key[:MONTH] if step == "month" else key


def use_by_step(selection: Selection, step: str) -> dict[str, UsageRow]:
    """Held time by hour, billing day or month, in order of time."""
    grouped: dict[str, list[UsageRow]] = {}
    for row in usage_rows(selection, (STEPS[step],)):
        grouped.setdefault(step_key(row, step), []).append(row)
    return {key: total_of(rows) for key, rows in grouped.items()}


def week_hours(
    selection: Selection, zone: ZoneInfo, elapsed: Interval
) -> list[WeekHour]:
    """Held time by hour of the local week; two queries over hours.

    `elapsed` is the part of the selection's period that can have data.
    """
    cluster = next(iter(selection.filters.get("cluster", ())), "")
    if months_of(selection):  # only time is needed, and booked hours take long
        selection = replace(selection, amounts=Amounts.MEASURED)
    rows = usage_rows(selection, ("hour",))
    hours = ((datetime.fromisoformat(row.key["hour"]), row) for row in rows)
    return fold_week(
        hours,
        zone,
        begun=[hour.start for hour in elapsed.hours()],
        read=[to_instant(ms) for ms in hours_with_data(elapsed, cluster)],
    )
