"""`make soak STATEFUL_STEPS=N` or `ORACLE_FLEETS=N`: tests by seed on all cores.

The first is the stateful test for as many steps as it takes, the second the comparison of so
many random fleets with the oracle. Worker i of n takes the seeds first + i, first + i + n,
... in processes and a database of its own. The command prints its progress and the time
left, ends with the first seed that fails and how to repeat that one, and says how to go on
from where it was stopped. `STATEFUL_SEED` or `ORACLE_SEED` is the first seed,
`STATEFUL_WORKERS` or `ORACLE_WORKERS` the number of workers.
"""

import os
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TextIO
from urllib.parse import urlsplit, urlunsplit

TOLD_EVERY_S = 10.0
SHOWN = 60  # last lines of a failure


@dataclass(frozen=True)
class Kind:
    """What is run by seed.

    Attributes:
        name: how its variables begin: NAME_SEED, NAME_STRIDE, NAME_WORKERS.
        unit: what is counted; the variable NAME_UNIT has how many.
        test: of which every process runs some.
        chunk: units of one process at most; it remembers what every example was called.
        all_right: said when nothing failed.
    """

    name: str
    unit: str
    test: str
    chunk: int
    all_right: str

    @property
    def count(self) -> str:
        """The variable that says how many."""
        return f"{self.name}_{self.unit.upper()}"

    @property
    def begins(self) -> re.Pattern[str]:
        """A seed begins, after so many units of this process."""
        return re.compile(rf"{self.name}_SEED=(\d+) after (\d+) {self.unit}")

    @property
    def ends(self) -> re.Pattern[str]:
        """A seed has ended; so many units of this process are done."""
        return re.compile(rf"(\d+) {self.unit}")


STATEFUL = Kind(
    "STATEFUL",
    "steps",
    "tests/oracle/test_stateful.py",
    20_000,
    "every one left the ledger right",
)
ORACLE = Kind(
    "ORACLE", "fleets", "tests/oracle/test_fleets.py", 100, "and none differs"
)
HAPPENS = re.compile(r"what happens: (.+)")


@dataclass
class Worker:
    """One worker: its number, the seed that it is at, and what it has done."""

    number: int
    seed: int
    done: int = 0  # units, by processes that have ended
    now: int = 0  # units of the process that runs
    process: subprocess.Popen[str] | None = None
    happened: Counter[str] = field(default_factory=Counter)  # situations of fleets
    lines: list[str] = field(default_factory=list)


