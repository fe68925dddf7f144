"""Redis lost with every ring in it; PostgreSQL killed under load, and what it forgets.

Aspects: the sweeper derives missing work from PostgreSQL; a worker goes on by itself after
its server was killed in the middle of commits; a crash is the end of a life of the server.
Redis and PostgreSQL are embedded servers of these tests, killed by SIGKILL and started
again by their keeper. Not here: single sessions (test_sessions), pages while services are
away (portal).
"""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
import redis

from accounting.metering.tasks import database_cache
from portal.celery import app
from portal.embedded import lease, roles
from portal.embedded.paths import HomePaths
from portal.embedded.supervisor import Supervisor, child_environment
from tests.builders import SETUP, two_hours
from tests.integration.faults.support import SECRET, process
from tests.integration.metering.support import run
from tests.processes import processes_of, wait_until

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.redis,
    pytest.mark.timeout(400),
]

SWEPT_S = 240.0  # many of these machines are slow
QUICK_CLOCK = (
    "--app=tests.integration.faults.quick_clock"  # not a minute between sweeps
)
BACK_S = 90.0  # until a killed server answers again
KILLS = 3
HALF_DONE = "facts_copied:sleep:4"  # one commit has all windows: each kill must meet it
REPORTS = (
    ("report", "ledger", "--by=gpu,hour", "--format=json"),
    ("report", "usage", "--by=hour,team,namespace", "--format=json"),
    ("report", "holds", "--format=json"),
)


