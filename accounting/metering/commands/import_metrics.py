"""`manage.py import_metrics --cluster NAME FILE...`: imports files."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from accounting.access.scope import EVERYTHING
from accounting.health.reads.issues import issue_rows
from accounting.kit.audit import SYSTEM
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
from accounting.kit.reads.selection import Selection
from accounting.metering.commands.arguments import interval_of
from accounting.metering.commands.interval import interval_line
from accounting.metering.sources.openmetrics import FileError
from accounting.usage.reads.usage import usage_total
from accounting.usage.tasks.import_files import Imported, import_files


class Command(BaseCommand):
    """Imports; exits with 0, with 1 if windows wait for another source, with 2 if a file is not
    valid or its GPUs are in another cluster (nothing was written then).
    """

    help = (
        "Import OpenMetrics or timestamped Prometheus text (also .gz), compute all windows that "
        "it covers, and roll them up. It is safe to repeat. Files can be imported in any order."
    )
    suppressed_base_arguments = HIDDEN

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The cluster and the files."""
        parser.add_argument(
            "--cluster",
            metavar="NAME",
            required=True,
            help="the cluster of the samples; created if it does not exist",
        )
        parser.add_argument(
            "--new",
            action="store_true",
            help="create the cluster even if another cluster has the same GPUs",
        )
        parser.add_argument(
            "--interval",
            metavar="SECONDS",
            help="scrape interval of the samples, 1 to 300; stored for this cluster's files. "
            "Default: the stored value, otherwise the interval of the samples",
        )
        parser.add_argument(
            "--skip-future",
            action="store_true",
            help="leave out samples of more than a day ahead, and print their number",
        )
        parser.add_argument(
            "files",
            nargs="+",
            type=Path,
            metavar="FILE",
            help="files to import; all are checked before anything is written",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Import and print the result."""
        try:
            interval_s = interval_of(options["interval"])
            with interruptible(), Progress(self.stderr) as progress:
                done = import_files(
                    options["cluster"],
                    options["files"],
                    actor=SYSTEM,
                    is_new=options["new"],
                    interval_s=interval_s,
                    skips_future=options["skip_future"],
                    on_progress=progress.tell,
                )
        except (FileError, Refused, WrongUse) as error:
            self.stderr.write(f"import_metrics: {error}")
            sys.exit(WRONG_USE)
        except KeyboardInterrupt:
            self.stderr.write(
                "import_metrics: stopped. Computed windows are kept. Run the same command again "
                "to compute the rest."
            )
            sys.exit(INTERRUPTED)
        self._say(options["cluster"], done)
        if done.waiting:
            self.stderr.write(
                f"import_metrics: the samples are kept, but {done.waiting} windows wait for "
                "another source of the cluster that does not respond: see `report issues`"
            )
            sys.exit(FINDING)

    def _say(self, cluster: str, done: Imported) -> None:
        selection = Selection(EVERYTHING, None, {"cluster": (cluster,)})
        total = usage_total(selection)
        coverage = (
            "no held time"
            if total.coverage is None
            else f"{total.coverage:.1%} covered"
        )
        found = issue_rows(selection)
        self.stdout.write(
            f"{done.samples} samples ({done.new_samples} new), {done.windows} windows, "
            f"{done.rows_written} rows written, {coverage}, {len(found)} open issues"
        )
        if done.skipped:
            self.stdout.write(f"{done.skipped} samples in the future, left out")
        self.stdout.write(interval_line(done.interval_s, done.intervals))
        for name in done.unknown_names:
            self.stdout.write(f"unknown metric, ignored: {name}")
