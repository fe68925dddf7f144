"""P28: workers on two hosts against one Postgres and one Redis, and one of the hosts is lost.

A host is a network namespace with a name of its own, a cable to this machine and its own workers.
Samples of a day are in the buffer, so that workers need nothing but Postgres and Redis. All windows
are computed again in each round; the ledger must be that of the import, to the last row.
"""

import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from subprocess import check_call
from tempfile import TemporaryDirectory

import psycopg
from celery import Celery

from accounting.metering.tasks.facts import partitions
from bench.conserved import conserved
from bench.fleet import Fleet
from bench.measure import Figure
from bench.networks import Host, hosts, refusal, services
from portal.embedded.roles import worker

GPUS, HOURS = 256, 24
SWEEP_S = 60.0  # between two wakeups of workers, as beat sends them
LIMIT_S = 400.0  # of a round
POLL_S = 0.1
KILLED_S, CUT_S = 70, 200  # limits: a sweep; keepalives (2 minutes) and a sweep
ROUNDS = 2
CUT = "its cable cut"
ROOT = Path(__file__).resolve().parents[1]
LEDGER = (
    *("usage_window", "usage_hour", "usage_day", "usage_family_day"),
    *(
        "usage_gpu_hour",
        "usage_gpu_day",
        "accounting_podhold",
        "accounting_gpupresence",
    ),
)
STATE = """
    SELECT worker_host, state, count(*), coalesce(array_agg(window_start) FILTER (
        WHERE state = 'claimed'), '{}')
    FROM accounting_ingestwindow GROUP BY 1, 2
"""
OPEN = """
    SELECT (SELECT count(*) FROM accounting_ingestwindow WHERE state <> 'done')
         + (SELECT count(*) FROM accounting_dirtyhour)
         + (SELECT count(*) FROM accounting_pendinggpuhour)
"""


@dataclass
class Round:
    """One round: all windows from pending to done, and what each host did.

    Attributes:
        began, lost_at: by a clock that never goes back; 0 if no host is lost.
        seconds: until the last window was done.
        settled_s: until no hour had to be rolled up either.
        by: windows by the host that computed them.
        claimed, held: windows that the second host has now, and those it had when it was lost.
        taken_s: from the loss until others had all of these.
    """

    began: float
    lost_at: float = 0.0
    seconds: float = 0.0
    settled_s: float = 0.0
    by: Counter[str] = field(default_factory=Counter)
    claimed: set[datetime] = field(default_factory=set)
    held: set[datetime] = field(default_factory=set)
    taken_s: float = 0.0

    def look(self, database: psycopg.Connection, second: str, windows: int) -> None:
        """Note what has happened until now; `second` is the second host."""
        rows = database.execute(STATE).fetchall()
        now = time.monotonic()
        assert now - self.began < LIMIT_S, f"not done in time: {self}"
        self.by = Counter({host: n for host, state, n, _ in rows if state == "done"})
        self.claimed = {at for host, _, _, its in rows if host == second for at in its}
        if self.held and not self.taken_s and not self.held & self.claimed:
            self.taken_s = now - self.lost_at
        if not self.seconds and self.by.total() == windows:
            self.seconds = now - self.began
        if database.execute(OPEN).fetchone() == (0,):
            self.settled_s = now - self.began


def figures(wanted: set[str]) -> Iterator[Figure]:
    """The figures of this module, where network namespaces are permitted."""
    if wanted and "P28" not in wanted:
        return
    if reason := refusal():
        print(f"P28 not run: {reason}")
        return
    with (
        TemporaryDirectory(prefix="gpu-ledger-bench-") as name,
        hosts(2) as both,
        services(Path(name) / "home") as addresses,
    ):
        yield from Bench(Path(name), both, *addresses).figures()


