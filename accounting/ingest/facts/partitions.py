"""Partitions of the fact tables: created as needed, dropped when they expire."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db import connection, transaction
from psycopg import sql

from accounting.locks import lock


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
TABLES = ", ".join(table.name for table in ALL)  # as SQL lists them


def ensure(tables: Iterable[Table], start: datetime, end: datetime) -> int:
    """Create every partition of these tables that [start, end) needs; returns how many.

    The catalog is asked each time. Another process may have dropped a partition that this one
    has created, and a creation may have been rolled back.
    """
    wanted = {
        f"{table.name}_{low:%Y%m%d}": (table, low, high)
        for table in tables
        for low, high in _bounds(table.unit, start, end)
    }
    if not _missing(wanted):
        return 0
    with transaction.atomic(), connection.cursor() as cursor:
        lock("partitions", 0)
        missing = _missing(wanted)  # another process may have created some meanwhile
        for name in sorted(missing):
            cursor.execute(_create(name, *wanted[name]).as_string(None))
    return len(missing)


def _missing(names: Iterable[str]) -> set[str]:
    """The names that no table has."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT name FROM unnest(%s::text[]) AS name WHERE to_regclass(name) IS NULL",
            [list(names)],
        )
        return {name for (name,) in cursor.fetchall()}


def _create(name: str, table: Table, low: datetime, high: datetime) -> sql.Composed:
    return sql.SQL(
        "CREATE TABLE {} PARTITION OF {} FOR VALUES FROM ({}) TO ({})"
    ).format(
        sql.Identifier(name),
        sql.Identifier(table.name),
        sql.Literal(low.isoformat()),
        sql.Literal(high.isoformat()),
    )


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
    """Drop the partitions that end at or before an instant; returns their names."""
    dropped: list[str] = []
    with transaction.atomic(), connection.cursor() as cursor:
        lock("partitions", 0)
        cursor.execute(
            "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = %s::regclass",
            [table.name],
        )
        for (name,) in cursor.fetchall():
            low = datetime.strptime(name.rsplit("_", 1)[1], "%Y%m%d").replace(
                tzinfo=UTC
            )
            if _next(table.unit, low) <= before:
                cursor.execute(
                    sql.SQL("DROP TABLE {}")
                    .format(sql.Identifier(name))
                    .as_string(None)
                )
                dropped.append(name)
    return dropped
