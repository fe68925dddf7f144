"""The whole product for a soak test: started as a person starts it, and checked from outside."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg

from portal.embedded import launch
from portal.embedded.paths import places_of
from tests.ports import free_port

ROOT = Path(__file__).resolve().parents[1]
NEWEST = """
    SELECT extract(epoch FROM clock_timestamp() - max(window_start))
    FROM accounting_ingestwindow WHERE state IN ('done', 'partial') AND rows > 0
"""
READY_S = 300.0  # until the demo shows its first page
STOP_S = 120.0
POLL = 0.5  # seconds
WAITING = """
    SELECT (SELECT count(*) FROM accounting_ingestwindow
            WHERE state <> 'done' AND window_start < now() - interval '330 seconds')
         + (SELECT count(*) FROM accounting_dirtyhour)
"""


class Finding(Exception):
    """A violation; the message describes it."""


@dataclass(slots=True)
class Demo:
    """The product, as a person starts it, in a separate home."""

    home: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def environment(self) -> dict[str, str]:
        """The environment, without variables that select other services than the home's."""
        hidden = {"DATABASE_URL", "REDIS_URL", "SECRET_KEY", "PUBLIC_URL"}
        ours = {name: value for name, value in os.environ.items() if name not in hidden}
        return ours | {
            "DJANGO_SETTINGS_MODULE": "portal.settings",
            "GPU_LEDGER_HOME": str(self.home),
            "TMPDIR": str(self.temporary),  # killed processes leave files there
        }

    @property
    def temporary(self) -> Path:
        """The folder of its processes' temporary files."""
        return self.home / "tmp"

    @property
    def log(self) -> Path:
        """The output of the demo."""
        return self.home / "soak.log"

    @property
    def url(self) -> str:
        """The address of its database."""
        return places_of(self.home).database_url

    def start(self) -> None:
        """Start it; returns when its first page responds.

        Raises:
            Finding: it does not start.
        """
        self.temporary.mkdir()
        words = [
            sys.executable,
            "manage.py",
            "demo",
            "--fast",
            f"--port={free_port(3)}",
        ]
        self.process = launch.start(
            launch.tethered(words, last_signal=signal.SIGTERM),
            log=self.log,
            directory=ROOT,
            environment=self.environment,
        )
        deadline = time.monotonic() + READY_S
        while "Ctrl-C stops everything" not in self.log.read_text():
            if not self.is_alive or time.monotonic() > deadline:
                raise Finding(f"the demo does not start: {self.last_words}")
            time.sleep(POLL)

    @property
    def is_alive(self) -> bool:
        """True while it runs."""
        return self.process is not None and self.process.poll() is None

    @property
    def last_words(self) -> str:
        """The end of its output."""
        return " / ".join(self.log.read_text().splitlines()[-3:])

    def workers(self) -> tuple[list[int], list[int]]:
        """The worker, and the child processes of its pool."""
        if self.process is None:
            return [], []
        parents = {
            pid
            for pid, line in children_of({self.process.pid}).items()
            if "celery" in line and " worker " in line
        }
        return sorted(parents), sorted(children_of(parents))

    def verify(self) -> bool:
        """Run `manage.py verify` on all stored data; prints violations."""
        done = subprocess.run(
            [sys.executable, "manage.py", "verify"],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            print(done.stdout, done.stderr, sep="\n", flush=True)
        return done.returncode == 0

    def waiting(self) -> int:
        """Windows and hours that are due and not done."""
        with psycopg.connect(self.url) as database:
            found = database.execute(WAITING).fetchone()
        return int(found[0]) if found else 0

    def newest_s(self) -> float:
        """The age of the newest computed window's start, in seconds."""
        with psycopg.connect(self.url) as database:
            found = database.execute(NEWEST).fetchone()
        return float(found[0] or 0.0) if found else 0.0

    def stop(self) -> None:
        """Stop it as Ctrl-C does.

        Raises:
            Finding: it does not stop, or leaves a process.
        """
        if self.process is None:
            return
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise Finding(f"the demo did not stop within {STOP_S:.0f} s") from None
        deadline = time.monotonic() + STOP_S
        while left := using(self.home):
            if time.monotonic() > deadline:
                raise Finding(f"processes were left: {left}")
            time.sleep(POLL)


def processes() -> Iterator[tuple[int, int, str]]:
    """All running processes: id, id of the parent and command line."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
            if state != "Z":
                yield int(folder.name), int(parent), line.decode(errors="replace")


def children_of(parents: set[int]) -> dict[int, str]:
    """The children of some processes, with their command lines."""
    return {pid: line for pid, parent, line in processes() if parent in parents}


def using(home: Path) -> dict[int, str]:
    """Processes of a home: by command line or environment."""
    found = {}
    mark = f"GPU_LEDGER_HOME={home}".encode()
    for pid, _, line in processes():
        with suppress(OSError):
            seen = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            if str(home) in line or mark in seen:
                found[pid] = line
    return found
