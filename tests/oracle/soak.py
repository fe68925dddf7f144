"""`make soak STATEFUL_STEPS=N`: the stateful test on all cores, for as many steps as it takes.

Worker i of n takes the seeds first + i, first + i + n, ... in processes and a database of its
own. It tells how far it is, ends with the first seed that fails, and says how to repeat that
one, or how to go on from where it was stopped. `STATEFUL_SEED` is the first seed,
`STATEFUL_WORKERS` the number of workers.
"""

import os
import re
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import TextIO
from urllib.parse import urlsplit, urlunsplit

TEST = "tests/oracle/test_stateful.py"
CHUNK = 20_000  # steps of one process: it remembers what every example was called
TOLD_EVERY_S = 10.0
SHOWN = 60  # last lines of a failure
BEGINS = re.compile(r"STATEFUL_SEED=(\d+) after (\d+) steps")
ENDS = re.compile(r"(\d+) steps")


@dataclass
class Worker:
    """One worker: its number, the seed that it is at, and what it has done."""

    number: int
    seed: int
    done: int = 0  # steps, by processes that have ended
    now: int = 0  # steps of the process that runs
    process: subprocess.Popen[str] | None = None
    lines: list[str] = field(default_factory=list)


class Soak:
    """All workers, until they have made `wanted` steps or one has failed."""

    def __init__(self, wanted: int, first: int, count: int) -> None:
        """Start nothing yet."""
        self.wanted = wanted
        self.workers = [Worker(n, first + n) for n in range(count)]
        self.began = time.monotonic()
        self.ended = threading.Event()
        self.failed: Worker | None = None

    def run(self) -> int:
        """Run to the end; the exit status."""
        threads = [threading.Thread(target=self._work, args=[w]) for w in self.workers]
        for thread in threads:
            thread.start()
        try:
            while any(thread.is_alive() for thread in threads):
                self.ended.wait(TOLD_EVERY_S)
                self._tell(sys.stdout)
                if self.ended.is_set():
                    break
        except KeyboardInterrupt:
            self.ended.set()
        for worker in self.workers:
            if self.ended.is_set() and worker.process is not None:
                worker.process.terminate()
        for thread in threads:
            thread.join()
        return self._result(sys.stdout)

    @property
    def done(self) -> int:
        """Steps of all workers."""
        return sum(worker.done + worker.now for worker in self.workers)

    def _work(self, worker: Worker) -> None:
        share = -(-self.wanted // len(self.workers))
        while worker.done < share and not self.ended.is_set():
            status = self._process(worker, min(CHUNK, share - worker.done))
            if status and not self.ended.is_set():
                self.failed = worker
                self.ended.set()
            worker.done, worker.now = worker.done + worker.now, 0

    def _process(self, worker: Worker, steps: int) -> int:
        worker.lines.clear()
        worker.process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "pytest",
                "-q",
                "-s",
                "-p",
                "no:cacheprovider",
                TEST,
            ],
            env=os.environ
            | _database(worker.number)
            | {
                "STATEFUL_STEPS": str(steps),
                "STATEFUL_SEED": str(worker.seed),
                "STATEFUL_STRIDE": str(len(self.workers)),
                "PYTHONUNBUFFERED": "1",
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert worker.process.stdout is not None
        for line in worker.process.stdout:
            if found := BEGINS.fullmatch(line.strip()):
                worker.seed, worker.now = map(int, found.groups())
            elif found := ENDS.fullmatch(line.strip()):
                worker.now = int(found[1])
                worker.seed += len(self.workers)
            worker.lines = [*worker.lines[-1000:], line]
        return worker.process.wait()

    def _tell(self, out: TextIO) -> None:
        passed = time.monotonic() - self.began
        rate = self.done / passed
        left = max(0, self.wanted - self.done) / rate if rate else 0
        seeds = ", ".join(str(worker.seed) for worker in self.workers)
        out.write(
            f"{self.done:,} of {self.wanted:,} steps, {rate:.1f} a second, "
            f"seeds {seeds}, {left / 3600:.1f} hours left\n"
        )
        out.flush()

    def _result(self, out: TextIO) -> int:
        if self.failed is not None:
            out.writelines(self.failed.lines[-SHOWN:])
            out.write(
                f"\nSeed {self.failed.seed} fails. To repeat it:\n"
                f"  STATEFUL_SEED={self.failed.seed} STATEFUL_STEPS=1 "
                f"{sys.executable} -m pytest -s {TEST}\n"
            )
            return 1
        if self.done < self.wanted:
            first = min(worker.seed for worker in self.workers)
            out.write(
                "\nStopped. To go on:\n"
                f"  make soak STATEFUL_STEPS={self.wanted - self.done} "
                f"STATEFUL_SEED={first}\n"
            )
            return 130
        out.write(f"{self.done:,} steps, and every one left the ledger right\n")
        return 0


def _database(number: int) -> dict[str, str]:
    """A database for each worker, where there is a server of somebody's own."""
    url = os.environ.get("DATABASE_URL")
    if not url:
        return {}
    parts = urlsplit(url)
    return {"DATABASE_URL": urlunsplit(parts._replace(path=f"{parts.path}_{number}"))}


def main() -> int:
    """As the environment says."""
    wanted = int(os.environ["STATEFUL_STEPS"])
    first = int(os.environ.get("STATEFUL_SEED") or time.time() % 2**31)
    count = int(os.environ.get("STATEFUL_WORKERS") or os.cpu_count() or 1)
    return Soak(wanted, first, count).run()


if __name__ == "__main__":
    sys.exit(main())