class Portal:
    """A portal with embedded servers of its own; worker and clock start on request."""

    def __init__(self, places: HomePaths, logs: Path) -> None:
        self.places = places
        self.seen = child_environment(
            SECRET_KEY=SECRET,
            DATABASE_URL=places.database_url,
            REDIS_URL=places.redis_url,
            DJANGO_SETTINGS_MODULE="portal.settings",
            GPU_LEDGER_LOCAL="1",
            WORKER_PROCESSES="1",
        )
        slow = {**self.seen, "GPU_LEDGER_FAILPOINT": HALF_DONE}
        self.supervisor = Supervisor(slow, logs, lambda _text: None)

    def manage(self, *words: str | Path, failpoint: str = "") -> str:
        """What a command says; it ends well, or dies where it shall."""
        done = process({**self.seen, "GPU_LEDGER_FAILPOINT": failpoint}, *words)
        assert done.returncode == (-signal.SIGKILL if failpoint else 0), done.stderr
        return done.stdout

    def keep(self, folder: Path) -> None:
        """Set up, then keep the samples of the file: all is due, nothing is computed."""
        self.manage("configure", folder / "setup.yaml")
        words = ("import_metrics", "--cluster=north", folder / "all.om")
        self.manage(*words, failpoint="kept")

    def count(self, of: str) -> int:
        """How many rows; -1 while the database is away."""
        with (
            suppress(psycopg.OperationalError),
            psycopg.connect(self.places.database_url) as database,
        ):
            counted = f"SELECT count(*) FROM accounting_{of}"  # noqa: S608  # a test's own word
            found = database.execute(counted).fetchone()
            return int(found[0]) if found else -1
        return -1

    def life(self) -> str:
        """Which life of the server this is."""
        with psycopg.connect(self.places.database_url) as database:
            found = database.execute(database_cache.LIFE).fetchone()
        return str(found[0] if found else "")

    def is_claimed(self) -> bool:
        """True while a worker has windows."""
        return self.count("ingestwindow WHERE state = 'claimed'") > 0

    def is_finished(self) -> bool:
        """True when no window and no hour waits; worker and clock are kept running."""
        self.supervisor.watch(seconds=0.5)
        waiting = self.count("ingestwindow WHERE state <> 'done'")
        return waiting == 0 and self.count("dirtyhour") == 0

    def rings(self) -> int:
        """How many messages wait in Redis."""
        with redis.Redis(unix_socket_path=str(self.places.redis_socket)) as client:
            return int(client.llen("celery"))

    def ring(self) -> None:
        """Ask for a sweep, as the clock does each minute."""
        broker = f"redis+socket://{self.places.redis_socket}"
        with app.connection_for_write(broker) as connection:
            app.send_task("accounting.tasks.sweep", connection=connection)

    def kill_redis(self) -> None:
        """Kill Redis; returns when another one answers."""
        running = processes_of(str(self.places.home)).items()
        [pid] = [pid for pid, line in running if "redis-server" in line]
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: pid not in processes_of(str(self.places.home)), BACK_S)

        def answers() -> bool:
            with suppress(redis.RedisError):
                return self.rings() >= 0
            return False

        wait_until(answers, BACK_S)

    def kill_postgres(self) -> None:
        """Kill the head of PostgreSQL; returns when it answers again."""
        head = self.places.postgres / "postmaster.pid"
        pid = int(head.read_text().split("\n", 1)[0])
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: pid not in processes_of(str(self.places.home)), BACK_S)
        wait_until(lambda: self.count("cluster") >= 0, BACK_S)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The cluster as a file, and its set-up."""
    (tmp_path / "setup.yaml").write_text(SETUP)
    two_hours().write(tmp_path / "all.om")
    return tmp_path


@pytest.fixture
def wanted(folder: Path) -> list[str]:
    """What the reports say where nothing was ever lost."""
    run("configure", folder / "setup.yaml")
    run("import_metrics", "--cluster=north", folder / "all.om")
    return [run(*words) for words in REPORTS]


@pytest.fixture
def portal(tmp_path: Path) -> Iterator[Portal]:
    """A portal whose servers may be killed."""
    home = tmp_path / "home"
    made = Portal(lease.acquire(home, is_temporary=True), tmp_path / "logs")
    yield made
    made.supervisor.stop()
    lease.release(home)


def test_lost_rings_are_derived_again_from_postgres(
    portal: Portal, folder: Path, wanted: list[str]
) -> None:
    portal.keep(folder)
    portal.ring()
    assert portal.rings() == 1
    portal.kill_redis()
    assert portal.rings() == 0, "the ring is lost"
    portal.supervisor.start("worker", roles.worker())
    clock = [QUICK_CLOCK if w == "--app=portal.beat" else w for w in roles.beat()]
    assert QUICK_CLOCK in clock
    portal.supervisor.start("beat", clock)
    wait_until(portal.is_finished, SWEPT_S)
    assert [portal.manage(*words) for words in REPORTS] == wanted
    assert "FAIL" not in portal.manage("verify")


def test_worker_goes_on_after_postgres_was_killed_in_the_middle_of_commits(
    portal: Portal, folder: Path, wanted: list[str]
) -> None:
    portal.keep(folder)
    worker = portal.supervisor.start("worker", roles.worker())
    before, lives = worker.process, {portal.life()}
    for _ in range(KILLS):
        portal.ring()
        wait_until(portal.is_claimed, BACK_S)
        portal.kill_postgres()
        lives.add(portal.life())
    assert len(lives) == KILLS + 1, "each kill was the end of a life"
    assert portal.count("ingestwindow WHERE state <> 'done'") > 0

    def is_finished_or_rung() -> bool:
        if portal.is_finished():
            return True
        if portal.rings() == 0:
            portal.ring()
        return False

    wait_until(is_finished_or_rung, SWEPT_S)
    assert worker.process is before, "it went on by itself, not by a restart"
    assert [portal.manage(*words) for words in REPORTS] == wanted
    assert "FAIL" not in portal.manage("verify")


def test_a_session_that_is_killed_ends_a_life_of_the_server(portal: Portal) -> None:
    before = portal.life()
    with psycopg.connect(portal.places.database_url) as database:
        os.kill(database.info.backend_pid, signal.SIGKILL)

        def is_another() -> bool:
            with suppress(psycopg.OperationalError):
                return portal.life() != before
            return False

        wait_until(is_another, BACK_S)
