"""`manage.py observe`: the state of clusters, and differences from the desired state."""

import signal
import sys
import threading
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from accounting.access.scope import EVERYTHING
from accounting.kit.commands.output import FINDING, WRONG_USE
from accounting.metering.models.cluster import Cluster
from scheduler_view.changes.tasks.watch import follow_all
from scheduler_view.clusters.models import Drift
from scheduler_view.clusters.rules.drift_state import DriftState
from scheduler_view.clusters.rules.wording import counted, few
from scheduler_view.clusters.tasks.cluster_connection import visible_clusters
from scheduler_view.queues.tasks.look import observe_once
from scheduler_view.quotas.reads.limits.rows import limit_rows, unmanaged


class Command(BaseCommand):
    """Observes once; exits with 0, 1 if something differs or fails, 2 for wrong use."""

    help = (
        "Read the quotas and priority classes of the clusters; --follow watches them."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The cluster, and whether to run once or continuously."""
        parser.add_argument("--cluster")
        parser.add_argument("--follow", action="store_true", help="run until stopped")
        parser.add_argument(
            "--alive-file",
            type=Path,
            help="file whose modification time is updated while all "
            "clusters are watched",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Observe each cluster, or follow all of them."""
        if options["follow"]:
            self._follow(options["cluster"] or "", options["alive_file"])
            return
        clusters = visible_clusters()
        if options["cluster"]:
            clusters = [c for c in clusters if c.name == options["cluster"]]
        if not clusters:
            self.stderr.write("observe: no such cluster has `kubernetes.reader`")
            sys.exit(WRONG_USE)
        if sum(self._look(cluster) for cluster in clusters):
            sys.exit(FINDING)

    def _look(self, cluster: Cluster) -> int:
        """The findings of one cluster, printed."""
        seen = observe_once(cluster, now=timezone.now)
        self.stdout.write(f"{cluster}: {seen.count} objects read")
        for kind, message in seen.errors.items():
            self.stderr.write(f"{cluster}: {kind} cannot be read: {message}")
        differing = Drift.objects.filter(cluster=cluster, state=DriftState.DIFFERS)
        for drift in differing.order_by("kind", "namespace", "name"):
            self.stdout.write(f"{drift}: {drift.message}")
        others = unmanaged(limit_rows(EVERYTHING, timezone.now(), cluster=cluster.name))
        if others:
            self.stdout.write(
                f"{cluster}: {counted(len(others), 'limit')} of GPUs that GPU Ledger does "
                f"not manage: {few([row.summary for row in others])} (report limits)"
            )
        return len(seen.errors) + differing.count()

    def _follow(self, only: str, alive_file: Path | None) -> None:
        """Follow until the process is stopped."""
        ending = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: ending.set())

        def alive() -> None:
            if alive_file is not None:
                alive_file.touch()

        follow_all(now=timezone.now, ending=ending, alive=alive, only=only)
