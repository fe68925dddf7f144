"""The demo as a person starts it: one command, a page, live samples, and nothing left."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from tempfile import mkdtemp

import psycopg
import pytest
import requests

from portal.embedded.paths import places_of
from tests.ports import free_port, take
from tests.processes import processes_of, wait_until

ROOT = Path(__file__).resolve().parents[2]
FIRST_PAGE_S = 90.0  # from installed dependencies to the first page
STOP_S = 60.0

pytestmark = pytest.mark.timeout(420)


class Run:
    """One run of the command."""

    def __init__(self, home: Path, port: int | None, log: Path) -> None:
        self.home, self.log = home, log
        self.began = time.monotonic()
        environment = {
            name: value
            for name, value in os.environ.items()
            if name not in {"DATABASE_URL", "REDIS_URL", "SECRET_KEY", "PUBLIC_URL"}
        }
        environment["GPU_LEDGER_HOME"] = str(home)
        environment["DJANGO_SETTINGS_MODULE"] = "portal.settings"
        command = [sys.executable, "manage.py", "demo", "--fast"]
        command += [] if port is None else [f"--port={port}"]
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdout=out, stderr=out
            )

    @property
    def address(self) -> str:
        found = re.search(r"GPU Ledger is at (http://127.0.0.1:\d+)/", self.text)
        assert found, self.text
        return found[1]

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    @property
    def text(self) -> str:
        return self.log.read_text()

    def wait_for_page(self) -> float:
        """Seconds from the command to the line that tells the address."""

        def is_told() -> bool:
            assert self.process.poll() is None, self.text
            return "mia " in self.text

        wait_until(is_told, FIRST_PAGE_S)
        return time.monotonic() - self.began

    def sign_in(self, name: str) -> requests.Session:
        """A session of one of the people that the terminal names."""
        found = re.search(rf"^\s+{name}\s+(\S+)", self.text, re.MULTILINE)
        assert found, self.text
        session = requests.Session()
        page = session.get(f"{self.address}/", timeout=30)
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
        assert token, page.text
        fields = {
            "username": name,
            "password": found[1],
            "csrfmiddlewaretoken": token[1],
            "next": "/",
        }
        headers = {"Referer": page.url}
        answer = session.post(page.url, fields, headers=headers, timeout=30)
        assert answer.ok
        assert "Sign out" in answer.text
        return session

    def ask(self, query: str) -> list[tuple[object, ...]]:
        """Rows from the embedded database."""
        with psycopg.connect(places_of(self.home).database_url) as connection:
            return connection.execute(query).fetchall()

    def targets(self) -> str:
        """The exporters that are read, as the database has them."""
        query = "SELECT settings FROM accounting_source WHERE kind = 'scrape'"
        ((found,),) = self.ask(query)
        return str(found)

    def live_samples(self) -> int:
        """Stored blocks of samples that were scraped."""
        ((found,),) = self.ask(
            "SELECT count(*) FROM accounting_bufferblock b"
            " JOIN accounting_source s ON s.id = b.source_id WHERE s.kind = 'scrape'"
        )
        return int(str(found))

    def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        """Stop it as a person does; returns its exit code."""
        self.process.send_signal(number)
        return self.process.wait(STOP_S)


Start = Callable[..., Run]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    home = Path(mkdtemp(prefix="gpu-ledger-demo-test-"))
    runs: list[Run] = []

    def begin(port: int | None = None) -> Run:
        run = Run(home, port, tmp_path / f"{len(runs)}.log")
        runs.append(run)
        return run

    yield begin
    for run in runs:
        if run.process.poll() is None:
            run.process.kill()
            run.process.wait()


def nothing_left(home: Path) -> bool:
    """No process of a home lives."""
    return not processes_of(str(home)) and not any(
        f"GPU_LEDGER_HOME={home}".encode() in environment_of(pid)
        for pid in processes_of(str(ROOT))
    )


def environment_of(pid: int) -> bytes:
    """A process's environment; empty when it has just gone."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def test_page_sign_in_stop_and_again_with_live_samples_and_all_history(
    start: Start,
) -> None:
    run = start(free_port(3))
    first = run.wait_for_page()
    assert first <= FIRST_PAGE_S
    page = run.sign_in("ana").get(f"{run.address}/", timeout=30)
    assert "Demo data" in page.text
    forbidden = run.sign_in("mia").get(f"{run.address}/prices/new", timeout=30)
    assert forbidden.status_code == 403

    wait_until(lambda: bool(re.search(r"History: \d+ of", run.text)), 240)
    assert run.stop() == 0
    wait_until(lambda: nothing_left(run.home), 10)
    assert "all days are loaded" not in run.text
    begins_s = json.loads(places_of(run.home).demo.read_text())["story"]["start_s"]

    with ExitStack() as others:
        take(run.port + 1, others)  # where the simulated cluster was
        again = start(run.port)
        again.wait_for_page()
    assert again.address == run.address
    assert f":{run.port + 1}/" not in again.targets()
    assert "Continuing the demo" in again.text
    assert "Importing" not in again.text  # that is what makes it faster
    again.sign_in("luis")
    before = again.live_samples()
    wait_until(lambda: "History: all days are loaded" in again.text, 240)
    ((first_window,),) = again.ask("SELECT min(window_start) FROM usage_window")
    assert first_window == datetime.fromtimestamp(begins_s, UTC)
    wait_until(lambda: again.live_samples() > before, 90)
    assert again.stop(signal.SIGTERM) == 0
    wait_until(lambda: nothing_left(run.home), 10)


def test_a_busy_port_is_named(start: Start) -> None:
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]
        run = start(port)
        assert run.process.wait(60) == 3
    assert f"port {port} cannot be used" in run.text
    assert "--port" in run.text


def test_next_port_is_used_and_nothing_is_left_after_a_kill(start: Start) -> None:
    with ExitStack() as others:
        take(8000, others)
        run = start()
        run.wait_for_page()
    assert f"Port 8000 is in use: the pages are on port {run.port}" in run.text
    assert requests.get(f"{run.address}/healthz", timeout=30).ok
    run.process.kill()
    run.process.wait()
    wait_until(lambda: nothing_left(run.home), 2 * STOP_S)  # a worker ends its task
