"""Spend and use over a period: rows for charts."""

from collections.abc import Iterator
from datetime import datetime
from zoneinfo import ZoneInfo

from django.db import connection

from accounting.core.efficiency import StateTimes
from accounting.core.interval import Interval, to_instant
from accounting.core.ledger_line import HELD_STATES
from accounting.kit.reads.selection import Selection
from accounting.metering.sql.states_sql import sums
from accounting.usage.reads.coverage import hours_with_data
from accounting.usage.reads.relation.relation import relation
from accounting.usage.reads.usage import usage_rows
from accounting.usage.rules.hour_of_week import WeekHour, fold_week
from accounting.usage.rules.rows import LedgerRow, UsageRow
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
    """Held time by hour of the local week; two queries, one if time was held in every such hour.

    `elapsed` is the part of the selection's period that can have data.
    """
    cluster = next(iter(selection.filters.get("cluster", ())), "")
    return fold_week(
        _folded(selection, zone),
        zone,
        begun=(hour.start for hour in elapsed.hours()),
        read=_read(elapsed, cluster),
    )


def _folded(
    selection: Selection, zone: ZoneInfo
) -> Iterator[tuple[datetime, StateTimes]]:
    """The first of the hours that are one hour of the local week, with the held time of all."""
    chosen = relation(selection, ("hour",))
    query = f"""
        SELECT min(u.hour_start), {sums("u", HELD_STATES)} FROM (
            SELECT u.hour_start, u.hour_start AT TIME ZONE %(zone)s AS local,
                   {sums("u", HELD_STATES)}
            {chosen.tables} WHERE {chosen.condition} AND {chosen.is_held} GROUP BY u.hour_start
        ) u
        GROUP BY extract(isodow FROM u.local), extract(hour FROM u.local)
    """  # built from this project's own constants
    with connection.cursor() as cursor:
        cursor.execute(query, chosen.parameters | {"zone": zone.key})
        for start, *times in cursor.fetchall():
            yield start, StateTimes(*times)


def _read(elapsed: Interval, cluster: str) -> Iterator[datetime]:
    """Hours with data; asked only if one is needed."""
    for ms in hours_with_data(elapsed, cluster):
        yield to_instant(ms)
