"""Partitions of the fact tables: created as needed, dropped when they expire."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db import connection, transaction
from psycopg import sql

from accounting.ingest import database_cache
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
ALL = (WINDOWS, INTENSITY_WINDOWS, *ALL_HOURS, *ALL_DAYS)
TABLES = ", ".join(table.name for table in ALL)  # as SQL lists them
_known: set[tuple[str, str, datetime]] = database_cache.keep(set())


def ensure(table: Table, start: datetime, end: datetime) -> int:
    """Create every partition that [start, end) needs; returns how many were missing.

    One lock for all processes; caches, within the process, which partitions exist.
    """
    database_cache.refresh()
    database = str(connection.settings_dict["NAME"])
    wanted = [
        bounds
        for bounds in _bounds(table.unit, start, end)
        if (database, table.name, bounds[0]) not in _known
    ]
    if not wanted:
        return 0
    made = 0
    with transaction.atomic(), connection.cursor() as cursor:
        lock("partitions", 0)
        for low, high in wanted:
            name = f"{table.name}_{low:%Y%m%d}"
            cursor.execute("SELECT to_regclass(%s)", [name])
            if cursor.fetchone()[0] is None:
                cursor.execute(_create(table, name, low, high).as_string(None))
                made += 1
    _known.update((database, table.name, low) for low, _ in wanted)
    return made


def _create(table: Table, name: str, low: datetime, high: datetime) -> sql.Composed:
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
    forget_known()
    return dropped


def forget_known() -> None:
    """Clear the cache of existing partitions (after a drop or a rolled-back creation)."""
    _known.clear()
