"""`make soak`: the real demo, a worker killed every 30 s, every sum checked every minute.

The demo runs in a home of its own (one week of 24 GPUs, which it imports meanwhile, and the
live cluster). The pool's children and the worker itself are killed in turns by SIGKILL.
Each minute, and at the end when no window waits any more, `manage.py verify` must be green
and `bench.conserved` must find an error of 0 ms and 0 money. Ends with 1 on a finding, and
keeps the home for a look. `SOAK_SECONDS` says how long (3600).
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from tempfile import mkdtemp

import psycopg

from bench.conserved import conserved
from portal.services import launch
from portal.services.places import places_of
from portal.services.supervisor import Stopped, stopping_signals

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 3600.0  # without SOAK_SECONDS
KILL_EVERY = 30.0  # seconds
CHECK_EVERY = 60.0  # seconds
READY_S = 300.0  # until the demo shows its first page
SETTLE_S = 300.0  # after the last kill, until no window waits
STOP_S = 120.0
POLL = 0.5  # seconds
WAITING = """
    SELECT (SELECT count(*) FROM accounting_ingestwindow
            WHERE state <> 'done' AND window_start < now() - interval '330 seconds')
         + (SELECT count(*) FROM accounting_dirtyhour)
"""


class Finding(Exception):
    """Something that must never be; the message says what."""


def say(text: str) -> None:
    """One line, at once, with the time."""
    print(f"{time.strftime('%H:%M:%S')}  {text}", flush=True)


@dataclass(slots=True)
class Demo:
    """The product, as a person starts it, in a home of its own."""

    home: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def environment(self) -> dict[str, str]:
        """Ours, without what would lead to other services than the home's."""
        hidden = {"DATABASE_URL", "REDIS_URL", "SECRET_KEY", "PUBLIC_URL"}
        ours = {name: value for name, value in os.environ.items() if name not in hidden}
        settings = {"DJANGO_SETTINGS_MODULE": "portal.settings"}
        return ours | settings | {"GPU_LEDGER_HOME": str(self.home)}

    @property
    def log(self) -> Path:
        """What the demo says."""
        return self.home / "soak.log"

    @property
    def url(self) -> str:
        """The address of its database."""
        return places_of(self.home).database_url

    def start(self) -> None:
        """Start it; returns when its first page is there.

        Raises:
            Finding: it does not come up.
        """
        words = [sys.executable, "manage.py", "demo", "--fast", f"--port={free_port()}"]
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
        """The end of what it said."""
        return " / ".join(self.log.read_text().splitlines()[-3:])

    def workers(self) -> tuple[list[int], list[int]]:
        """The worker, and the children of its pool."""
        if self.process is None:
            return [], []
        parents = {
            pid
            for pid, line in children_of({self.process.pid}).items()
            if "celery" in line and " worker " in line
        }
        return sorted(parents), sorted(children_of(parents))

    def verify(self) -> bool:
        """What `manage.py verify` says of all that is stored; prints what is broken."""
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
        """Windows whose time has come, and hours, that are not done."""
        with psycopg.connect(self.url) as database:
            found = database.execute(WAITING).fetchone()
        return int(found[0]) if found else 0

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


def free_port() -> int:
    """A port that nobody uses; the next one is free as well."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = int(first.getsockname()[1])
            with suppress(OSError, OverflowError):
                second.bind(("127.0.0.1", port + 1))
                return port


def processes() -> Iterator[tuple[int, int, str]]:
    """Every living process: its id, its parent's and its command line."""
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


@dataclass(slots=True)
class Soak:
    """The kills and the checks, and what came of them."""

    demo: Demo
    began: float = field(default_factory=time.monotonic)
    kills: dict[str, int] = field(default_factory=lambda: {"child": 0, "worker": 0})
    checks: int = 0
    compared: int = 0
    windows: int = 0
    facts: int = 0
    whom: Iterator[str] = field(default_factory=lambda: cycle(("child", "worker")))

    def run(self, seconds: float) -> None:
        """Kill and check until the time is over, then once more when all is done."""
        end = self.began + seconds
        next_kill, next_check = self.began + KILL_EVERY, self.began + CHECK_EVERY
        while time.monotonic() < end:
            if not self.demo.is_alive:
                raise Finding(f"the demo ended: {self.demo.last_words}")
            if time.monotonic() >= next_kill:
                self.kill()
                next_kill += KILL_EVERY
            if time.monotonic() >= next_check:
                self.check()
                next_check += CHECK_EVERY
            time.sleep(POLL)
        settled = self.settle()
        self.check()
        say(
            f"{self.kills['child']} children and {self.kills['worker']} workers killed,"
            f" {self.checks} checks green, {self.compared} sums compared:"
            f" error 0 ms, 0 money; settled {settled:.0f} s after the end"
        )

    def kill(self) -> None:
        """Kill a child of the pool or the worker, in turns; who is not there is spared."""
        parents, pool = self.demo.workers()
        whom = next(self.whom)
        chosen = parents if whom == "worker" else pool
        if not chosen:
            say(f"no {whom} to kill")
            return
        with suppress(ProcessLookupError):
            os.kill(chosen[-1], signal.SIGKILL)
            self.kills[whom] += 1

    def check(self) -> None:
        """Both judges on what is stored now.

        Raises:
            Finding: one of them is not content.
        """
        is_green = self.demo.verify()
        found = conserved(self.demo.url)
        if not is_green or found.findings:
            what = "; ".join(found.findings[:5]) or "manage.py verify"
            raise Finding(f"{len(found.findings)} sums differ, first: {what}")
        self.checks += 1
        self.compared += found.compared
        self.windows, self.facts = found.windows, found.facts
        minutes = (time.monotonic() - self.began) / 60
        say(
            f"{minutes:5.1f} min  {found.windows} windows  {found.facts} facts"
            f"  {sum(self.kills.values())} kills  verify green"
            f"  {found.compared} sums, error 0"
        )

    def settle(self) -> float:
        """Wait until nothing waits; returns for how long.

        Raises:
            Finding: something waits for ever.
        """
        began = time.monotonic()
        while left := self.demo.waiting():
            if time.monotonic() - began > SETTLE_S:
                raise Finding(f"{left} windows and hours still wait")
            time.sleep(POLL)
        return time.monotonic() - began


@contextmanager
def home() -> Iterator[Path]:
    """A folder for the demo; kept when something was found."""
    path = Path(mkdtemp(prefix="gpu-ledger-soak-"))
    try:
        yield path
    except Finding:
        say(f"kept for a look: {path}")
        raise
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)
        raise
    shutil.rmtree(path, ignore_errors=True)


def main() -> int:
    """Soak; 0 when all was well, 1 on a finding, 130 when it was stopped."""
    seconds = float(os.environ.get("SOAK_SECONDS") or SECONDS)
    try:
        with stopping_signals(), home() as place:
            demo = Demo(place)
            try:
                demo.start()
                say(f"the demo runs in {place}; {seconds:.0f} s begin")
                Soak(demo).run(seconds)
            finally:
                demo.stop()
    except Finding as finding:
        say(f"FOUND: {finding}")
        return 1
    except Stopped:
        say("stopped")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
