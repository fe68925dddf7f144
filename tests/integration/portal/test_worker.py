"""Worker and clock as containers start them: they work, say so, and survive Redis.

Aspects: probes tell the truth, a lost Redis comes back, tasks are taken again. Skipped:
what the tasks do.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from portal.embedded import lease, roles
from portal.embedded.paths import HomePaths
from portal.embedded.supervisor import Supervisor, child_environment
from tests.processes import processes_of, wait_until

pytestmark = [pytest.mark.redis, pytest.mark.timeout(240)]

ROOT = Path(__file__).resolve().parents[3]
PAUSE = 1.5  # seconds between two probes: each takes a second of processor time
SECRET = "only for the workers of these tests, of no use elsewhere"


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HomePaths]:
    """Services of their own: Redis is going to be killed."""
    home = tmp_path_factory.mktemp("worker") / "home"
    yield lease.acquire(home, is_temporary=True)
    lease.release(home)


@pytest.fixture(scope="module")
def environment(places: HomePaths) -> dict[str, str]:
    """What the containers see, on a migrated database."""
    made = child_environment(
        SECRET_KEY=SECRET,
        DATABASE_URL=places.database_url,
        REDIS_URL=places.redis_url,
        WORKER_PROCESSES="1",
    )
    del made["DJANGO_SETTINGS_MODULE"]  # of pytest: no container has it
    words = [sys.executable, "manage.py", "migrate", "--no-input", "-v0"]
    subprocess.run(words, cwd=ROOT, env=made, check=True)
    return made


@pytest.fixture(scope="module")
def running(
    environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Supervisor]:
    """A worker and a clock."""
    logs = tmp_path_factory.mktemp("logs")
    supervisor = Supervisor(environment, logs, lambda _text: None)
    supervisor.start("worker", roles.worker())
    supervisor.start("beat", roles.beat())
    yield supervisor
    supervisor.stop()


def probe(role: str, environment: dict[str, str]) -> bool:
    """What the health check of a container says."""
    words = [sys.executable, "-m", "portal.probes.container", role]
    found = subprocess.run(words, cwd=ROOT, env=environment, check=False, timeout=60)
    return found.returncode == 0


def test_probes_fail_while_nothing_runs(environment: dict[str, str]) -> None:
    assert not probe("worker", environment)
    assert not probe("beat", environment)
    assert not probe("web", {**environment, "PORT": "1"})


def test_worker_and_clock_say_that_they_work(
    running: Supervisor, environment: dict[str, str]
) -> None:
    del running
    wait_until(lambda: probe("worker", environment), 60, PAUSE)
    wait_until(lambda: probe("beat", environment), 60, PAUSE)


def test_worker_takes_work_again_after_redis_was_lost(
    running: Supervisor, environment: dict[str, str], places: HomePaths
) -> None:
    """The clock ends when its lock has gone; whoever runs it starts it again."""
    worker = next(child for child in running.children if child.name == "worker")
    before = worker.process
    running_now = processes_of(str(places.home)).items()
    lost = [pid for pid, line in running_now if "redis-server" in line]
    os.kill(lost[0], signal.SIGKILL)
    wait_until(lambda: lost[0] not in processes_of(str(places.home)))
    wait_until(lambda: probe("worker", environment), 90, PAUSE)
    assert worker.process is before, "it came back by itself, not by a restart"
    assert worker.process is not None
    assert worker.process.poll() is None

    def is_clock_back() -> bool:
        running.watch(seconds=0.5)
        return probe("beat", environment)

    wait_until(is_clock_back, 90, PAUSE)


def test_web_is_ready_with_everything_and_replaces_a_process_that_died(
    environment: dict[str, str], tmp_path: Path
) -> None:
    supervisor = Supervisor(environment, tmp_path, lambda _text: None)
    web = supervisor.start("web", roles.web("127.0.0.1:18765"))
    try:
        wait_until(lambda: probe("web", {**environment, "PORT": "18765"}), 60, PAUSE)
        assert web.process is not None
        server = web.process.pid
        wait_until(lambda: len(children_of(server)) == roles.WEB_PROCESSES)
        before = children_of(server)
        os.kill(min(before), signal.SIGKILL)
        wait_until(lambda: len(children_of(server) - before) == 1)
        wait_until(lambda: probe("web", {**environment, "PORT": "18765"}), 10, PAUSE)
    finally:
        supervisor.stop()


def children_of(pid: int) -> set[int]:
    """The processes that a process has started and that are not reaped."""
    return set(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))