class Soak:
    """All workers, until they have made `wanted` units or one has failed."""

    def __init__(
        self,
        kind: Kind,
        wanted: int,
        first: int,
        count: int,
        out: TextIO = sys.stdout,
    ) -> None:
        """Start nothing yet."""
        self.kind, self.wanted, self.out = kind, wanted, out
        self.workers = [Worker(n, first + n) for n in range(count)]
        self.began = time.monotonic()
        self.changed = threading.Event()  # a worker is done, or has failed
        self.ended = threading.Event()  # all of them end
        self.failed: Worker | None = None

    def run(self) -> int:
        """Run to the end; the exit status."""
        threads = [threading.Thread(target=self._work, args=[w]) for w in self.workers]
        for thread in threads:
            thread.start()
        try:
            while any(thread.is_alive() for thread in threads):
                self.changed.wait(TOLD_EVERY_S)
                self.changed.clear()
                self._tell(self.out)
                if self.ended.is_set():
                    break
        except KeyboardInterrupt:
            self.ended.set()
        for worker in self.workers:
            if self.ended.is_set() and worker.process is not None:
                worker.process.terminate()
        for thread in threads:
            thread.join()
        return self._result(self.out)

    @property
    def done(self) -> int:
        """Units of all workers."""
        return sum(worker.done + worker.now for worker in self.workers)

    def _work(self, worker: Worker) -> None:
        count = len(self.workers)
        share = (self.wanted + count - 1 - worker.number) // count
        while worker.done < share and not self.ended.is_set():
            status = self._process(worker, min(self.kind.chunk, share - worker.done))
            if status and not self.ended.is_set():
                self.failed = worker
                self.ended.set()
            worker.done, worker.now = worker.done + worker.now, 0
        self.changed.set()

    def _process(self, worker: Worker, units: int) -> int:
        kind = self.kind
        options = "-m pytest -q -s -x -p no:cacheprovider"
        worker.lines.clear()
        worker.process = subprocess.Popen(
            [sys.executable, *options.split(), kind.test],
            env=os.environ
            | _database(worker.number)
            | {
                kind.count: str(units),
                f"{kind.name}_SEED": str(worker.seed),
                f"{kind.name}_STRIDE": str(len(self.workers)),
                "PYTHONUNBUFFERED": "1",
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        with worker.process as process:
            self._read(worker, process)
        return worker.process.returncode

    def _read(self, worker: Worker, process: subprocess.Popen[str]) -> None:
        kind = self.kind
        assert process.stdout is not None
        for line in process.stdout:
            if found := kind.begins.search(line):
                worker.seed, worker.now = map(int, found.groups())
            elif found := kind.ends.fullmatch(line.strip()):
                worker.now = int(found[1])
                worker.seed += len(self.workers)
            elif found := HAPPENS.search(line):
                worker.happened.update(found[1].split("; "))
            worker.lines = [*worker.lines[-1000:], line]

    def _tell(self, out: TextIO) -> None:
        passed = time.monotonic() - self.began
        left = time_left(self.done, self.wanted, passed)
        seeds = ", ".join(str(worker.seed) for worker in self.workers)
        out.write(
            f"{self.done:,} of {self.wanted:,} {self.kind.unit}, "
            f"{self.done / passed:.1f} a second, seeds {seeds}, {left}\n"
        )
        out.flush()

    def _result(self, out: TextIO) -> int:
        kind = self.kind
        happened: Counter[str] = sum((w.happened for w in self.workers), Counter())
        out.writelines(f"{n:6,}  {name}\n" for name, n in happened.most_common())
        if self.failed is not None:
            out.writelines(self.failed.lines[-SHOWN:])
            out.write(
                f"\nSeed {self.failed.seed} fails. To repeat it:\n"
                f"  make soak {kind.count}=1 {kind.name}_SEED={self.failed.seed}\n"
            )
            return 1
        if self.done < self.wanted:
            first = min(worker.seed for worker in self.workers)
            out.write(
                "\nStopped. To go on:\n"
                f"  make soak {kind.count}={self.wanted - self.done} "
                f"{kind.name}_SEED={first}\n"
            )
            return 130
        out.write(f"{self.done:,} {kind.unit}, {kind.all_right}\n")
        return 0


def time_left(done: int, wanted: int, passed: float) -> str:
    """How long the rest takes; `passed` seconds have."""
    if not done:
        return "time left not known yet"
    left = max(0, wanted - done) * passed / done
    if left > 3600:
        return f"{left / 3600:.1f} hours left"
    return f"{left / 60:.0f} min left"


def _database(number: int) -> dict[str, str]:
    """A database for each worker, where there is a server of somebody's own."""
    url = os.environ.get("DATABASE_URL")
    if not url:
        return {}
    parts = urlsplit(url)
    return {"DATABASE_URL": urlunsplit(parts._replace(path=f"{parts.path}_{number}"))}


def main() -> int:
    """As the environment says."""
    kind = ORACLE if os.environ.get(ORACLE.count) else STATEFUL
    wanted = int(os.environ[kind.count])
    first = int(os.environ.get(f"{kind.name}_SEED") or time.time() % 2**31)
    count = int(os.environ.get(f"{kind.name}_WORKERS") or os.cpu_count() or 1)
    return Soak(kind, wanted, first, min(count, wanted)).run()


if __name__ == "__main__":
    sys.exit(main())
