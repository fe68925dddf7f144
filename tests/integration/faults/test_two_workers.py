"""Two processes on one cluster: the ledger is that of one, and who lost a window is told.

Aspects: claims, leases, fences, sessions that end, imports beside each other. The second
worker is held at the door of its commit by a lock that the test has, so that no test
depends on who is faster. Not here: kills without a second worker (test_kill).
"""

import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.db import connection

from accounting.metering.models.cluster import Cluster
from portal.commands import CANNOT_RUN
from tests.builders import SETUP, two_hours
from tests.integration.faults.support import (
    LONGEST_S,
    ask,
    environment,
    ledger,
    process,
    started,
    unfinished,
)
from tests.integration.metering.support import clear, run
from tests.processes import wait_until

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.redis,
    pytest.mark.timeout(300),
]

FACTS_LOCK = 7102  # accounting/kit/locks.py
# in this database: other tests of this run use the same server
WAITING = """
    SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
CLAIMED = "SELECT 1 FROM accounting_ingestwindow WHERE state = 'claimed'"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The cluster as one file, as what kube-state shows, and as the exporters' samples."""
    text = two_hours()
    (tmp_path / "setup.yaml").write_text(SETUP)
    text.write(tmp_path / "all.om")
    text.write(tmp_path / "kube.om", text.text("kube"))
    text.write(tmp_path / "gpus.om", text.text("DCGM"))
    run("configure", tmp_path / "setup.yaml")
    return tmp_path


@pytest.fixture
def alone(folder: Path) -> dict[str, list[object]]:
    """What one worker says of the whole file; the database is empty again after it."""
    run("import_metrics", "--cluster=north", folder / "all.om")
    found = ledger()
    clear()
    run("configure", folder / "setup.yaml")
    return found


def kept(redis_url: str, path: Path) -> None:
    """Samples of a file, with their windows due and not one computed."""
    died = process(
        environment(redis_url, "kept"), "import_metrics", "--cluster=north", path
    )
    assert died.returncode == -signal.SIGKILL, died.stderr


@contextmanager
def nobody_commits() -> Iterator[None]:
    """Facts of the cluster can be written by this process only."""
    values = [FACTS_LOCK, Cluster.objects.get(name="north").pk]
    ask("SELECT pg_advisory_lock(%s, %s)", values)
    try:
        yield
    finally:
        ask("SELECT pg_advisory_unlock(%s, %s)", values)


def wait_at_the_door() -> None:
    """Return when the other worker wants to commit."""
    wait_until(lambda: bool(ask(WAITING)))


def ended(worker: subprocess.Popen[str]) -> str:
    """What a worker said that came to a good end."""
    said, wrong = worker.communicate(timeout=LONGEST_S)
    assert worker.returncode == 0, wrong
    return said


def windows_of(said: str) -> int:
    """How many windows a worker says that it wrote."""
    found = re.search(r"(\d+) windows", said)
    assert found, said
    return int(found[1])


def test_two_workers_share_the_work_and_the_ledger_is_that_of_one(
    folder: Path, alone: object, redis_url: str
) -> None:
    kept(redis_url, folder / "all.om")
    slow = environment(redis_url, "read:sleep:2")  # so that both have a share
    due = ask("SELECT count(*) FROM accounting_ingestwindow")[0][0]
    with started(slow, "ingest") as first, started(slow, "ingest") as second:
        shares = [windows_of(ended(first)), windows_of(ended(second))]
    assert all(shares), "both worked"
    assert sum(shares) == due, "no window was computed twice"
    run("ingest")  # rolls up what the other one was faster than
    assert unfinished() == []
    assert ledger() == alone
    assert "FAIL" not in run("verify")


def test_claimed_windows_are_left_to_who_has_them(
    folder: Path, alone: object, redis_url: str
) -> None:
    kept(redis_url, folder / "all.om")
    with nobody_commits(), started(environment(redis_url), "ingest") as other:
        wait_at_the_door()
        theirs = len(ask(CLAIMED))
        assert theirs > 0
        run("ingest")
        assert len(ask(CLAIMED)) == theirs
        connection.cursor().execute("SELECT pg_advisory_unlock_all()")
        assert windows_of(ended(other)) == theirs
    assert unfinished() == []
    assert ledger() == alone


def test_lease_that_ran_out_is_taken_and_its_old_owner_cannot_write(
    folder: Path, alone: object, redis_url: str
) -> None:
    kept(redis_url, folder / "all.om")
    with started(environment(redis_url), "ingest") as other:
        with nobody_commits():
            wait_at_the_door()
            ask(
                "UPDATE accounting_ingestwindow SET lease_until = now() - interval '1 s'"
                " WHERE state = 'claimed' RETURNING 1"
            )
            run("ingest")
            assert unfinished() == []
            assert ledger() == alone
        assert windows_of(ended(other)) == 0
    assert ledger() == alone


def test_result_from_before_a_late_sample_is_refused(
    folder: Path, alone: object, redis_url: str
) -> None:
    kept(redis_url, folder / "kube.om")
    with started(environment(redis_url), "ingest") as other:
        with nobody_commits():
            wait_at_the_door()  # with facts that know of no exporter
            run("import_metrics", "--cluster=north", folder / "gpus.om")
        ended(other)
    assert unfinished() == []
    assert ledger() == alone
    assert "FAIL" not in run("verify")


def test_worker_whose_session_ended_is_replaced_at_once_and_says_so(
    folder: Path, alone: object, redis_url: str
) -> None:
    kept(redis_url, folder / "all.om")
    with started(environment(redis_url), "ingest") as other:
        with nobody_commits():
            wait_at_the_door()
            for (pid,) in ask(WAITING):
                ask("SELECT pg_terminate_backend(%s)", [pid])
            _, wrong = other.communicate(timeout=LONGEST_S)
        assert other.returncode == CANNOT_RUN
        assert "terminating connection" in wrong
    run("ingest")
    assert unfinished() == []
    assert ledger() == alone


def test_two_imports_of_parts_at_once_give_the_whole(
    folder: Path, alone: object, redis_url: str
) -> None:
    seen = environment(redis_url)
    words = ("import_metrics", "--cluster=north")
    with (
        started(seen, *words, folder / "kube.om") as first,
        started(seen, *words, folder / "gpus.om") as second,
    ):
        ended(first)
        ended(second)
    run("ingest")
    assert unfinished() == []
    assert ledger() == alone


def test_samples_of_a_killed_import_are_observed_though_another_one_computed_them(
    folder: Path, alone: object, redis_url: str
) -> None:
    Cluster.objects.create(name="north")  # to be locked
    words = ("import_metrics", "--cluster=north")
    with started(environment(redis_url), *words, folder / "kube.om") as other:
        with nobody_commits():
            wait_at_the_door()
            kept(redis_url, folder / "gpus.om")
        ended(other)
    run(*words, folder / "gpus.om")
    assert unfinished() == []
    assert ledger() == alone
