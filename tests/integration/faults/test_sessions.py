"""Sessions of PostgreSQL that end under a worker, and what a process may remember then.

Aspects: `pg_terminate_backend` at several moments, of commands and of one that follows;
rows and partitions that a crash took back. On the database that all tests share. Not here:
servers that are killed (test_services_lost).
"""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from django.conf import settings
from django.db import connection, transaction
from pytest_django import Settings

from accounting.core.interval import HOUR_MS, Interval
from accounting.metering.models.cluster import Cluster, Source
from accounting.metering.models.ledger import BufferBlock, BufferSeries
from accounting.metering.sources.exposition import RawSeries
from accounting.metering.sources.samples import SampleBatch
from accounting.metering.tasks.facts import partitions
from accounting.metering.tasks.pipeline import ingest_all
from accounting.metering.tasks.reading import scrape_buffer
from accounting.metering.tasks.windows import schedule
from accounting.usage.tasks.catch_up import catch_up
from portal.commands import CANNOT_RUN
from tests.builders import HOUR_ZERO, SETUP, two_hours
from tests.database_copies import connected_to, copy_of
from tests.integration.faults.support import (
    LONGEST_S,
    ask,
    environment,
    ledger,
    started,
    unfinished,
)
from tests.integration.metering.support import run
from tests.processes import wait_until

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.redis,
    pytest.mark.timeout(500),
]

NEXT_ROUND_S = 240.0  # many of these machines are slow
STILL = """
    SELECT 1 FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
      AND state LIKE 'idle%%' AND state_change < clock_timestamp() - interval '1.5 s'
"""  # the worker has come to its failpoint
WAITS = """
    SELECT 1 FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'
"""
DAY = Interval(HOUR_ZERO * 1000, HOUR_ZERO * 1000 + 24 * HOUR_MS)
IN_ITS_WORK = STILL + " AND state = 'idle in transaction'"  # not while it starts


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The cluster as a file, and its set-up."""
    (tmp_path / "setup.yaml").write_text(SETUP)
    two_hours().write(tmp_path / "all.om")
    return tmp_path


@pytest.mark.parametrize(
    "moment", ["read", "folded", "facts_deleted", "before_commit", "rolling_up"]
)
def test_sessions_ended_at_any_moment_cost_nothing(
    moment: str, folder: Path, redis_url: str
) -> None:
    run("configure", folder / "setup.yaml")
    words = ("import_metrics", "--cluster=north", folder / "all.om")
    run(*words)
    wanted = ledger()
    forget_facts()
    with started(environment(redis_url, f"{moment}:sleep:4"), "ingest") as worker:
        wait_until(lambda: bool(ask(STILL)))
        end_other_sessions()
        _, wrong = worker.communicate(timeout=LONGEST_S)
    assert worker.returncode == CANNOT_RUN, wrong
    assert "the database connection was lost: terminating connection" in wrong
    assert "Traceback" not in wrong
    run("ingest")
    assert unfinished() == []
    assert ledger() == wanted


def test_follower_goes_on_after_its_session_was_ended(
    folder: Path, redis_url: str
) -> None:
    run("configure", folder / "setup.yaml")
    run("import_metrics", "--cluster=north", folder / "all.om")
    wanted = ledger()
    forget_facts()
    words = ("ingest", "--follow=1")
    with started(environment(redis_url, "before_commit:sleep:4"), *words) as worker:
        wait_until(lambda: bool(ask(IN_ITS_WORK)))
        end_other_sessions()
        wait_until(
            lambda: unfinished() == [] or worker.poll() is not None, NEXT_ROUND_S
        )
        assert worker.poll() is None
    assert ledger() == wanted


def test_worker_that_falls_silent_in_a_transaction_is_ended_by_the_server(
    folder: Path, redis_url: str
) -> None:
    """As one whose machine lost power: it has locks, and will never say anything again."""
    run("configure", folder / "setup.yaml")
    run("import_metrics", "--cluster=north", folder / "all.om")
    wanted = ledger()
    forget_facts()
    quick = {"idle_in_transaction_session_timeout": "3s"}  # SESSION has ten minutes
    assert set(quick) <= set(settings.SESSION)
    seen = environment(redis_url, "before_commit:sleep:300", **quick)
    with started(seen, "ingest") as worker:
        wait_until(lambda: bool(ask(STILL)))
        run("ingest")  # waits for its locks
        assert worker.poll() is None
    run("ingest")  # what was claimed by it when the first one began
    assert unfinished() == []
    assert ledger() == wanted


def test_every_session_begins_with_the_settings() -> None:
    for name, value in settings.SESSION.items():
        [(found,)] = ask("SELECT current_setting(%s)", [name])
        on_socket = {"0"} if name.startswith("tcp_") else set()
        assert found in {value} | on_socket, name


def test_long_backfill_is_done_ring_by_ring(
    folder: Path, redis_url: str, settings: Settings
) -> None:
    settings.INGEST_HOURS_AT_ONCE = 1
    run("configure", folder / "setup.yaml")
    run("import_metrics", "--cluster=north", folder / "all.om")
    forget_facts()
    cluster = Cluster.objects.get(name="north")
    rings = 0
    while ingest_all(cluster, for_s=0).windows:
        rings += 1
    assert rings == 3  # one hour each
    assert ask("SELECT 1 FROM accounting_ingestwindow WHERE state <> 'done'") == []


def test_a_command_waits_for_windows_that_an_import_holds(folder: Path) -> None:
    run("configure", folder / "setup.yaml")
    run("import_metrics", "--cluster=north", folder / "all.om")
    forget_facts()
    cluster = Cluster.objects.get(name="north")
    held = threading.Event()

    def hold() -> None:
        """As an import that folds: its windows are marked and not committed."""
        with transaction.atomic():
            schedule.mark(cluster.pk, [DAY], "late", create=False)
            held.set()
            wait_until(lambda: bool(ask(WAITS)))
        connection.close()

    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(hold)
        assert held.wait(LONGEST_S)
        left = catch_up(cluster).left
        other.result()
    assert (left.due, left.claimed) == (0, 0)


def forget_facts() -> None:
    """All windows are due again, as after an import that was never computed."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE accounting_ingestwindow SET state = 'pending', content_hash = NULL"
        )
        cursor.execute(f"TRUNCATE {partitions.TABLES}")