@dataclass
class Bench:
    """The ledger, the hosts, and the rounds on them."""

    folder: Path
    hosts: list[Host]
    database_url: str
    redis_url: str
    alone: dict[str, str] = field(default_factory=dict)
    windows: int = 0

    def figures(self) -> Iterator[Figure]:
        """Throughput of one to three workers, then the loss of a host in two ways."""
        files = Fleet(GPUS, HOURS).write(self.folder)
        words = ["manage.py", "import_metrics", "--cluster=bench", *map(str, files)]
        check_call([sys.executable, *words], cwd=ROOT, env=self.environment())
        self.alone = self.ledger()
        with self.database() as database:
            self.windows = sum(row[2] for row in database.execute(STATE).fetchall())
        rates = {n: self.rate(n) for n in (1, 2, 3)}
        detail = {f"windows/s of {n}": rate for n, rate in rates.items()}
        what = f"two workers on two hosts / one, {self.windows} windows of {GPUS} GPUs"
        yield Figure("P28", what, rates[2] / rates[1], 1.1, detail=detail)
        last = self.hosts[1]
        yield self.loss("all its processes killed", KILLED_S, last.kill)
        yield self.loss(CUT, CUT_S, last.cut)

    def rate(self, processes: int) -> float:
        """Windows a second, of several rounds; the second host has all but one process."""
        with self.workers([1, processes - 1]):
            taken = [self.round(processes).seconds for _ in range(ROUNDS)]
        return self.windows / statistics.median(taken)

    def loss(self, how: str, limit: float, lose: Callable[[], None]) -> Figure:
        """Lose the second host after a third of the windows; everything is computed, once."""
        with self.workers([1, 1]):
            done = self.round(2, lose)
            if how == CUT:
                self.hosts[1].join()
                time.sleep(10)  # what it still wants to write must be refused
                self.check()
        detail = {
            "windows it held": len(done.held),
            "all done s": done.seconds,
            "rolled up s": done.settled_s,
        } | {f"by {host}": count for host, count in done.by.items()}
        what = f"a host lost, {how}: until others had its windows"
        return Figure(
            "P28", what, done.taken_s, limit, "s", at_most=True, detail=detail
        )

    def round(self, messages: int, lose: Callable[[], None] | None = None) -> Round:
        """Compute all windows again, and compare the ledger."""
        queue, last = Celery(broker=self.redis_url), self.hosts[1]
        with self.database() as database:
            self.forget(database)
            found = Round(time.monotonic())
            self.wake(queue, messages)
            swept = found.began
            while not found.settled_s:
                found.look(database, last.name, self.windows)
                is_time = found.by.total() >= self.windows / 3
                if lose and not found.held and found.claimed and is_time:
                    lose()
                    found.lost_at, found.held = time.monotonic(), found.claimed
                if time.monotonic() - swept > SWEEP_S:
                    self.wake(queue, 1)
                    swept = time.monotonic()
                time.sleep(POLL_S)
        assert not lose or found.taken_s, "nothing was left to lose"
        self.check()
        return found

    def check(self) -> None:
        """The ledger is the one of the import, and conserved."""
        found = self.ledger()
        different = [name for name in LEDGER if found[name] != self.alone[name]]
        assert not different, f"another ledger: {different}"
        sums = conserved(self.database_url)
        assert not sums.findings, sums.findings[:5]

    def ledger(self) -> dict[str, str]:
        """A hash of all rows of each table of the ledger."""
        rows = " UNION ALL ".join(
            f"SELECT '{name}', md5(string_agg(t::text, ' ' ORDER BY t::text)) FROM {name} t"
            for name in LEDGER
        )
        with self.database() as database:
            return dict(database.execute(rows.encode()).fetchall())

    def forget(self, database: psycopg.Connection) -> None:
        """All windows are due again, as after an import that was never computed."""
        tables = f"{partitions.TABLES}, accounting_dirtyhour, accounting_pendinggpuhour"
        database.execute(f"TRUNCATE {tables}".encode())
        database.execute(
            """UPDATE accounting_ingestwindow SET state = 'pending', fence = fence + 1,
                   content_hash = NULL, reading_hash = NULL, worker_host = ''"""
        )

    def wake(self, queue: Celery, messages: int) -> None:
        """Wake workers for the cluster, as the sweep does with one message a minute."""
        with self.database() as database:
            row = database.execute("SELECT id FROM accounting_cluster").fetchone()
        assert row is not None
        for _ in range(messages):
            queue.send_task("accounting.tasks.ingest", row, expires=SWEEP_S)

    @contextmanager
    def workers(self, processes: list[int]) -> Iterator[None]:
        """A worker on each host with so many processes; killed at the end."""
        wanted = {
            host.name: count
            for host, count in zip(self.hosts, processes, strict=True)
            if count
        }
        try:
            for host in self.hosts:
                if count := wanted.get(host.name):
                    log = self.folder / f"{host.name}.log"
                    host.start(worker(), self.environment(count), log)
            queue = Celery(broker=self.redis_url)
            deadline = time.monotonic() + 60
            while len(queue.control.ping(timeout=1) or []) < len(wanted):
                assert time.monotonic() < deadline, "workers do not start"
            yield
        finally:
            for host in self.hosts:
                host.join()
                host.kill()

    @contextmanager
    def database(self) -> Iterator[psycopg.Connection]:
        """A connection of our own, in which every statement is committed."""
        with psycopg.connect(self.database_url, autocommit=True) as found:
            yield found

    def environment(self, processes: int = 1) -> dict[str, str]:
        """What the product sees on every host."""
        return {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "portal.settings",
            "DATABASE_URL": self.database_url,
            "REDIS_URL": self.redis_url,
            "GPU_LEDGER_HOME": str(self.folder / "home"),
            "GPU_LEDGER_LOCAL": "1",
            "INGEST_HOURS_AT_ONCE": "1",  # as of a large cluster
            "WORKER_PROCESSES": str(processes),
        }
