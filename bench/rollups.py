"""P7, P8: rollups in SQL."""

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

import duckdb
from django.db import connection, transaction

from accounting.core.interval import Interval
from accounting.metering.tasks.facts import partitions
from accounting.usage.tasks.rollup import HOUR, roll_up_days, roll_up_hours
from bench import cluster
from bench.measure import Figure, interleaved, ratio

ROWS_P7 = 10_000_000
P8_TIMES = 6.4  # measured 5.8


def figures(wanted: set[str]) -> Iterator[Figure]:
    """The requested figures of this module (all if none is named)."""
    if not wanted or "P8" in wanted:
        yield from _dirty_hour()
    if not wanted or "P7" in wanted:
        yield _whole()


def _dirty_hour() -> Iterator[Figure]:
    ours: dict[int, float] = {}
    times = 0.0
    for gpus in (8192, 98_304):
        cluster.reset()
        cluster.make(gpus)
        cluster.load_windows(gpus, 0, 12)
        tables = (*partitions.ALL_HOURS, *partitions.ALL_DAYS)
        partitions.ensure(tables, cluster.START, cluster.START + HOUR)
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE usage_window")
        seconds = interleaved({"hour": _roll, "sums": stored_sums}, rounds=5)
        ours[gpus] = statistics.median(seconds["hour"])
        times = times or ratio(seconds["hour"], seconds["sums"])
    yield Figure(
        "P8",
        "one dirty hour of 98,304 facts, teams and money / its sums by GPU",
        times,
        P8_TIMES,
        at_most=True,
        detail={"ms": ours[8192] * 1000},
    )
    growth = ours[98_304] / ours[8192] / 12
    yield Figure(
        "P8", "12 times the facts / 12 times the time", growth, 1.3, at_most=True
    )


def stored_sums() -> None:
    """What any rollup of an hour has to do: its facts summed by GPU and stored, without prices."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_SUMS)


_SUMS = """
    CREATE TEMP TABLE sums ON COMMIT DROP AS
    SELECT date_bin('1 hour', window_start, 'epoch') AS hour_start, gpu_id, pod_id,
           sum(busy_ms) AS busy_ms, sum(idle_ms) AS idle_ms, sum(unknown_ms) AS unknown_ms,
           sum(free_ms) AS free_ms, sum(samples_expected) AS samples_expected,
           sum(samples_used) AS samples_used
    FROM usage_window GROUP BY 1, 2, 3
"""


def _roll() -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL jit = off; SET LOCAL work_mem = '128MB'")
        days = roll_up_hours(1, Interval.of(cluster.START, cluster.START + HOUR))
        roll_up_days(1, sorted(days))


_OURS = """
    SELECT date_bin('1 hour', window_start, 'epoch') AS hour, pod_id %% 200 AS team,
           sum(busy_ms), sum(idle_ms)
    FROM usage_window GROUP BY 1, 2 ORDER BY 1, 2
"""


def _whole() -> Figure:
    """All facts to (hour, team), against DuckDB on its own table, with the same number of threads.

    Both select and return the rows, and write none. Loaded data is vacuumed here and checkpointed
    there first, so that no cleanup runs within the rounds.
    """
    gpus = 8192
    count = -(-ROWS_P7 // gpus)
    cluster.reset()
    cluster.make(gpus)
    cluster.load_windows(gpus, 0, count)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM (ANALYZE) usage_window")
    with tempfile.TemporaryDirectory() as folder:
        rival = duckdb.connect(str(Path(folder) / "bench.duckdb"))
        rival.execute("SET threads = 2")
        _fill(rival, gpus, count)
        rival.execute("CHECKPOINT")
        answers = [_ours(), _rival(rival)]
        assert answers[0] == answers[1], "the rollups differ"
        seconds = interleaved({"rival": lambda: _rival(rival), "ours": _ours})
    return Figure(
        "P7",
        "rollup of 10 M facts to (hour, team) / DuckDB",
        ratio(seconds["rival"], seconds["ours"]),
        0.07,
        detail={
            "s": statistics.median(seconds["ours"]),
            "rival s": statistics.median(seconds["rival"]),
        },
    )


def _fill(rival: "duckdb.DuckDBPyConnection", gpus: int, count: int) -> None:
    import pandas as pd

    rival.execute(
        "CREATE TABLE facts (second BIGINT, pod_id INTEGER, busy_ms INTEGER, idle_ms INTEGER)"
    )
    for window in range(count):
        rows = cluster.window_rows(gpus, window)
        frame = pd.DataFrame(
            {
                "second": rows["window_start"].astype("int64") // 1_000_000,
                "pod_id": rows["pod_id"].astype("int32"),
                "busy_ms": rows["busy_ms"].astype("int32"),
                "idle_ms": rows["idle_ms"].astype("int32"),
            }
        )
        rival.append("facts", frame)


def _ours() -> list[tuple[int, int, int, int]]:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "SET LOCAL jit = off; SET LOCAL work_mem = '256MB';"
            "SET LOCAL max_parallel_workers_per_gather = 1;"  # plus the leader: two
            "SET LOCAL parallel_setup_cost = 0; SET LOCAL parallel_tuple_cost = 0"
        )
        cursor.execute(_OURS.replace("%%", "%"))
        return [
            (int(hour.timestamp()) - 946_684_800, int(team), int(busy), int(idle))
            for hour, team, busy, idle in cursor.fetchall()
        ]


def _rival(rival: "duckdb.DuckDBPyConnection") -> list[tuple[int, int, int, int]]:
    return [
        tuple(map(int, row))  # type: ignore[misc]
        for row in rival.execute(
            """SELECT second - second % 3600 AS hour, pod_id % 200 AS team,
                      sum(busy_ms), sum(idle_ms)
               FROM facts GROUP BY 1, 2 ORDER BY 1, 2"""
        ).fetchall()
    ]
