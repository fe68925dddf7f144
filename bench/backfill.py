"""Backfill: a day of 8,192 GPUs from files, in a separate process, measured once.

30 s samples of every GPU and 60 s samples of kube-state, as OpenMetrics text written hour by
hour; timed is `manage.py import_metrics`, from reading the files to the rollups.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from django.db import connection

from bench import cluster
from bench.fleet import Fleet
from bench.measure import Figure

GPUS = 8192
DAY_HOURS = 24
LIMIT_MIB = 1536


def figures(wanted: set[str], hours: int = DAY_HOURS) -> Iterator[Figure]:
    """The requested figures of this module (all if none is named).

    Args:
        wanted: goals; this one is "backfill".
        hours: imported hours of the day; fewer than 24 are reported.
    """
    if wanted and "backfill" not in wanted:
        return
    cluster.reset()
    with TemporaryDirectory(prefix="gpu-ledger-bench-") as name:
        paths = Fleet(GPUS, hours).write(Path(name))
        seconds, cpu_s, peak_mib = _import(paths)
    facts = _check(hours)
    what = f"backfill of {GPUS} GPUs x {hours} h of 30 s samples"
    if hours < DAY_HOURS:
        what += " (not the day)"
    yield Figure(
        "backfill",
        f"{what} / real time",
        hours * 3600 / seconds,
        100,
        detail={"s": seconds, "processor s": cpu_s, "facts": facts},
    )
    yield Figure(
        "backfill", "its peak memory", peak_mib, LIMIT_MIB, "MiB", at_most=True
    )


def _import(paths: list[Path]) -> tuple[float, float, float]:
    """Seconds, processor seconds and peak resident MiB of the command (no children)."""
    database = connection.settings_dict["NAME"]
    address = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{database}")
    started = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, "manage.py", "import_metrics", "--cluster", "bench", *paths],
        env={**os.environ, "DATABASE_URL": address.geturl()},
    )
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, f"import_metrics ended with {child.returncode}"
    cpu_s = usage.ru_utime + usage.ru_stime
    return time.perf_counter() - started, cpu_s, usage.ru_maxrss / 1024


def _check(hours: int) -> int:
    """The number of facts; checks that every millisecond of every GPU is in exactly one state."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT count(*), sum(busy_ms + idle_ms + unknown_ms + free_ms + stranded_ms
                                    + stray_ms + dark_ms), sum(samples_used)
               FROM usage_window"""
        )
        count, total, samples = cursor.fetchone()
    assert total == GPUS * hours * 3_600_000, f"{total} ms are booked"
    assert samples == GPUS * hours * 120, f"{samples} samples are used"
    return int(count)
