"""`make soak`: the real demo, a worker killed every 30 s, every sum checked every minute.

The demo runs in a separate home (three days of 24 GPUs, which it imports in the meantime, and the
live cluster). The pool's child processes and the worker itself are killed in turns by SIGKILL.
Each minute, and at the end when no window waits any more, `manage.py verify` must pass
and `bench.conserved` must find an error of 0 ms and 0 money. Exits with 1 on a finding, and
keeps the home for analysis. `SOAK_SECONDS` sets the duration (3600); a soak of less than two
minutes kills after each quarter of its time, and checks in the middle and at the end.
"""

import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from tempfile import mkdtemp

from bench.conserved import conserved
from bench.product import Demo, Finding
from portal.embedded.stopping import Stopped, stopping_signals

SECONDS = 3600.0  # without SOAK_SECONDS
KILL_EVERY = 30.0  # seconds
CHECK_EVERY = 60.0  # seconds
OLDEST_S = 1200.0  # of the newest window: it started, ended and waited for a worker
SETTLE_S = 300.0  # after the last kill, until no window waits
POLL = 0.5  # seconds


def say(text: str) -> None:
    """Print one line with the time."""
    print(f"{time.strftime('%H:%M:%S')}  {text}", flush=True)


@dataclass(slots=True)
class Soak:
    """The kills and the checks, and their results."""

    demo: Demo
    began: float = field(default_factory=time.monotonic)
    kills: dict[str, int] = field(default_factory=lambda: {"child": 0, "worker": 0})
    checks: int = 0
    compared: int = 0
    windows: int = 0
    facts: int = 0
    whom: Iterator[str] = field(default_factory=lambda: cycle(("child", "worker")))

    def run(self, seconds: float) -> None:
        """Kill and check until the time is over, then once more when all work is done."""
        check_every = min(CHECK_EVERY, seconds / 2)
        end, next_check = self.began + seconds, self.began + check_every
        with self.killing(min(KILL_EVERY, seconds / 4)):
            while time.monotonic() < end:
                if not self.demo.is_alive:
                    raise Finding(f"the demo ended: {self.demo.last_words}")
                if time.monotonic() >= next_check:
                    self.check()
                    next_check = max(next_check + check_every, time.monotonic())
                time.sleep(POLL)
        settled = self.settle()
        self.check()
        say(
            f"{self.kills['child']} children and {self.kills['worker']} workers killed,"
            f" {self.checks} checks green, {self.compared} sums compared:"
            f" error 0 ms, 0 money; settled {settled:.0f} s after the end"
        )

    @contextmanager
    def killing(self, every_s: float) -> Iterator[None]:
        """A context in which processes are killed periodically, also while sums are checked."""
        ended = threading.Event()

        def kill_all_along() -> None:
            while not ended.wait(every_s):
                self.kill()

        thread = threading.Thread(target=kill_all_along, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def kill(self) -> None:
        """Kill a child of the pool or the worker, in turns; a missing process is skipped."""
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
        """Run both checks on the stored data.

        Raises:
            Finding: one of them fails.
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
        """Wait until no work is due; returns the seconds.

        Raises:
            Finding: work stays due, or nothing new is computed.
        """
        began = time.monotonic()
        while left := self.demo.waiting():
            if time.monotonic() - began > SETTLE_S:
                raise Finding(f"{left} windows and hours still wait")
            time.sleep(POLL)
        if (age := self.demo.newest_s()) > OLDEST_S:
            raise Finding(f"live data is not updated: the newest is {age:.0f} s old")
        return time.monotonic() - began


@contextmanager
def home() -> Iterator[Path]:
    """A folder for the demo; kept if there is a finding."""
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
    """Run the soak; 0 on success, 1 on a finding, 130 if it was stopped."""
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
