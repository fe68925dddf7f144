"""P29: live windows of 100,000 GPUs, each with all that it makes due.

Every five minutes one window is new, the two before are read again, and their hour and day are
rolled up. Samples come from `bench.live_server`, whose own time is named and taken off nothing. The
ledger is compared: every millisecond of every GPU is in exactly one state.
"""

import cProfile
import pstats
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any

from django.db import connection

from accounting.core.interval import WINDOW_MS, Interval
from accounting.metering.models.cluster import Cluster, Source
from accounting.metering.tasks import live_sources
from accounting.metering.tasks.windows import schedule
from accounting.usage.tasks.catch_up import catch_up
from bench import cluster
from bench.fleet import START_S, Fleet
from bench.live_server import live
from bench.measure import Figure, peak_rss

GPUS, STEPS = 100_000, 3
WINDOW_S = WINDOW_MS // 1000
STAGES = {
    "request": ("http.py", "fetch"),
    "decode": ("prometheus.py", "read"),
    "evidence": ("observe.py", "observe_period"),
    "attribute": ("attribute.py", "attribute"),
    "facts": ("commit.py", "write_windows"),
    "rollups": ("rollup.py", "_roll"),
    "by GPU": ("gpu_rollup.py", "roll_up_by_gpu"),
}
_PRESENT: list[Any] = []  # of the server, in the process that is measured
_SIZES = """
    SELECT coalesce(parent.relname, c.relname), sum(pg_total_relation_size(c.oid))::bigint
    FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
    LEFT JOIN pg_class parent ON parent.oid = i.inhparent
    WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace
    GROUP BY 1 ORDER BY 2 DESC LIMIT 9
"""


@dataclass
class Measured:
    """What the steps took, in seconds, and what they left.

    Attributes:
        stages: seconds of each stage by step; a stage inside another one is in both.
        again_s: reading all of these windows again, unchanged.
    """

    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    stages: list[dict[str, float]] = field(default_factory=list)
    again_s: float = 0.0
    samples: int = 0
    mib: float = 0.0
    sizes: dict[str, int] = field(default_factory=dict)


def figures(wanted: set[str], gpus: int = GPUS, steps: int = STEPS) -> Iterator[Figure]:
    """The figure of this module, if none is named or it is.

    Args:
        wanted: names of figures.
        gpus: how many there are.
        steps: live windows; the first has to find everything and does not count.
    """
    if wanted and "P29" not in wanted:
        return
    cluster.reset()
    connection.close()
    with live(Fleet(gpus, 2)) as (url, now):
        fork = get_context("fork")
        with ProcessPoolExecutor(1, fork, _PRESENT.append, (now,)) as child:
            found = child.submit(_measured, gpus, steps, url).result()
    yield _figure(gpus, found)


def _figure(gpus: int, found: Measured) -> Figure:
    later = found.stages[1:]
    detail = {
        f"{name} s": statistics.median(one[name] for one in later) for name in STAGES
    }
    for table, size in found.sizes.items():
        print(f"{table:<32} {size / (1 << 20):10.1f} MiB")
    return Figure(
        "P29",
        f"processor time of a live window of {gpus:,} GPUs",
        statistics.median(found.cpu[1:]),
        WINDOW_S / 2,
        "s",
        at_most=True,
        detail={
            "first": found.seconds[0],
            "s": statistics.median(found.seconds[1:]),
            **detail,
            "again s": found.again_s,
            "samples": found.samples,
            "MiB": found.mib,
        },
    )


def _measured(gpus: int, steps: int, url: str) -> Measured:
    found, ours = Measured(), Cluster.objects.create(name="bench")
    Source.objects.create(
        cluster=ours,
        name="prometheus",
        kind="prometheus",
        settings={"url": url, "timeout_s": 300},
    )
    first = START_S + 3600 - steps * WINDOW_S
    schedule.mark(ours.pk, [_window(first)], "bench", create=True)
    for step in range(steps):
        _PRESENT[0].value = now_s = first + (step + 1) * WINDOW_S + 30
        _step(found, ours, now_s)
    whole = Interval(first * 1000, (first + steps * WINDOW_S) * 1000)
    schedule.read_again(ours.pk, whole)
    began = time.perf_counter()
    again = catch_up(ours).ingested
    assert again.rows_written == 0, "windows with the same samples were written again"
    found.again_s = time.perf_counter() - began
    found.mib = peak_rss() / (1 << 20)
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT sum(busy_ms + idle_ms + unknown_ms + free_ms + stray_ms + stranded_ms
                          + dark_ms), sum(samples_used) FROM usage_window"""
        )
        total, found.samples = map(int, cursor.fetchone())
        cursor.execute(_SIZES)
        found.sizes = dict(cursor.fetchall())
    assert total == gpus * whole.length_ms, f"{total} ms of {gpus * whole.length_ms}"
    connection.close()
    return found


def _window(at_s: int) -> Interval:
    return Interval(at_s * 1000, (at_s + WINDOW_S) * 1000)


def _step(found: Measured, ours: Cluster, now_s: float) -> None:
    live_sources.find_due(ours, lambda: int(now_s * 1000))
    profile = cProfile.Profile()
    began, processor = time.perf_counter(), time.process_time()
    done = profile.runcall(catch_up, ours)
    found.seconds.append(time.perf_counter() - began)
    found.cpu.append(time.process_time() - processor)
    assert not done.left.due, done
    assert not done.ingested.failed, done
    taken = {
        (key[0].rpartition("/")[2], key[2]): value[3]
        for key, value in pstats.Stats(profile).stats.items()  # type: ignore[attr-defined]
    }
    found.stages.append({name: taken.get(at, 0.0) for name, at in STAGES.items()})
    print(f"{found.seconds[-1]:6.1f} s", found.stages[-1], flush=True)
