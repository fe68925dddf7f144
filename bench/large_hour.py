"""P30: the facts of one hour of 100,000 GPUs, written, rolled up and by GPU, and their bytes.

Each live window makes its hour due: the last one of an hour rolls up all of its facts. What the
hour has must be what was written.
"""

import time
from collections.abc import Callable, Iterator
from datetime import timedelta

from django.db import connection, transaction

from accounting.core.interval import Interval
from accounting.metering.tasks.facts import partitions
from accounting.usage.tasks.gpu_rollup import roll_up_by_gpu
from accounting.usage.tasks.rollup import roll_up_days, roll_up_hours
from bench import cluster
from bench.measure import Figure

GPUS, WINDOWS, LIMIT_S = 100_000, 12, 150
HOUR = timedelta(hours=1)
_BYTES = """
    SELECT sum(pg_total_relation_size(c.oid)) / (SELECT count(*) FROM {table})
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = '{table}'::regclass
"""


def figures(wanted: set[str], gpus: int = GPUS) -> Iterator[Figure]:
    """The figure of this module, if none is named or it is."""
    if wanted and "P30" not in wanted:
        return
    cluster.reset()
    cluster.make(gpus)
    hour = Interval.of(cluster.START, cluster.START + HOUR)
    partitions.ensure(
        (*partitions.ALL_HOURS, *partitions.ALL_DAYS), hour.start, hour.end
    )
    detail = {"facts s": _timed(lambda: cluster.load_windows(gpus, 0, WINDOWS))}
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE usage_window")
    took = _timed(lambda: _roll(hour))
    detail["by GPU s"] = _timed(lambda: roll_up_by_gpu(1))
    for table in ("usage_window", "usage_hour", "usage_gpu_hour", "usage_gpu_day"):
        detail[f"bytes of {table}"] = _value(_BYTES.format(table=table))
    detail["rows of the hour"] = _value("SELECT count(*) FROM usage_hour")
    total = "SELECT sum(busy_ms + idle_ms) FROM"
    wanted_ms = gpus * WINDOWS * cluster.WINDOW_MS
    for table in ("usage_window", "usage_hour", "usage_day", "usage_gpu_hour"):
        assert _value(f"{total} {table}") == wanted_ms, table
    what = f"hour and day of {gpus * WINDOWS:,} facts rolled up"
    yield Figure("P30", what, took, LIMIT_S, "s", at_most=True, detail=detail)


def _roll(hour: Interval) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL jit = off; SET LOCAL work_mem = '128MB'")
        roll_up_days(1, sorted(roll_up_hours(1, hour)))


def _timed(run: Callable[[], object]) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def _value(query: str) -> float:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return float(cursor.fetchone()[0])
