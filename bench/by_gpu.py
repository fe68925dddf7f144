"""G1: usage by GPU from its rollups, compared with summing the five-minute facts.

The ratio is for one billing day that the product rolled up. The report of 30 days reads rollups
that SQL fills: two rows for each GPU and day, one of a pod and one that is unallocated.
"""

import statistics
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.db import connection

from accounting.access.scope import EVERYTHING
from accounting.core.interval import Interval
from accounting.kit.reads.selection import Selection
from accounting.metering.sql.states_sql import STATE_COLUMNS
from accounting.metering.tasks.facts import partitions
from accounting.metering.tasks.facts.commit import mark_hours
from accounting.prices.sql.charge_sql import GPU_COLUMNS, parameters, priced_facts
from accounting.usage.reads.usage import usage_rows
from accounting.usage.tasks import gpu_rollup
from accounting.usage.tasks.rollup import roll_up_dirty_hours
from bench import cluster
from bench.measure import Figure, interleaved, ratio
from bench.rollups import stored_sums

FEW, GPUS = 1024, 8192
DAYS = 30
MONTH_TIMES = 2.3  # measured 2.1
HOUR_TIMES = 9.8  # measured 8.9
# It was 115 until the sum of the facts became 2.5 times as fast; rollups take what they took.
FACTS_TIMES = (
    52  # 71 measured before the last of it, times 265 ms / 326 ms, less a tenth
)
FIRST_WINDOW = 22 * 12  # 22:00 UTC of 1 October is midnight in Berlin
WINDOWS = 288
HOUR = timedelta(hours=1)
DAY = Interval(
    cluster.START_MS + FIRST_WINDOW * cluster.WINDOW_MS,
    cluster.START_MS + (FIRST_WINDOW + WINDOWS) * cluster.WINDOW_MS,
)
MONTH = Interval(DAY.start_ms - (DAYS - 1) * 86_400_000, DAY.end_ms)

_SUMS = ", ".join(f"sum(u.{name})::bigint" for name in STATE_COLUMNS)
_ANSWER = f"""
    SELECT u.gpu_id, u.node_id, {_SUMS},
           sum((u.busy_ms + u.idle_ms + u.unknown_ms) * u.rate)
    FROM {{rows}} u GROUP BY u.gpu_id, u.node_id ORDER BY u.gpu_id, u.node_id
"""
_FACTS = _ANSWER.format(rows=f"({priced_facts(GPU_COLUMNS)})")
_ROLLUPS = _ANSWER.format(
    rows="(SELECT * FROM usage_gpu_day WHERE billing_on = '2026-10-02')"
)


def figures(wanted: set[str]) -> Iterator[Figure]:
    """The figures of this module that are wanted (all when none is named)."""
    if wanted and "G1" not in wanted:
        return
    yield _against_facts()
    yield _hour()
    yield _month()


def _against_facts() -> Figure:
    cluster.reset()
    cluster.make(FEW)
    cluster.load_windows(FEW, FIRST_WINDOW, WINDOWS)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM (ANALYZE) usage_window")
    mark_hours(1, [DAY.start + n * HOUR for n in range(24)], "facts")
    roll_up_dirty_hours(1)
    _settle()
    values = parameters(None, DAY.start, DAY.end)
    assert _rows(_FACTS, values) == _rows(_ROLLUPS, {}), "the answers differ"
    seconds = interleaved(
        {
            "facts": lambda: _rows(_FACTS, values),
            "rollups": lambda: _rows(_ROLLUPS, {}),
        },
        rounds=3,
    )
    times = ratio(seconds["facts"], seconds["rollups"])
    return Figure(
        "G1",
        "usage by GPU of a day, against its facts",
        times,
        FACTS_TIMES,
        detail={
            f"{name} ms": statistics.median(seconds[name]) * 1000 for name in seconds
        },
    )


def _hour() -> Figure:
    cluster.reset()
    cluster.make(GPUS)
    cluster.load_windows(GPUS, 0, 12)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM (ANALYZE) usage_window")
    hour = cluster.START
    mark_hours(1, [hour], "facts")
    roll_up_dirty_hours(1)  # the partitions exist

    def write() -> None:
        gpu_rollup.mark(1, {hour: [hour.date()]}, needs_hour=True)
        assert gpu_rollup.roll_up_by_gpu(1) == 1

    seconds = interleaved({"hour": write, "sums": stored_sums}, rounds=5)
    return Figure(
        "G1",
        f"one hour of {GPUS} GPUs written by GPU, and its day / its sums by GPU",
        ratio(seconds["hour"], seconds["sums"]),
        HOUR_TIMES,
        at_most=True,
        detail={"ms": statistics.median(seconds["hour"]) * 1000},
    )


def fill_month() -> None:
    """Rollups by GPU of a month, filled by SQL."""
    cluster.reset()
    cluster.make(GPUS)
    tables = (*partitions.ALL_HOURS, *partitions.ALL_DAYS)
    partitions.ensure(tables, MONTH.start - 48 * HOUR, MONTH.end)
    with connection.cursor() as cursor:
        for statement in _FILL:
            cursor.execute(statement, {"days": DAYS, "gpus": GPUS})
    _settle()


