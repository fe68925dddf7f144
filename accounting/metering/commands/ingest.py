"""`manage.py ingest`: computes due windows as workers do, in the foreground."""

import sys
import time
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any

from django.core.management.base import BaseCommand
from django.db import InterfaceError, OperationalError, connection

from accounting.core.interval import Interval
from accounting.kit.audit import SYSTEM, act
from accounting.kit.commands.arguments import WrongUse
from accounting.kit.commands.output import (
    FINDING,
    HIDDEN,
    INTERRUPTED,
    WRONG_USE,
    interruptible,
)
from accounting.kit.commands.progress import Progress
from accounting.kit.outcomes import Refused
from accounting.metering.commands.arguments import clusters_named, ended_range
from accounting.metering.models.cluster import Cluster
from accounting.metering.tasks import live_sources
from accounting.metering.tasks.new_clusters import confirm, refuse_shared_gpus
from accounting.metering.tasks.windows import schedule
from accounting.metering.tasks.windows.backlog import backlog
from accounting.usage.tasks.catch_up import CaughtUp, catch_up
from accounting.usage.tasks.expired_hours import widened

ROUND_S = 30
MOST_TURNS = 10  # windows that end while a long run computes are computed too


class Command(BaseCommand):
    """Ingests; exits with 0, 1 if windows wait for their source, 2 for wrong use."""

    help = (
        "Read the configured sources, compute all due windows, then stop. With --from and --to, "
        "recompute only that range."
    )
    suppressed_base_arguments = HIDDEN

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The cluster, the time, and whether to run once or until stopped."""
        parser.add_argument(
            "--cluster", metavar="NAME", help="only this cluster; default: all clusters"
        )
        parser.add_argument(
            "--from",
            dest="start",
            metavar="TIME",
            help="start of the range: a date, or ISO 8601 with an offset",
        )
        parser.add_argument(
            "--to", dest="end", metavar="TIME", help="end of the range (exclusive)"
        )
        parser.add_argument(
            "--follow",
            nargs="?",
            const=str(ROUND_S),
            metavar="SECONDS",
            help=f"run until stopped, with a pause between two rounds ({ROUND_S} s)",
        )
        parser.add_argument(
            "--new",
            action="store_true",
            help="accept the cluster even if another cluster has the same GPUs",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Ingest a range, all due windows, or round by round."""
        try:
            pause_s = _pause_s(options["follow"])
            clusters = clusters_named(options["cluster"])
            period = _range_of(options, clusters)
            if options["cluster"]:
                _check_gpus(clusters[0], is_new=options["new"])
        except (WrongUse, Refused) as error:
            self.stderr.write(f"ingest: {error}")
            sys.exit(WRONG_USE)
        try:
            with interruptible():
                failed = self._ingest(clusters, period, pause_s=pause_s)
        except KeyboardInterrupt:
            self.stderr.write(
                "ingest: stopped. Computed windows are kept. Run the same command again to "
                "continue."
            )
            sys.exit(INTERRUPTED)
        if failed:
            sys.exit(FINDING)

    def _ingest(
        self,
        clusters: Sequence[Cluster],
        period: Interval | None,
        *,
        pause_s: int | None,
    ) -> int:
        """The number of windows that wait for their source; does not return with `--follow`."""
        while pause_s is not None:
            for cluster in clusters:
                self._follow(cluster)
            time.sleep(pause_s)
        if period is None:
            return sum(self._catch_up(cluster) for cluster in clusters)
        return sum(self._range(cluster, period) for cluster in clusters)

    def _follow(self, cluster: Cluster) -> None:
        """One round; a lost database ends the round, not the command."""
        try:
            self._catch_up(cluster, is_quiet=True)
        except (OperationalError, InterfaceError) as error:
            connection.close()
            reason = str(error).strip().splitlines()[0]
            self.stderr.write(
                f"ingest: the database connection was lost: {reason}; retrying"
            )

    def _catch_up(self, cluster: Cluster, *, is_quiet: bool = False) -> int:
        """All due windows, including those that become due in the meantime."""
        live_sources.scrape_cluster(cluster)
        live_sources.find_due(cluster)
        done = self._compute(cluster, None)
        for _ in range(MOST_TURNS):
            if done.left.failed or not live_sources.find_due(cluster):
                break
            done += self._compute(cluster, None)
        if not is_quiet or done.ingested.windows or done.hours:
            self._say(cluster, done)
        return self._say_left(cluster, done)

    def _range(self, cluster: Cluster, period: Interval) -> int:
        """One range only."""
        asked, period = period, widened(cluster.pk, period)
        if period != asked:
            self.stdout.write(
                f"{cluster.name}: five-minute data of that time has expired; full hours are "
                f"computed, from {period.start:%Y-%m-%dT%H:%MZ} to "
                f"{period.end:%Y-%m-%dT%H:%MZ}"
            )
        before = schedule.ask(cluster.pk, period, create=live_sources.is_live(cluster))
        if before:
            self.stdout.write(
                f"{cluster.name}: continuing; {before} windows of this range are already computed"
            )
        done = self._compute(cluster, period)
        self._say(cluster, done)
        outside = backlog(cluster.pk, period, is_outside=True).due
        if outside:
            self.stdout.write(
                f"{cluster.name}: {outside} windows outside this range are due; workers compute "
                "them, or `manage.py ingest` without a range"
            )
        return self._say_left(cluster, done)

    def _compute(self, cluster: Cluster, period: Interval | None) -> CaughtUp:
        with Progress(self.stderr) as progress:
            return catch_up(
                cluster,
                within=period,
                newest_first=False,
                on_progress=lambda what, done, total: progress.tell(
                    f"{cluster.name}: {what}", done, total
                ),
            )

    def _say(self, cluster: Cluster, done: CaughtUp) -> None:
        found = done.ingested
        if not cluster.sources.filter(is_active=True).exists():
            self.stdout.write(
                f"{cluster.name}: no source; add one to the setup file, or import files with "
                "`manage.py import_metrics`"
            )
        if not found.windows and not done.hours and not done.left.failed:
            self.stdout.write(f"{cluster.name}: 0 windows, none are due")
            return
        self.stdout.write(
            f"{cluster.name}: {found.windows} windows, {found.rows_written} rows written, "
            f"{found.samples_seen} samples, {done.hours} hours rolled up"
        )

    def _say_left(self, cluster: Cluster, done: CaughtUp) -> int:
        """Print what is not done; returns the number of windows that wait for their source."""
        left = done.left
        if left.claimed:
            self.stdout.write(
                f"{cluster.name}: {left.claimed} windows are being computed by another "
                "process"
            )
        if left.partial:
            self.stdout.write(
                f"{cluster.name}: {left.partial} windows are incomplete, because the source "
                "returned incomplete data; they are read again later"
            )
        waiting = left.failed + left.due
        if not waiting:
            return 0
        why = f": {left.error}" if left.error else ""
        self.stderr.write(
            f"ingest: {cluster.name}: {waiting} windows are not computed{why}. Workers retry "
            "automatically; without workers, run `manage.py ingest` again"
        )
        return waiting


