"""Imports all missing history while the pages run: two processes, for two cores."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from django.utils import timezone

from accounting.metering.models.cluster import Cluster
from accounting.usage.tasks.catch_up import catch_up
from portal.demo.bootstrap.load import days_text, keep_next
from portal.demo.bootstrap.months import close_settled_month
from portal.demo.bootstrap.progress import share, waiting_days
from portal.demo.bootstrap.quotas import establish, look_now
from portal.demo.bootstrap.setup import CLUSTER
from portal.demo.bootstrap.state import Memory
from portal.demo.scenario.edits import load
from portal.demo.scenario.engine import Engine
from portal.embedded import roles
from portal.embedded.supervisor import Child
from portal.weekly.send import send_weekly
from scheduler_view.savings.tasks.compute import compute_due

MOST_WAITING = 2  # days of history that wait to be computed, before `fill` helps
HELP_S = 5.0  # at a time
ROUND_S = 10.0  # of the other process: hours are rolled up after each
STOP_S = 10.0  # the longest time that it may take to stop
PAUSE_S = 0.3  # if nothing is due yet

Say = Callable[[str], None]


def fill(home: Path, say: Say) -> None:
    """Import all missing history, newest first: runs after the first page is shown.

    This process writes files and stores their samples; another one computes their windows
    in the meantime, as workers do.
    """
    memory = Memory.load(home)
    if memory is None:
        return
    if words := establish(memory.story):
        say(words)
    look_now()
    cluster = Cluster.objects.get(name=CLUSTER)
    engine = Engine(memory.story, load(home))
    engine.advance(memory.until_s)
    manage = [sys.executable, str(roles.MANAGE), "demo", f"--compute={home}"]
    other = Child("compute", manage, home / "logs" / "compute.log")
    other.log.parent.mkdir(exist_ok=True)
    other.start(os.environ)
    try:
        _bring_in(cluster, engine, memory, say)
        if other.process is not None:
            other.process.wait()
        share(memory)
        if words := close_settled_month(timezone.now()):
            say(words)
        if count := send_weekly(timezone.now(), at_once=True):
            say(f"{count} weekly mail written")
    finally:
        if other.process is not None and other.process.poll() is None:
            other.signal_group(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                other.process.wait(STOP_S)


def _bring_in(cluster: Cluster, engine: Engine, memory: Memory, say: Say) -> None:
    """Store every part of the history, no faster than its windows are computed."""
    while memory.missing:
        began = time.monotonic()
        words = days_text(memory.missing[0])
        keep_next(engine, memory)
        share(memory)
        while waiting_days(memory) >= MOST_WAITING:
            catch_up(cluster, for_s=HELP_S)
            share(memory)
        say(f"{words} imported in {time.monotonic() - began:.1f} s")
    while catch_up(cluster, for_s=HELP_S).ingested.windows:
        share(memory)


def compute(home: Path) -> None:
    """Compute what is due, windows and the waste of complete days, until all history is imported.

    Runs parallel to `fill`.
    """
    cluster, parent = Cluster.objects.get(name=CLUSTER), os.getppid()
    while os.getppid() == parent:
        memory = Memory.load(home)  # read first: stored samples have due windows
        windows = catch_up(cluster, for_s=ROUND_S).ingested.windows
        days = compute_due(cluster, for_s=ROUND_S)
        if windows or days:
            continue
        if memory is None or not memory.missing:
            return
        time.sleep(PAUSE_S)
