"""Computes all due windows of a cluster, and rolls up hours as they become complete.

Used by workers, `ingest` and `import_metrics`, which differ in the windows that they make due
before.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from accounting.core.interval import Interval
from accounting.kit.reads.database_clock import database_now
from accounting.metering.models.cluster import Cluster
from accounting.metering.tasks.data_issues import checks
from accounting.metering.tasks.data_issues.events import HoursRolledUp
from accounting.metering.tasks.pipeline import Ingested, ingest_all
from accounting.metering.tasks.windows.backlog import Backlog, backlog
from accounting.metering.tasks.windows.leases import wait_for_locked
from accounting.usage.tasks.rollup import roll_up_complete_hours, roll_up_dirty_hours

ROLL_UP_AFTER_S = 10.0  # how far reports and pages may be behind a long run
ROLL_UP_SHARE = 0.05  # of the time of a long run, at most
TELL_AFTER_S = 0.5  # between two counts of the remaining windows
MOST_PASSES = 3  # an hour whose facts expired in the meantime is computed once more

Progress = Callable[[str, int, int], None]  # step, done, total
COMPUTING, ROLLING_UP = "Computing windows", "Rolling up hours"


@dataclass(frozen=True, slots=True)
class CaughtUp:
    """The result of a run.

    Attributes:
        ingested: counts of windows, facts, samples and failed attempts.
        hours: hours that were rolled up; an hour that changed again counts again.
        left: windows that are still not done.
    """

    ingested: Ingested
    hours: int
    left: Backlog

    def __add__(self, later: "CaughtUp") -> "CaughtUp":
        """Both runs; `left` is that of the later one."""
        done = self.ingested + later.ingested
        return CaughtUp(done, self.hours + later.hours, later.left)


def catch_up(
    cluster: Cluster,
    *,
    within: Interval | None = None,
    newest_first: bool = True,
    for_s: float = math.inf,
    on_progress: Progress | None = None,
) -> CaughtUp:
    """Compute due windows and roll up changed hours, until nothing is due.

    Args:
        cluster: of the windows.
        within: only windows and hours of this period; windows that become due outside it stay due.
        newest_first: the order of hours.
        for_s: start no more windows after this many seconds.
        on_progress: called with the progress; the total grows when windows become due.
    """
    run = _Run(cluster.pk, within, database_now(), on_progress)
    end = time.monotonic() + for_s
    for _ in range(MOST_PASSES):
        run.done += ingest_all(
            cluster,
            within=within,
            newest_first=newest_first,
            as_of=run.began,
            for_s=max(0.0, end - time.monotonic()),
            on_progress=run.after_hour,
        )
        run.finish()
        left = backlog(cluster.pk, within, as_of=run.began)
        if not left.due or run.done.failed or time.monotonic() >= end:
            break
        if for_s == math.inf:  # a run with limited time is repeated
            wait_for_locked(cluster.pk, within)
    return CaughtUp(run.done, run.hours, left)


@dataclass(slots=True)
class _Run:
    """The rollups and the progress of one run."""

    cluster_id: int
    within: Interval | None
    began: datetime
    on_progress: Progress | None
    done: Ingested = field(default_factory=lambda: Ingested(0, 0, 0))
    hours: int = 0
    _rolled_s: float = field(default_factory=time.monotonic)
    _took_s: float = 0.0
    _reported_s: float = 0.0

    def after_hour(self, now: Ingested) -> None:
        """Called when an hour's windows are computed: `now` is the result of this pass so far."""
        pause = max(ROLL_UP_AFTER_S, self._took_s / ROLL_UP_SHARE)
        if time.monotonic() - self._rolled_s >= pause:
            started = time.monotonic()
            self.hours += roll_up_complete_hours(self.cluster_id, self.within)
            self._rolled_s = time.monotonic()
            self._took_s = self._rolled_s - started
        if self.on_progress and time.monotonic() - self._reported_s >= TELL_AFTER_S:
            self._reported_s = time.monotonic()
            done = self.done + now
            count = done.windows + done.failed
            left = backlog(self.cluster_id, self.within, as_of=self.began).due
            self.on_progress(COMPUTING, count, count + left)

    def finish(self) -> None:
        """Roll up the remaining hours, complete or not."""
        rolled = roll_up_dirty_hours(
            self.cluster_id, within=self.within, on_progress=self._tell_hours
        )
        if self.hours and not rolled:  # all of them were complete before the end
            checks.run(HoursRolledUp(self.cluster_id))
        self.hours += rolled

    def _tell_hours(self, done: int, total: int) -> None:
        if self.on_progress is not None:
            self.on_progress(ROLLING_UP, done, total)