def _pause_s(text: str | None) -> int | None:
    """Seconds between two rounds; None without `--follow`.

    Raises:
        WrongUse: not a number, or too small for other clusters to get a turn.
    """
    if text is None:
        return None
    if not text.isdecimal() or int(text) < 1:
        raise WrongUse(f"--follow: {text!r} is not a number of seconds from 1 on")
    return int(text)


def _range_of(options: dict[str, Any], clusters: Sequence[Cluster]) -> Interval | None:
    """The requested range.

    Raises:
        WrongUse: not a range, not one that can be computed, or combined with `--follow`.
    """
    period = ended_range(options["start"], options["end"])
    if period is None:
        return None
    if options["follow"]:
        raise WrongUse("--follow cannot be used with --from and --to")
    for cluster in clusters:
        lost = schedule.lost_before(cluster.pk, period)
        if lost is not None:
            raise WrongUse(
                f"{cluster.name}: samples of files and scrapes before "
                f"{lost:%Y-%m-%dT%H:%MZ} are no longer stored, so that time cannot be "
                "recomputed. Use this time for --from"
            )
    return period


def _check_gpus(cluster: Cluster, *, is_new: bool) -> None:
    """Reject a cluster whose GPUs another one has, unless it is confirmed as separate (N39).

    Raises:
        Refused: names the cluster that has them.
    """
    if not is_new:
        refuse_shared_gpus(cluster)
        return
    with act(SYSTEM, f"ingest --new of {cluster.name}"):
        confirm(cluster.name)
