"""Rolls up dirty hours: sums in SQL, with team, tier, model and price joined.

Hours are replaced completely under a lock, then their billing days. Team, tier, lifecycle
and price are those valid when each window started (rules.md N24, N26); money is not stored:
it is `milliseconds x rate`, exact, and computed when requested (N28).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django.db import connection, transaction

from accounting.access.reads.billing_settings import billing_remembered
from accounting.core.interval import Interval, hour_periods
from accounting.kit.failpoints import reach
from accounting.kit.locks import lock
from accounting.metering.models.ledger import DirtyHour
from accounting.metering.sql.states_sql import STATE_COLUMNS
from accounting.metering.tasks.data_issues import checks
from accounting.metering.tasks.data_issues.events import HoursRolledUp
from accounting.metering.tasks.facts import partitions
from accounting.metering.tasks.facts.reasons import FACTS
from accounting.metering.tasks.windows import schedule
from accounting.prices.sql.charge_sql import (
    HARD_KEY_COLUMNS,
    INTENSITY_COLUMNS,
    KEY_COLUMNS,
    hard_facts,
    over,
    parameters,
    priced_facts,
)
from accounting.usage.tasks import expired_hours, gpu_rollup
from accounting.usage.tasks.family_days import move_families

HOUR = timedelta(hours=1)
BATCH_HOURS = 24

_SUMS = ", ".join(f"sum({name}) AS {name}" for name in STATE_COLUMNS)
_STATES = ", ".join(STATE_COLUMNS)
_KEY = ", ".join(KEY_COLUMNS)
_REST = (
    "rate, cost, gpu_rate, gpu_cost, currency, estimated_ms, samples_expected, "
    "samples_used"
)
_ROLL_HOURS = f"""
INSERT INTO usage_hour (cluster_id, hour_start, {_KEY}, {_STATES}, {_REST})
{priced_facts()}
"""
_ROLL_DAYS = f"""
INSERT INTO usage_day (cluster_id, {_KEY}, {_STATES}, {_REST})
SELECT cluster_id, {_KEY}, {_SUMS}, max(rate), max(cost), max(gpu_rate), max(gpu_cost),
       max(currency), sum(estimated_ms), sum(samples_expected), sum(samples_used)
FROM usage_hour
WHERE cluster_id = %(cluster)s AND billing_on = ANY(%(days)s)
  AND hour_start >= %(low)s AND hour_start < %(high)s
GROUP BY cluster_id, {_KEY}
"""
_HARD_KEY = ", ".join(HARD_KEY_COLUMNS)
_HARD = ", ".join(INTENSITY_COLUMNS)
_HARD_HOURS = f"""
INSERT INTO intensity_hour (cluster_id, hour_start, {_HARD_KEY}, {_HARD})
{hard_facts()}
"""
_HARD_DAYS = f"""
INSERT INTO intensity_day (cluster_id, {_HARD_KEY}, {_HARD})
SELECT cluster_id, {_HARD_KEY}, {", ".join(map(over, INTENSITY_COLUMNS))}
FROM intensity_hour
WHERE cluster_id = %(cluster)s AND billing_on = ANY(%(days)s)
  AND hour_start >= %(low)s AND hour_start < %(high)s
GROUP BY cluster_id, {_HARD_KEY}
"""


@dataclass(frozen=True, slots=True)
class _Mark:
    hour: datetime
    marked_at: datetime
    reason: str


def roll_up_dirty_hours(
    cluster_id: int,
    *,
    within: Interval | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> int:
    """Replace every hour whose facts, teams or prices changed; returns how many.

    Hours are processed newest first and in batches: each batch is one transaction with its
    billing days, so a killed run leaves only complete batches.

    Args:
        cluster_id: of the hours.
        within: only hours that overlap this period.
        on_progress: called with the number done and the total.
    """
    move_families(cluster_id)
    hours = _dirty(cluster_id, within)
    count = _roll(cluster_id, hours, on_progress)
    gpu_rollup.roll_up_by_gpu(cluster_id)
    if hours:
        checks.run(HoursRolledUp(cluster_id))
    return count


def roll_up_complete_hours(cluster_id: int, within: Interval | None = None) -> int:
    """The same for hours without due windows, so that reports show the progress of a long run.

    The caller runs the checks of hours at its end.
    """
    return _roll(cluster_id, _dirty(cluster_id, within, is_complete=True))


_IS_COMPLETE = """
    AND NOT EXISTS (
        SELECT FROM accounting_ingestwindow w
        WHERE w.cluster_id = d.cluster_id AND w.shard = 0
          AND w.window_start >= d.hour_start
          AND w.window_start < d.hour_start + interval '1 hour'
          AND w.state IN ('pending', 'claimed'))
