"""Partitions of the fact tables: created as needed, dropped when they expire.

By functions of the tables' owner (migration 0009): the services' role owns nothing.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import structlog
from django.db import OperationalError, connection, transaction
from psycopg.errors import LockNotAvailable

from accounting.kit.locks import lock

log = structlog.get_logger(__name__)

# Until a drop of partitions gives way to those who read the table. Less than `deadlock_timeout` of
# PostgreSQL, 1 s by default: after it, the reader could be the one that is ended.
GIVES_WAY_MS = 500


@dataclass(frozen=True, slots=True)
class Table:
    """A partitioned table and the calendar unit of its partitions."""

    name: str
    unit: str  # day, month or year


WINDOWS = Table("usage_window", "day")
HOURS = Table("usage_hour", "month")
DAYS = Table("usage_day", "year")
INTENSITY_WINDOWS = Table("intensity_window", "day")
INTENSITY_HOURS = Table("intensity_hour", "month")
INTENSITY_DAYS = Table("intensity_day", "year")
GPU_HOURS = Table("usage_gpu_hour", "month")
GPU_DAYS = Table("usage_gpu_day", "month")
INTENSITY_GPU_HOURS = Table("intensity_gpu_hour", "month")
INTENSITY_GPU_DAYS = Table("intensity_gpu_day", "month")
HOURS_BY_GPU = (GPU_HOURS, INTENSITY_GPU_HOURS)
DAYS_BY_GPU = (GPU_DAYS, INTENSITY_GPU_DAYS)
KEPT_AS_HOURS = (HOURS, INTENSITY_HOURS, *DAYS_BY_GPU)
ALL_HOURS = (HOURS, INTENSITY_HOURS, *HOURS_BY_GPU)
ALL_DAYS = (DAYS, INTENSITY_DAYS, *DAYS_BY_GPU)
ALL_WINDOWS = (WINDOWS, INTENSITY_WINDOWS)
ALL = (*ALL_WINDOWS, *ALL_HOURS, *ALL_DAYS)
KEPT_BY_TRIGGERS = ("usage_family_day", "usage_hour_total", "usage_day_total")
TABLES = ", ".join([*(table.name for table in ALL), *KEPT_BY_TRIGGERS])
"""As SQL lists them, with the sums that TRUNCATE of hours and days does not empty."""


def ensure(tables: Iterable[Table], start: datetime, end: datetime) -> int:
    """Create every partition of these tables that [start, end) needs; returns how many.

    The catalog is asked each time. Another process may have dropped a partition that this one
    has created, and a creation may have been rolled back.
    """
    wanted = needed(tables, start, end)
    if not _missing(wanted):
        return 0
    with transaction.atomic(), connection.cursor() as cursor:
        lock("partitions", 0)
        missing = _missing(wanted)  # another process may have created some meanwhile
        for name in sorted(missing):
            table, low, high = wanted[name]
            cursor.execute(
                "SELECT accounting_create_partition(%s, %s, %s)",
                [table.name, low, high],
            )
    return len(missing)


def needed(
    tables: Iterable[Table], start: datetime, end: datetime
) -> dict[str, tuple[Table, datetime, datetime]]:
    """The partitions of these tables for [start, end): table, start and end by name."""
    return {
        f"{table.name}_{low:%Y%m%d}": (table, low, high)
        for table in tables
        for low, high in _bounds(table.unit, start, end)
    }


def _missing(names: Iterable[str]) -> set[str]:
    """The names that no table has.

    From the catalog itself: for `to_regclass`, a session remembers that a name is of no table
    until it locks one, also if another session has created it since.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT name FROM unnest(%s::text[]) AS name
               WHERE NOT EXISTS (
                   SELECT FROM pg_class
                   WHERE relname = name AND relnamespace = current_schema()::regnamespace)""",
            [list(names)],
        )
        return {name for (name,) in cursor.fetchall()}


def _bounds(
    unit: str, start: datetime, end: datetime
) -> Iterator[tuple[datetime, datetime]]:
    low = _floor(unit, start)
    while low < end:
        high = _next(unit, low)
        yield low, high
        low = high


def _floor(unit: str, instant: datetime) -> datetime:
    day = instant.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    if unit == "day":
        return day
    return day.replace(day=1) if unit == "month" else day.replace(month=1, day=1)


def _next(unit: str, low: datetime) -> datetime:
    step = {"day": 1, "month": 32, "year": 367}[unit]
    return _floor(unit, low + timedelta(days=step))


def drop_expired(table: Table, before: datetime) -> list[str]:
    """Drop the partitions that end at or before an instant; returns their names.

    None of a table that is being read for longer than a moment: the next run drops them.
    """
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = {GIVES_WAY_MS}")
            lock("partitions", 0)
            dropped = _expired(table, before)
            if dropped:
                cursor.execute(
                    "SELECT accounting_drop_partitions(%s, %s)", [table.name, dropped]
                )
    except OperationalError as error:
        if not isinstance(error.__cause__, LockNotAvailable):
            raise
        log.info("expired_partitions_in_use", table=table.name)
        return []
    return dropped


def _expired(table: Table, before: datetime) -> list[str]:
    """The partitions of a table that end at or before an instant."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = %s::regclass",
            [table.name],
        )
        names = [name for (name,) in cursor.fetchall()]
    starts = {
        name: datetime.strptime(name.rsplit("_", 1)[1], "%Y%m%d").replace(tzinfo=UTC)
        for name in names
    }
    return [name for name, low in starts.items() if _next(table.unit, low) <= before]
