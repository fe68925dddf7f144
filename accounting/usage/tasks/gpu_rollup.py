"""Hours and days by GPU and node, written later than the rollups without GPUs.

They have many more rows (8,192 GPUs: about 8,192 for each hour), so that the totals of teams
do not wait for them. An hour is written by GPU when it has ended; a billing day when it has
ended and all of its hours are written. Until then, `accounting_pendinggpuhour` has a row for
it and reports by GPU read the finer step: the facts of an hour, the hours of a day (rules.md
N32).
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from django.db import connection, transaction

from accounting.access.reads.billing_settings import billing_remembered, midnight
from accounting.core.interval import Interval, hour_periods
from accounting.kit.failpoints import reach
from accounting.kit.locks import lock
from accounting.metering.sql.states_sql import STATE_COLUMNS
from accounting.metering.tasks.facts import partitions
from accounting.prices.sql.charge_sql import (
    GPU_COLUMNS,
    HARD_KEY_COLUMNS,
    INTENSITY_COLUMNS,
    KEY_COLUMNS,
    RATE_COLUMNS,
    SUMMED_COLUMNS,
    hard_facts,
    over,
    parameters,
    priced_facts,
)
from accounting.usage.tasks import expired_days

HOUR = timedelta(hours=1)
BATCH_HOURS = 24
HOURS_AT_ONCE = 6  # by one statement: 24 take a fifth longer for 8,192 GPUs

_LATER = SUMMED_COLUMNS[len(STATE_COLUMNS) :]
_IN_FACTS = (*KEY_COLUMNS, *GPU_COLUMNS, *STATE_COLUMNS, *RATE_COLUMNS, *_LATER)
_USAGE = {
    **{name: f"sum({name})" for name in SUMMED_COLUMNS},
    **{name: f"max({name})" for name in RATE_COLUMNS},
}
_INTENSITY = {name: over(name) for name in INTENSITY_COLUMNS}


def _insert_hours(table: str, columns: Sequence[str], facts: str) -> str:
    return f"INSERT INTO {table} (cluster_id, hour_start, {', '.join(columns)}) {facts}"


def _insert_days(column: str, key: Sequence[str], parts: dict[str, str]) -> str:
    kept = ", ".join(("cluster_id", *key, *GPU_COLUMNS))
    return f"""
INSERT INTO {column}_gpu_day ({kept}, {", ".join(parts)})
SELECT {kept}, {", ".join(parts.values())} FROM {column}_gpu_hour
WHERE cluster_id = %(cluster)s AND billing_on = ANY(%(days)s)
  AND hour_start >= %(low)s AND hour_start < %(high)s
GROUP BY {kept}
"""


_HOURS = {
    "usage_gpu_hour": _insert_hours(
        "usage_gpu_hour", _IN_FACTS, priced_facts(GPU_COLUMNS)
    ),
    "intensity_gpu_hour": _insert_hours(
        "intensity_gpu_hour",
        (*HARD_KEY_COLUMNS, *GPU_COLUMNS, *INTENSITY_COLUMNS),
        hard_facts(GPU_COLUMNS),
    ),
}
_DAYS = {
    "usage_gpu_day": _insert_days("usage", KEY_COLUMNS, _USAGE),
    "intensity_gpu_day": _insert_days("intensity", HARD_KEY_COLUMNS, _INTENSITY),
}

_MARK = """
    INSERT INTO accounting_pendinggpuhour AS p
        (cluster_id, hour_start, billing_days, needs_hour)
    SELECT %(cluster)s, m.hour, array_agg(m.day ORDER BY m.day), %(needs_hour)s
    FROM unnest(%(hours)s::timestamptz[], %(days)s::date[]) AS m(hour, day)
    GROUP BY m.hour
    ON CONFLICT (cluster_id, hour_start) DO UPDATE
    SET billing_days = ARRAY(
            SELECT unnest(p.billing_days) UNION SELECT unnest(excluded.billing_days)),
        needs_hour = p.needs_hour OR excluded.needs_hour