"""


def _dirty(
    cluster_id: int, within: Interval | None, *, is_complete: bool = False
) -> list[datetime]:
    """Dirty hours, newest first."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT d.hour_start FROM accounting_dirtyhour d
            WHERE d.cluster_id = %(cluster)s
              AND (%(low)s::timestamptz IS NULL
                   OR (d.hour_start > %(low)s::timestamptz - interval '1 hour'
                       AND d.hour_start < %(high)s))
              {_IS_COMPLETE if is_complete else ""}
            ORDER BY d.hour_start DESC
            """,
            {
                "cluster": cluster_id,
                "low": within.start if within else None,
                "high": within.end if within else None,
            },
        )
        return [row[0] for row in cursor.fetchall()]


def _roll(
    cluster_id: int,
    hours: Sequence[datetime],
    on_progress: Callable[[int, int], None] | None = None,
) -> int:
    count = 0
    for start in range(0, len(hours), BATCH_HOURS):
        batch = hours[start : start + BATCH_HOURS]
        count += _roll_batch(cluster_id, batch)
        reach("rolled_up")
        if on_progress is not None:
            on_progress(start + len(batch), len(hours))
    return count


def _roll_batch(cluster_id: int, hours: Sequence[datetime]) -> int:
    low, high = min(hours), max(hours) + HOUR
    partitions.ensure((partitions.HOURS, partitions.INTENSITY_HOURS), low, high)
    days_tables = (partitions.DAYS, partitions.INTENSITY_DAYS)
    partitions.ensure(days_tables, low - 2 * 24 * HOUR, high + 2 * 24 * HOUR)
    with transaction.atomic(), connection.cursor() as cursor:
        # other processes may have done some of them in the meantime
        lock("rollup", cluster_id)
        cursor.execute("SET LOCAL jit = off; SET LOCAL work_mem = '128MB'")
        marks = _marks(cluster_id, hours)
        with billing_remembered():
            days = _replace(cluster_id, marks)
        roll_up_days(cluster_id, sorted(days))
        cursor.executemany(
            """DELETE FROM accounting_dirtyhour
               WHERE cluster_id = %s AND hour_start = %s AND marked_at = %s""",
            [(cluster_id, mark.hour, mark.marked_at) for mark in marks],
        )
        reach("rolling_up")
    return len(marks)


def _marks(cluster_id: int, hours: Sequence[datetime]) -> list[_Mark]:
    """The marks of hours whose facts are complete; the others are computed as a whole.

    Facts expire by the day. If windows of such an hour were computed again since, their facts are
    the only ones left.
    """
    found = [
        _Mark(*row)
        for row in DirtyHour.objects.filter(cluster_id=cluster_id, hour_start__in=hours)
        .order_by("-hour_start")
        .values_list("hour_start", "marked_at", "reason")
    ]
    torn = expired_hours.torn_hours(cluster_id, hours)
    if torn:
        schedule.compute_lost(cluster_id, torn)
    return [mark for mark in found if mark.hour not in torn]


def _replace(cluster_id: int, marks: Sequence[_Mark]) -> set[date]:
    """Replace the hours of all marks, in the current transaction; returns their billing days.

    If the facts of an hour did not change and none are left, they have expired: the hour keeps its
    time (N32).
    """
    days: set[date] = set()
    fresh: list[datetime] = []
    for mark in marks:
        bounds = {"cluster": cluster_id, "start": mark.hour, "end": mark.hour + HOUR}
        if mark.reason != FACTS and expired_hours.has_expired(bounds):
            days |= price_hour_again(cluster_id, mark.hour)
        else:
            fresh.append(mark.hour)
    for period in hour_periods(fresh, gpu_rollup.HOURS_AT_ONCE):
        days |= roll_up_hours(cluster_id, period)
    return days


def price_hour_again(cluster_id: int, hour: datetime) -> set[date]:
    """Apply the current prices to an hour without facts; returns its billing days."""
    values = parameters(cluster_id, hour, hour + HOUR)
    expired_hours.price_again(values)
    days = set(_days_of(values))
    gpu_rollup.mark(cluster_id, {hour: days}, needs_hour=False)
    return days


def roll_up_hours(cluster_id: int, period: Interval) -> set[date]:
    """Replace whole UTC hours from their facts, in the current transaction.

    Returns:
        Their billing days, including the previous ones: a row may have moved to another day.
    """
    values = parameters(cluster_id, period.start, period.end)
    days = {hour.start: set(_days_at(values, hour)) for hour in period.hours()}
    with connection.cursor() as cursor:
        cursor.execute(
            """WITH gone AS (
                   DELETE FROM usage_hour WHERE cluster_id = %(cluster)s
                   AND hour_start >= %(start)s AND hour_start < %(end)s
                   RETURNING hour_start, billing_on)
               SELECT DISTINCT hour_start, billing_on FROM gone""",
            values,
        )
        for hour_start, day in cursor.fetchall():
            days[hour_start].add(day)
        cursor.execute(_ROLL_HOURS, values)
        cursor.execute(
            """DELETE FROM intensity_hour WHERE cluster_id = %(cluster)s
               AND hour_start >= %(start)s AND hour_start < %(end)s""",
            values,
        )
        cursor.execute(_HARD_HOURS, values)
    gpu_rollup.mark(cluster_id, days, needs_hour=True)
    return set().union(*days.values())


def _days_at(values: dict[str, Any], hour: Interval) -> Iterator[date]:
    """The billing days that an hour overlaps, by the cuts of its parameters."""
    starts = values["cuts"]
    for start, end, day in zip(
        starts, [*starts[1:], values["end"]], values["days"], strict=True
    ):
        if start < hour.end and hour.start < end:
            yield day


def _days_of(values: dict[str, Any]) -> list[date]:
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT DISTINCT billing_on FROM usage_hour
               WHERE cluster_id = %(cluster)s AND hour_start = %(start)s""",
            values,
        )
        return [row[0] for row in cursor.fetchall()]


def roll_up_days(cluster_id: int, days: Sequence[date]) -> None:
    """Replace billing days from their hours, in the current transaction."""
    if not days:
        return
    values: dict[str, Any] = {
        "cluster": cluster_id,
        "days": list(days),
        "low": min(days) - timedelta(days=2),
        "high": max(days) + timedelta(days=3),
    }
    with connection.cursor() as cursor:
        for table, insert in (("usage_day", _ROLL_DAYS), ("intensity_day", _HARD_DAYS)):
            cursor.execute(
                f"""DELETE FROM {table}
                    WHERE cluster_id = %(cluster)s AND billing_on = ANY(%(days)s)""",
                values,
            )
            cursor.execute(insert, values)
