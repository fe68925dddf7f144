"""Runs the whole demo: simulated cluster, web, worker, beat, and the history import."""

import fcntl
import json
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from accounting.metering.models.cluster import Cluster, Source, SourceKind
from portal.demo.bootstrap.load import days_text, load_next
from portal.demo.bootstrap.past_queues import observe_past
from portal.demo.bootstrap.ports import Ports, claim
from portal.demo.bootstrap.progress import ProgressReport, share
from portal.demo.bootstrap.quotas import is_due
from portal.demo.bootstrap.server import HOST
from portal.demo.bootstrap.setup import CLUSTER, ApiAddress, set_up, table
from portal.demo.bootstrap.state import Memory
from portal.demo.scenario.edits import load
from portal.demo.scenario.engine import Engine
from portal.demo.scenario.story import Story
from portal.embedded import lease, roles
from portal.embedded.errors import ServicesError
from portal.embedded.supervisor import Child, Supervisor, child_environment

READY_S = 60.0  # the longest time that a server may take to respond
LIVE_AFTER = "about six minutes"
MOST_DEATHS = 5  # failures of the history process before a person must act

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """The options of the demo; a port that is None may be any."""

    home: Path
    secret: str
    port: int | None
    cluster_port: int | None
    story: Story


@dataclass(slots=True)
class Demo:
    """One running demo."""

    plan: Plan
    ports: Ports
    say: Say
    memory: Memory
    supervisor: Supervisor
    report: ProgressReport
    filler: Child | None = None

    def start(self) -> None:
        """Start everything up to the first page, then import the rest of the history."""
        began = time.monotonic()
        story, plan = self.memory.story, self.plan
        api = ApiAddress(self.ports.cluster + 1, plan.home)
        self._serve_cluster(story, api)
        sign_ins = set_up(story, self.ports.cluster, plan.secret, api)
        self._load_newest(story)
        listening = self.ports.web.fileno()
        self.supervisor.start("web", roles.web(f"fd://{listening}"), keep=[listening])
        address = f"http://{HOST}:{self.ports.web_port}"
        _wait_for(f"{address}/healthz", self.supervisor)
        self.say(
            f"\nGPU Ledger is at {address}/   ({time.monotonic() - began:.0f} s)\n"
        )
        self.say(table(sign_ins))
        self.say(f"\nLive numbers change within {LIVE_AFTER}. Ctrl-C stops everything.")
        count = observe_past(story, plan.home, self.memory.until_s)
        if count:
            self.say(f"Queues: {count} observations of the past are loaded")
        self.supervisor.start("worker", roles.worker())
        self.supervisor.start("beat", roles.beat())
        if self.memory.missing or is_due():
            manage = [sys.executable, str(roles.MANAGE), "demo", "--fill"]
            log = plan.home / "logs" / "history.log"
            self.filler = Child("history", manage, log)
            self.filler.start(self.supervisor.environment)

    def watch(self) -> None:
        """Keep it running until it is stopped."""
        while True:
            self.supervisor.watch(seconds=2)
            self._look_at_services()
            self._look_at_filler()

    def stop(self) -> None:
        """End every process."""
        if self.filler is not None and self.filler.process is not None:
            self.filler.process.terminate()
            self.supervisor.children.append(self.filler)
        self.supervisor.stop()

    def _serve_cluster(self, story: Story, api: ApiAddress) -> None:
        server = [sys.executable, "-m", "portal.demo.bootstrap.server"]
        server += ["--story", json.dumps(asdict(story))]
        server += ["--port", str(self.ports.cluster)]
        api.write_tokens(self.plan.secret)
        server += ["--api-port", str(api.port)]
        server += ["--home", str(api.home)]
        self.ports.release_cluster()
        self.supervisor.start("cluster", server)
        _wait_for(f"http://{HOST}:{self.ports.cluster}/healthz", self.supervisor)

    def _load_newest(self, story: Story) -> None:
        """Import the data of the first page."""
        last = (
            Source.objects.filter(cluster__name=CLUSTER, last_sample_at__isnull=False)
            .order_by("last_sample_at")
            .last()
        )
        if last is not None and last.last_sample_at is not None:
            self.memory.seen_live(int(last.last_sample_at.timestamp()))
        now_s = int(time.time())
        is_new = self.memory.is_new
        self.memory.reach(now_s)
        engine = Engine(story, load(self.plan.home))
        if is_new:  # later starts show existing data at once
            self.say(f"Importing {days_text(self.memory.missing[0])} of metrics ...")
            load_next(engine, self.memory)
        share(self.memory)

    def _look_at_services(self) -> None:
        """Start PostgreSQL and Redis again if what keeps them was killed."""
        if lease.restore(self.plan.home):
            self.say("PostgreSQL and Redis had ended and were started again")

    def _look_at_filler(self) -> None:
        """Report the progress of the history, and notice when it has ended."""
        self.report.look()
        filler = self.filler
        if filler is None or filler.process is None:
            return
        code = filler.process.poll()
        if code is None:
            return
        filler.process = None
        if code == 0:
            self.say("History: all days are loaded")
        elif filler.deaths < MOST_DEATHS:
            filler.deaths += 1  # it continues with the part at which it ended
            filler.start(self.supervisor.environment)
        else:
            self.say(
                f"History stopped ({code}); see {filler.log}. A new start resumes it"
            )


def prepare(plan: Plan, say: Say, stack: ExitStack) -> Demo:
    """Check the environment before anything is started.

    Raises:
        ServicesError: explains what is wrong and what to do.
    """
    stack.enter_context(_alone(plan.home))
    others = list(Cluster.objects.filter(is_demo=False).exclude(name=CLUSTER)[:3])
    if others:
        names = ", ".join(cluster.name for cluster in others)
        raise ServicesError(
            f"this database has clusters of its own ({names}), which the demo does not use: set "
            "GPU_LEDGER_HOME to another folder, or unset DATABASE_URL"
        )
    memory = Memory.load(plan.home)
    if memory is None or not Cluster.objects.filter(name=CLUSTER).exists():
        memory = Memory.first(plan.home, plan.story)
    else:
        say(f"Continuing the demo in {plan.home} (remove this folder to start again)")
    ports = claim(
        plan.port,
        plan.cluster_port,
        last_cluster_port=_last_cluster_port(),
        say=say,
        stack=stack,
    )
    environment = child_environment(
        PUBLIC_URL=f"http://{HOST}:{ports.web_port}", GPU_LEDGER_HOME=str(plan.home)
    )
    supervisor = Supervisor(environment, plan.home / "logs", say)
    return Demo(plan, ports, say, memory, supervisor, ProgressReport(say))


def _last_cluster_port() -> int | None:
    """The port of the simulated cluster at the last start; None before the first one."""
    source = Source.objects.filter(
        cluster__name=CLUSTER, kind=SourceKind.SCRAPE
    ).first()
    targets = source.settings.get("targets", []) if source else []
    urls = [url for group in targets for url in group["urls"]]
    return urlsplit(urls[0]).port if urls else None


def _alone(home: Path) -> IO[bytes]:
    """A lock, so that two demos do not share a home."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = (home / "demo.lock").open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise ServicesError(f"the demo of {home} is already running") from None
    return file


def _wait_for(url: str, supervisor: Supervisor) -> None:
    """Wait until a server responds; a server that dies is restarted in the meantime."""
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(url, timeout=5):  # noqa: S310  # our own
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            supervisor.watch(seconds=0.1)
    names = ", ".join(str(child.log) for child in supervisor.children)
    raise ServicesError(f"{url} does not answer within {READY_S:.0f} s: see {names}")