"""


def mark(
    cluster_id: int, days: Mapping[datetime, Iterable[date]], *, needs_hour: bool
) -> None:
    """Mark hours as changed, in the transaction that changes them.

    Args:
        cluster_id: primary key of the cluster.
        days: by the start of each hour, the billing days of its rows, including those before the
            change; at least one.
        needs_hour: the hours must be summed from their facts. False if they have no facts: their
            rows have current prices already.
    """
    pairs = [(hour, day) for hour, its_days in days.items() for day in its_days]
    values: dict[str, Any] = {
        "cluster": cluster_id,
        "hours": [hour for hour, _ in pairs],
        "days": [day for _, day in pairs],
        "needs_hour": needs_hour,
    }
    with connection.cursor() as cursor:
        cursor.execute(_MARK, values)


def roll_up_by_gpu(cluster_id: int) -> int:
    """Write the hours and days by GPU that are due.

    Each batch of hours and each day is one transaction. After a killed run, unwritten hours are
    still marked.

    Returns:
        The number of hours.
    """
    count = 0
    while done := _roll_hours(cluster_id):
        count += done
        reach("rolled_up_by_gpu")
    for day in _due_days(cluster_id):
        _roll_day(cluster_id, day)
    return count


_DUE_HOURS = """
    SELECT hour_start FROM accounting_pendinggpuhour
    WHERE cluster_id = %s AND needs_hour
      AND hour_start <= clock_timestamp() - interval '1 hour'
    ORDER BY hour_start DESC LIMIT %s
"""


def _roll_hours(cluster_id: int) -> int:
    """Write one batch of hours, newest first."""
    with transaction.atomic(), connection.cursor() as cursor:
        lock("rollup", cluster_id)
        cursor.execute(_DUE_HOURS, [cluster_id, BATCH_HOURS])
        hours = [hour for (hour,) in cursor.fetchall()]
        if not hours:
            return 0
        cursor.execute("SET LOCAL jit = off; SET LOCAL work_mem = '128MB'")
        partitions.ensure(partitions.HOURS_BY_GPU, min(hours), max(hours) + HOUR)
        with billing_remembered():
            for period in hour_periods(hours, HOURS_AT_ONCE):
                _replace(cluster_id, period)
        cursor.execute(
            """UPDATE accounting_pendinggpuhour SET needs_hour = false
               WHERE cluster_id = %s AND hour_start = ANY(%s)""",
            [cluster_id, hours],
        )
        reach("rolling_up_by_gpu")
    return len(hours)


def _replace(cluster_id: int, period: Interval) -> None:
    values = parameters(cluster_id, period.start, period.end)
    with connection.cursor() as cursor:
        for table, insert in _HOURS.items():
            cursor.execute(
                f"""DELETE FROM {table} WHERE cluster_id = %(cluster)s
                    AND hour_start >= %(start)s AND hour_start < %(end)s""",
                values,
            )
            cursor.execute(insert, values)


_DUE_DAYS = """
    SELECT day FROM (
        SELECT unnest(billing_days) AS day, needs_hour FROM accounting_pendinggpuhour
        WHERE cluster_id = %s
    ) p GROUP BY day HAVING NOT bool_or(needs_hour) ORDER BY day DESC
"""


def _due_days(cluster_id: int) -> list[date]:
    """Billing days that have ended and whose hours are all written by GPU."""
    with connection.cursor() as cursor:
        cursor.execute(_DUE_DAYS, [cluster_id])
        days = [day for (day,) in cursor.fetchall()]
        if not days:
            return []
        cursor.execute("SELECT clock_timestamp()")
        now = cursor.fetchone()[0]
    with billing_remembered():
        return [day for day in days if midnight(day + timedelta(days=1)) <= now]


def _roll_day(cluster_id: int, day: date) -> None:
    """Replace one billing day by GPU from its hours; without hours, apply current prices."""
    start = midnight(day)
    values: dict[str, Any] = {
        "cluster": cluster_id,
        "days": [day],
        "low": day - timedelta(days=2),
        "high": day + timedelta(days=3),
    }
    partitions.ensure(partitions.DAYS_BY_GPU, start - 24 * HOUR, start + 48 * HOUR)
    with transaction.atomic(), connection.cursor() as cursor:
        lock("rollup", cluster_id)
        if day not in _due_days(cluster_id):  # one of its hours changed meanwhile
            return
        cursor.execute("SET LOCAL jit = off; SET LOCAL work_mem = '128MB'")
        if expired_days.has_every_hour(values):
            for name, insert in _DAYS.items():
                cursor.execute(
                    f"""DELETE FROM {name} WHERE cluster_id = %(cluster)s
                        AND billing_on = ANY(%(days)s)""",
                    values,
                )
                cursor.execute(insert, values)
        else:
            expired_days.price_again(cluster_id, day)
        cursor.execute(
            """UPDATE accounting_pendinggpuhour
               SET billing_days = array_remove(billing_days, %(day)s)
               WHERE cluster_id = %(cluster)s AND %(day)s = ANY(billing_days)""",
            {"cluster": cluster_id, "day": day},
        )
        cursor.execute(
            """DELETE FROM accounting_pendinggpuhour
               WHERE cluster_id = %s AND NOT needs_hour AND billing_days = '{}'""",
            [cluster_id],
        )
        reach("rolling_up_by_gpu")