def _month() -> Figure:
    fill_month()

    def report() -> None:
        found = usage_rows(Selection(EVERYTHING, MONTH), ("gpu",))
        assert len(found) == GPUS
        assert sum(row.busy_ms for row in found) == DAYS * GPUS * BUSY_MS

    seconds = interleaved(
        {"report": report, "sums": lambda: _rows(_BARE, {})}, rounds=5
    )
    return Figure(
        "G1",
        f"usage by GPU of {DAYS} days of {GPUS} GPUs / the bare sums of the same rows",
        ratio(seconds["report"], seconds["sums"]),
        MONTH_TIMES,
        at_most=True,
        detail={"ms": statistics.median(seconds["report"]) * 1000, **_bytes()},
    )


_BARE = """
    SELECT gpu_id, model, currency, sum(busy_ms), sum(idle_ms), sum(unknown_ms),
           sum((busy_ms + idle_ms + unknown_ms) * rate), sum(idle_ms * rate),
           sum(samples_expected), sum(samples_used)
    FROM usage_gpu_day WHERE namespace_id <> 0 GROUP BY gpu_id, model, currency
"""
"""What any report by GPU has to do: held time and its raw money, without names and rounding."""
BUSY_MS = 60_000_000
_KEY = (
    "namespace_id, team_id, workload_id, model, lifecycle, tier, price_id, gpu_price_id"
)
_PRICED = "rate, cost, gpu_rate, gpu_cost, currency, samples_expected, samples_used"
_SPREAD = """
    FROM generate_series(1, %(gpus)s) i,
         (SELECT min(id) AS id FROM accounting_unitprice WHERE lifecycle = '') p,
         LATERAL (VALUES
            (1 + i %% 200, 1 + i %% 200, 1 + i %% 2048, 'batch', {busy}, {idle}, 0),
            (0, 0, 0, '', 0, 0, {free})
         ) AS line(namespace, team, workload, tier, busy, idle, free)
"""
_VALUES = """line.namespace, line.team, line.workload, 'A100', 'on-demand', line.tier, p.id, p.id,
       2.10, 1.70, 2.10, 1.70, 'EUR', 8640, 8640, line.busy, line.idle, line.free"""
_FILL = (
    f"""
    INSERT INTO usage_gpu_day (cluster_id, billing_on, gpu_id, node_id, {_KEY}, {_PRICED},
                               busy_ms, idle_ms, free_ms)
    SELECT 1, date '2026-10-02' - n, i, 1 + (i - 1) / 8, {_VALUES}
    {_SPREAD.format(busy=BUSY_MS, idle=20_000_000, free=6_400_000)},
    generate_series(0, %(days)s - 1) n ORDER BY n, i
    """,
    f"""
    INSERT INTO usage_gpu_hour (cluster_id, hour_start, billing_on, gpu_id, node_id, {_KEY},
                                {_PRICED}, busy_ms, idle_ms, free_ms)
    SELECT 1, h, (h AT TIME ZONE 'Europe/Berlin')::date, i, 1 + (i - 1) / 8, {_VALUES}
    {_SPREAD.format(busy=2_500_000, idle=800_000, free=300_000)},
    generate_series(timestamptz '2026-10-01 22:00Z', '2026-10-02 21:00Z', '1 hour') h
    ORDER BY h, i
    """,
    f"""
    INSERT INTO usage_day (cluster_id, billing_on, {_KEY}, {_PRICED}, busy_ms, idle_ms, free_ms)
    SELECT cluster_id, billing_on, {_KEY}, max(rate), max(cost), max(gpu_rate), max(gpu_cost),
           max(currency), sum(samples_expected), sum(samples_used), sum(busy_ms),
           sum(idle_ms), sum(free_ms)
    FROM usage_gpu_day GROUP BY cluster_id, billing_on, {_KEY}
    """,
)


def _rows(query: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return list(cursor.fetchall())


def _settle() -> None:
    with connection.cursor() as cursor:
        for table in (*partitions.ALL_HOURS, *partitions.ALL_DAYS):
            cursor.execute(f"VACUUM (ANALYZE) {table.name}")


def _bytes() -> dict[str, float]:
    """Bytes of the rollups by GPU for each GPU and year, with indexes."""
    found = {}
    for name, times in (
        ("usage_gpu_hour", 24 * 365),
        ("usage_gpu_day", 365),
    ):
        [(size, rows)] = _rows(
            f"""SELECT sum(pg_total_relation_size(i.inhrelid))::bigint,
                       (SELECT count(*) FROM {name})
                FROM pg_inherits i WHERE i.inhparent = '{name}'::regclass""",
            {},
        )
        found[f"{name}_bytes_a_row"] = size / rows
        found[f"{name}_MB_a_GPU_year"] = size / rows * times / 1e6
    return found
