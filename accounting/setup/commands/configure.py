"""`manage.py configure FILE.yaml [--check]`: the whole setup in one file."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from accounting.access.models.teams import Team
from accounting.access.reads.billing_settings import billing_at
from accounting.kit.audit import SYSTEM
from accounting.kit.commands.output import HIDDEN, WRONG_USE
from accounting.kit.commands.progress import Progress
from accounting.kit.reads.database_clock import database_now
from accounting.metering.models.cluster import Cluster
from accounting.metering.tasks.kube_state_jobs.changes import apply_accepted_jobs
from accounting.metering.tasks.pipeline import ingest_all
from accounting.metering.tasks.retirement import RetirementError, apply_retirement
from accounting.setup.tasks.apply import apply_configuration
from accounting.setup.tasks.apply_accounts import AccountError
from accounting.setup.tasks.schema import read_configuration
from accounting.setup.tasks.yaml_lines import DocumentError, decode
from accounting.usage.tasks.rollup import roll_up_dirty_hours


class Command(BaseCommand):
    """Applies a setup file; exits with 0, or 2 if the file is not valid (nothing was written)."""

    help = (
        "Set up billing, clusters, teams, bindings, prices, budgets, labels and resources "
        "from a file. It is safe to run it again."
    )
    suppressed_base_arguments = HIDDEN

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The file, and whether to check only."""
        parser.add_argument(
            "file", type=Path, metavar="FILE", help="see docs/example/ledger.yaml"
        )
        parser.add_argument(
            "--check",
            action="store_true",
            help="check the file without changing anything",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Read, check, apply, roll up."""
        try:
            text = decode(options["file"].read_bytes())
            wanted = read_configuration(
                text,
                known_teams=list(Team.objects.values_list("slug", flat=True)),
                known_clusters=list(Cluster.objects.values_list("name", flat=True)),
                known_departments=list(
                    Team.objects.values_list("department", flat=True)
                ),
                timezone=billing_at(database_now()).timezone,
            )
        except OSError as error:
            self.stderr.write(f"{options['file']}: cannot be read: {error.strerror}")
            sys.exit(WRONG_USE)
        except DocumentError as error:
            for fault in error.faults:
                self.stderr.write(f"{options['file']}: {fault}")
            sys.exit(WRONG_USE)
        if options["check"]:
            self.stdout.write(f"{options['file']}: the file is valid")
            return
        try:
            warnings: list[str] = []
            changes = apply_configuration(wanted, actor=SYSTEM, warnings=warnings)
        except (AccountError, RetirementError) as error:
            what = "'retired' cannot be " if isinstance(error, RetirementError) else ""
            self.stderr.write(f"{options['file']}: {what}{error}")
            sys.exit(WRONG_USE)
        for cluster in Cluster.objects.all():
            self._apply_changes(cluster)
            roll_up_dirty_hours(cluster.pk)
        for warning in warnings:
            self.stderr.write(f"warning: {warning}")
        for change in changes:
            self.stdout.write(f"changed: {change}")
        if not changes:
            self.stdout.write("no changes")

    def _apply_changes(self, cluster: Cluster) -> None:
        """Apply changed jobs of kube-state, or a changed end, to a cluster's past."""
        with Progress(self.stderr) as progress:
            of_jobs = apply_accepted_jobs(cluster)
            of_end = apply_retirement(
                cluster,
                on_progress=lambda done, of: progress.tell("Retirement", done, of),
            )
            for changed in filter(None, (of_jobs, of_end)):
                ingest_all(
                    cluster,
                    within=changed,
                    on_progress=lambda d: progress.tell(
                        "Windows", d.windows, d.windows
                    ),
                )
