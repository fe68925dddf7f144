"""P1, P2, P6: facts into Postgres."""

import statistics
from collections.abc import Iterator
from datetime import timedelta

import numpy as np
from django.db import connection

from accounting.core.interval import Interval
from accounting.metering.models.usage import UsageWindow
from accounting.metering.tasks.facts import partitions, write_facts
from accounting.metering.tasks.facts.commit import write_windows
from accounting.metering.tasks.windows import leases, schedule
from accounting.metering.tasks.windows.window_results import WindowResult
from bench import cluster
from bench.measure import Figure, interleaved, ratio

GPUS = 8192
WINDOWS = 24
_NONE = np.zeros(0, write_facts.INTENSITY_ROW)
SMALL = 4096  # rows for the slow alternative


def figures(wanted: set[str]) -> Iterator[Figure]:
    """The requested figures of this module (all if none is named)."""
    if not wanted or wanted & {"P1", "P2"}:
        yield from _copies()
    if not wanted or "P6" in wanted:
        yield _repeat(1, "an unchanged window again / its first load")
        yield _repeat(12, "an unchanged hour (the unit of work) again / its first load")


def _rows() -> "np.ndarray":
    return np.concatenate([cluster.window_rows(GPUS, w) for w in range(WINDOWS)])


def _empty() -> None:
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE usage_window, intensity_window")
        cursor.execute("CHECKPOINT")


def _total() -> tuple[int, int]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*), coalesce(sum(busy_ms), 0) FROM usage_window")
        count, busy = cursor.fetchone()
    return int(count), int(busy)


def _copies() -> Iterator[Figure]:
    cluster.reset()
    end = cluster.START + timedelta(days=1)
    partitions.ensure([partitions.WINDOWS], cluster.START, end)
    rows = _rows()
    path = _server_file(rows)

    def server() -> None:
        with connection.cursor() as cursor:
            names = ", ".join(name for name, _ in write_facts.COLUMNS)
            cursor.execute(f"COPY usage_window ({names}) FROM '{path}' (FORMAT binary)")

    answers = set()
    for run in (server, lambda: write_facts.copy_rows(rows)):
        _empty()
        run()
        answers.add(_total())
    assert len(answers) == 1, answers
    seconds = interleaved(
        {"server": server, "ours": lambda: write_facts.copy_rows(rows)},
        before=lambda _: _empty(),
    )
    value = ratio(seconds["server"], seconds["ours"])
    rate = len(rows) / min(seconds["ours"])
    yield Figure(
        "P1",
        "window write / server-side binary COPY",
        value,
        0.75,
        detail={"rows/s": rate},
    )
    yield _against_bulk_create(rows[:SMALL])


def _server_file(rows: "np.ndarray") -> str:
    """A binary COPY file that the server can read."""
    with connection.cursor() as cursor:
        write_facts.copy_rows(rows)
        names = ", ".join(name for name, _ in write_facts.COLUMNS)
        cursor.execute("SHOW data_directory")
        path = f"{cursor.fetchone()[0]}/bench.copy"
        cursor.execute(
            f"COPY (SELECT {names} FROM usage_window) TO '{path}' (FORMAT binary)"
        )
    return path


def _against_bulk_create(rows: "np.ndarray") -> Figure:
    epoch = cluster.START - timedelta(milliseconds=cluster.START_MS)

    def bulk_create() -> None:
        UsageWindow.objects.bulk_create(
            [
                UsageWindow(
                    **{
                        n: int(row[n])
                        for n, _ in write_facts.COLUMNS
                        if n != "window_start"
                    },
                    window_start=epoch
                    + timedelta(
                        microseconds=int(row["window_start"]) + 946_684_800_000_000
                    ),
                )
                for row in rows
            ],
            batch_size=1000,
        )

    answers = set()
    for run in (bulk_create, lambda: write_facts.copy_rows(rows)):
        _empty()
        run()
        answers.add(_total())
    assert len(answers) == 1, answers
    seconds = interleaved(
        {"rival": bulk_create, "ours": lambda: write_facts.copy_rows(rows)},
        before=lambda _: _empty(),
    )
    return Figure(
        "P2",
        "window write / Django bulk_create",
        ratio(seconds["rival"], seconds["ours"]),
        20,
    )


def _repeat(count: int, what: str) -> Figure:
    """The write stage of unchanged windows, against their first load."""
    cluster.reset()
    cluster.make(GPUS)
    end = cluster.START + timedelta(days=1)
    partitions.ensure([partitions.WINDOWS], cluster.START, end)
    whole = Interval(cluster.START_MS, cluster.START_MS + count * cluster.WINDOW_MS)
    parts = [
        (window, write_facts.Facts(cluster.window_rows(GPUS, n), _NONE))
        for n, window in enumerate(whole.windows())
    ]
    held: list[leases.WindowLease] = []

    def prepare(name: str) -> None:
        if name == "first":
            _empty()
            with connection.cursor() as cursor:
                cursor.execute("DELETE FROM accounting_ingestwindow")
        schedule.mark(1, [whole], "bench", create=True)
        claimed = leases.claim(1)
        assert claimed is not None
        assert len(claimed.windows) == count
        held[:] = [claimed]

    def write() -> None:
        """The write stage of `metering.tasks.pipeline`: `facts.commit` of computed facts."""
        results = [
            (
                WindowResult(
                    window,
                    len(stored.rows),
                    stored.content_hash,
                    samples_expected=0,
                    samples_seen=0,
                    is_partial=False,
                    read_ms=0,
                ),
                stored,
            )
            for window, stored in parts
        ]
        write_windows(held[0], results)

    seconds = interleaved({"first": write, "again": write}, before=prepare, rounds=9)
    assert _total()[0] == count * GPUS
    prepare("again")
    before = _fact_writes()
    write()
    changed = _fact_writes() - before
    value = ratio(seconds["first"], seconds["again"]) if changed == 0 else 0.0
    return Figure(
        "P6",
        what,
        value,
        10,
        detail={"fact rows": changed, "ms": 1000 * statistics.median(seconds["again"])},
    )


def _fact_writes() -> int:
    """Rows ever written to or deleted from the fact partitions."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute(
            """SELECT coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)
               FROM pg_stat_user_tables WHERE relname LIKE 'usage_window%'"""
        )
        return int(cursor.fetchone()[0])
