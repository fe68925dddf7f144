"""`manage.py ingest`: what workers do, in the foreground."""

import sys
import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.db import InterfaceError, OperationalError, connection

from accounting.access import EVERYTHING
from accounting.actions import due, live
from accounting.actions.ingest import ingest_all
from accounting.actions.new_clusters import (
    KnownGpusError,
    confirm,
    refuse_shared_gpus,
)
from accounting.actions.rollup import roll_up_dirty_hours
from accounting.audit import SYSTEM, act
from accounting.management.output import FINDING, WRONG_USE
from accounting.management.progress import Progress
from accounting.models import Cluster
from accounting.queries.selection import SelectionError, parse_selection

ROUND_S = 30.0


class Command(BaseCommand):
    """Ingests; ends with 0, 1 when windows failed, 2 for wrong use."""

    help = "Read the configured sources and bring the ledger up to date."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which cluster, which time, once or for good."""
        parser.add_argument("--cluster")
        parser.add_argument("--from", dest="start", help="backfill from here")
        parser.add_argument("--to", dest="end", help="up to here, not included")
        parser.add_argument("--follow", action="store_true", help="until stopped")
        parser.add_argument(
            "--new",
            action="store_true",
            help="the cluster is one of its own, also if another one has its GPUs",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Ingest once, or round by round."""
        clusters = self._clusters(options["cluster"], is_new=options["new"])
        try:
            selection = parse_selection(
                EVERYTHING, options["start"], options["end"], {}
            )
        except SelectionError as error:
            self.stderr.write(f"ingest: {error}")
            sys.exit(WRONG_USE)
        failed = 0
        while True:
            for cluster in clusters:
                if selection.period is not None:
                    due.mark(cluster.pk, [selection.period], "asked", create=True)
                failed += self._try(cluster, is_last=not options["follow"])
            if not options["follow"]:
                break
            time.sleep(ROUND_S)
        if failed:
            sys.exit(FINDING)

    def _clusters(self, name: str | None, *, is_new: bool) -> list[Cluster]:
        """Those to read; ends the command where there are none, or one is mistyped."""
        clusters = list(Cluster.objects.all())
        if not name:
            if not clusters:
                self.stderr.write("ingest: no cluster yet; see `manage.py configure`")
                sys.exit(WRONG_USE)
            return clusters
        chosen = [cluster for cluster in clusters if cluster.name == name]
        if not chosen:
            known = ", ".join(cluster.name for cluster in clusters) or "none"
            self.stderr.write(
                f"ingest: no cluster is called {name!r}; known: {known}."
                " `manage.py configure` adds one with its sources"
            )
            sys.exit(WRONG_USE)
        try:
            if not is_new:
                refuse_shared_gpus(chosen[0])
        except KnownGpusError as error:
            self.stderr.write(f"ingest: {error}")
            sys.exit(WRONG_USE)
        if is_new:
            with act(SYSTEM, f"ingest --new of {name}"):
                confirm(name)
        return chosen

    def _try(self, cluster: Cluster, *, is_last: bool) -> int:
        """One round; a lost database ends it, and also the command when it is the last."""
        try:
            return self._round(cluster)
        except (OperationalError, InterfaceError) as error:
            if is_last:
                raise
            connection.close()
            reason = str(error).strip().splitlines()[0]
            self.stderr.write(f"ingest: the database went away: {reason}; again soon")
            return 0

    def _round(self, cluster: Cluster) -> int:
        live.scrape_cluster(cluster)
        live.find_due(cluster)
        with Progress(self.stderr) as progress:
            done = ingest_all(
                cluster,
                newest_first=False,
                on_progress=lambda d: progress.tell("Windows", d.windows, d.windows),
            )
        hours = roll_up_dirty_hours(cluster.pk)
        self.stdout.write(
            f"{cluster.name}: {done.windows} windows, {done.rows_written} rows written, "
            f"{done.samples_seen} samples, {hours} hours rolled up, {done.failed} failed"
        )
        return done.failed
