"""`manage.py verify`: the invariants that a database can show, one line each."""

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.db import connection, transaction

from accounting.access import EVERYTHING
from accounting.management.output import FINDING, WRONG_USE
from accounting.queries.selection import SelectionError, parse_selection, stored_period
from accounting.queries.verify import verdicts


class Command(BaseCommand):
    """Verifies; ends with 0, 1 when an invariant is broken, 2 for wrong use."""

    help = "Check that time and money are conserved and that rollups are their facts."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which time."""
        parser.add_argument("--from", dest="start")
        parser.add_argument("--to", dest="end")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run every check and print what it found."""
        try:
            selection = parse_selection(
                EVERYTHING, options["start"], options["end"], {}
            )
        except SelectionError as error:
            self.stderr.write(f"verify: {error}")
            sys.exit(WRONG_USE)
        period = selection.period or stored_period()
        if period is None:
            self.stdout.write("nothing is stored yet")
            return
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute(
                    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"
                )
            found = verdicts(period)
        for verdict in found:
            mark = "ok  " if verdict.holds else "FAIL"
            self.stdout.write(f"{mark} {verdict.check.name}: {verdict.check.statement}")
            for what, got, wanted in verdict.violations[:5]:
                self.stdout.write(f"       {what}: {got}, should be {wanted}")
        self.stdout.write(f"{found[0].checked} facts checked")
        if not all(verdict.holds for verdict in found):
            sys.exit(FINDING)
