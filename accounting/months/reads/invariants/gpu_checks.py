"""Invariants of rollups by GPU and node (I5): against finer tables, and against those without GPUs.

Hours and days that `PendingGpuHour` names are not written yet, and no report reads them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from accounting.kit.reads.invariant import Check
from accounting.metering.sql.states_sql import STATE_COLUMNS
from accounting.prices.sql.charge_sql import INTENSITY_COLUMNS, over

_USAGE = {name: f"sum({name})" for name in (*STATE_COLUMNS, "samples_used")}
_INTENSITY = {name: over(name) for name in INTENSITY_COLUMNS}
_DAY_OF_HOURS = "BETWEEN at - interval '1 day' AND at + interval '2 days'"


@dataclass(frozen=True, slots=True)
class _Step:
    """A table by GPU and the finer table that it sums.

    Attributes:
        coarse, fine: suffixes of the tables' names.
        key: the key of the coarser table.
        of_fine: the same key of a row of the finer table.
        period: SQL condition over the finer rows; excludes partitions.
        period_of_coarse: SQL condition over the coarser rows.
        first: the start of the time that both tables have completely.
        dirty: the hours of `at` that may be out of date.
        is_pending: SQL condition over `accounting_pendinggpuhour d`.
    """

    coarse: str
    fine: str
    key: str
    of_fine: str
    period: str
    period_of_coarse: str
    first: str
    dirty: str
    is_pending: str


def _first(table: str, column: str, ordered_by: str) -> str:
    return f"""coalesce((
        SELECT max(f.at) FROM accounting_cluster c CROSS JOIN LATERAL (
            SELECT {column} AS at FROM {table} o WHERE o.cluster_id = c.id
            ORDER BY {ordered_by} LIMIT 1) f
        WHERE c.id = cluster_id), 'infinity')"""


_HOURS = _Step(
    "gpu_hour",
    "window",
    "hour_start",
    "date_trunc('hour', window_start, 'UTC')",
    "window_start >= %(start)s AND window_start < %(end)s",
    """hour_start >= date_trunc('hour', %(start)s::timestamptz, 'UTC')
       AND hour_start < %(end)s""",
    _first(
        "{column}_window", "date_trunc('hour', window_start, 'UTC')", "window_start"
    ),
    "= at",
    "d.needs_hour AND d.hour_start = at",
)
_DAYS = _Step(
    "gpu_day",
    "gpu_hour",
    "billing_on",
    "billing_on",
    "billing_on >= (%(start)s)::date - 1 AND billing_on <= (%(end)s)::date",
    "billing_on >= (%(start)s)::date - 1 AND billing_on <= (%(end)s)::date",
    _first("{column}_gpu_hour", "billing_on + 1", "hour_start"),
    _DAY_OF_HOURS,
    "at = ANY(d.billing_days)",
)


def _up_to_date(step: _Step) -> str:
    """SQL condition over `wrong` that excludes hours and days that are not written yet."""
    return f"""
      AND NOT EXISTS (SELECT FROM accounting_dirtyhour d
                      WHERE d.cluster_id = wrong.cluster_id AND d.hour_start {step.dirty})
      AND NOT EXISTS (SELECT FROM accounting_pendinggpuhour d
                      WHERE d.cluster_id = wrong.cluster_id AND {step.is_pending})
    """


def _sums_of_finer(column: str, parts: dict[str, str], step: _Step) -> Check:
    """Compares a table by GPU with the finer one, for each GPU and node."""
    sums = ", ".join(f"{text} AS {name}" for name, text in parts.items())
    differ = " OR ".join(f"coalesce(a.{n}, 0) <> coalesce(b.{n}, 0)" for n in parts)
    shown = next(iter(parts)) if column == "usage" else "energy_mj"
    coarse, what = (
        ("hour", "five-minute facts") if step is _HOURS else ("day", "hours by GPU")
    )
    activity = "" if column == "usage" else "GPU activity: "
    measured = "time" if column == "usage" else "GPU activity"
    return Check(
        f"{activity}{coarse}s by GPU match their {what}",
        f"the {measured} of every up-to-date {coarse} of each GPU on each node is the sum of "
        f"its {what}",
        f"""
        WITH a AS (
            SELECT cluster_id, gpu_id, node_id, {step.key} AS at, {sums}
            FROM {column}_{step.coarse} WHERE {step.period_of_coarse}
            GROUP BY cluster_id, gpu_id, node_id, at
        ), b AS (
            SELECT cluster_id, gpu_id, node_id, {step.of_fine} AS at, {sums}
            FROM {column}_{step.fine} WHERE {step.period}
            GROUP BY cluster_id, gpu_id, node_id, at
        ), wrong AS (
            SELECT cluster_id, gpu_id, at, a.{shown} AS stored, b.{shown} AS summed
            FROM a FULL JOIN b USING (cluster_id, gpu_id, node_id, at) WHERE {differ}
        )
        SELECT gpu_id || ' ' || at, coalesce(stored, 0)::text, coalesce(summed, 0)::text
        FROM wrong
        WHERE at >= {step.first.format(column=column)}
        {_up_to_date(step)}
        """,
    )


def _same_as_without(coarse: str, step: _Step) -> Check:
    """Compares tables by GPU with those without: time by price, so that amounts agree too.

    A day or hour by GPU may have expired before the other, but only completely.
    """
    sums = ", ".join(f"sum({name}) AS {name}" for name in STATE_COLUMNS)
    differ = " OR ".join(
        f"coalesce(a.{name}, 0) <> coalesce(b.{name}, 0)" for name in STATE_COLUMNS
    )
    grouped = f"cluster_id, {step.key} AS at, price_id, gpu_price_id, {sums}"
    return Check(
        f"{coarse}s by GPU match the {coarse}s (I5)",
        f"every up-to-date {coarse} by GPU adds up to the {coarse} without GPUs, at each price",
        f"""
        WITH a AS (
            SELECT {grouped} FROM usage_{step.coarse} WHERE {step.period_of_coarse}
            GROUP BY cluster_id, at, price_id, gpu_price_id
        ), b AS (
            SELECT {grouped} FROM usage_{coarse} u
            WHERE {step.period_of_coarse} AND EXISTS (
                SELECT FROM usage_{step.coarse} g
                WHERE g.cluster_id = u.cluster_id AND g.{step.key} = u.{step.key})
            GROUP BY cluster_id, at, price_id, gpu_price_id
        ), wrong AS (
            SELECT cluster_id, at, a.busy_ms AS stored, b.busy_ms AS summed
            FROM a FULL JOIN b USING (cluster_id, at, price_id, gpu_price_id)
            WHERE {differ}
        )
        SELECT at::text, coalesce(stored, 0)::text, coalesce(summed, 0)::text
        FROM wrong
        WHERE true
        {_up_to_date(step)}
        """,
    )


GPU_CHECKS: Sequence[Check] = (
    *(
        _sums_of_finer(column, parts, step)
        for column, parts in (("usage", _USAGE), ("intensity", _INTENSITY))
        for step in (_HOURS, _DAYS)
    ),
    _same_as_without("hour", _HOURS),
    _same_as_without("day", _DAYS),
)