def end_other_sessions() -> None:
    """What an administrator does before maintenance."""
    ask(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )


def batch(uuid: str, at: int) -> SampleBatch:
    """One sample of one GPU."""
    raw = RawSeries("DCGM_FI_DEV_GPU_UTIL", (("Hostname", "n1"), ("UUID", uuid)))
    return SampleBatch(
        [raw], np.zeros(1, np.int32), np.array([at * 1000]), np.array([50.0])
    )


def test_memory_of_rows_ends_with_the_database() -> None:
    """A backup is restored under the same name while processes run."""
    empty = connection.settings_dict["NAME"]
    restored = f"{empty}_restored"
    ours = Interval(HOUR_ZERO * 1000, HOUR_ZERO * 1000 + 300_000)
    for uuid in ("GPU-old", "GPU-new"):
        with copy_of(empty, restored), connected_to(restored):
            cluster = Cluster.objects.create(name="north")
            source = Source.objects.create(cluster=cluster, name="live", kind="scrape")
            assert scrape_buffer.append(source, batch(uuid, HOUR_ZERO)) == 1
            found = scrape_buffer.read(source, ours).series
            assert [series.gpu.uuid for series in found if series.gpu] == [uuid]


def test_memory_of_rows_ends_with_the_servers_life() -> None:
    """The server crashes, loses its last commits and gives their ids to other rows."""
    cluster = Cluster.objects.create(name="north")
    source = Source.objects.create(cluster=cluster, name="live", kind="scrape")
    assert scrape_buffer.append(source, batch("GPU-old", HOUR_ZERO)) == 1
    with connection.cursor() as cursor:
        cursor.execute(
            "TRUNCATE accounting_bufferblock, accounting_bufferseries RESTART IDENTITY"
        )
    ask("SELECT pg_stat_reset_shared('bgwriter')")  # as every crash does
    connection.close()
    assert scrape_buffer.append(source, batch("GPU-new", HOUR_ZERO + 30)) == 1
    assert scrape_buffer.append(source, batch("GPU-old", HOUR_ZERO + 60)) == 1
    assert BufferSeries.objects.count() == 2
    assert BufferBlock.objects.count() == 2
    ours = Interval(HOUR_ZERO * 1000, HOUR_ZERO * 1000 + 300_000)
    found = {
        series.gpu.uuid: series.times_ms.tolist()
        for series in scrape_buffer.read(source, ours).series
        if series.gpu
    }
    assert found == {
        "GPU-new": [(HOUR_ZERO + 30) * 1000],
        "GPU-old": [(HOUR_ZERO + 60) * 1000],
    }
