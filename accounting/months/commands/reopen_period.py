"""`manage.py reopen_period YYYY-MM`: open the latest closed month again."""

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from accounting.kit.commands.arguments import WrongUse
from accounting.kit.commands.output import HIDDEN, WRONG_USE
from accounting.months.actions import periods
from accounting.months.tasks.periods import PeriodError
from accounting.organization.commands.people import two_people


class Command(BaseCommand):
    """Reopens; exits with 0, or 2 for wrong use."""

    help = (
        "Open the latest closed month again. Its next close is a new revision; the old one "
        "stays readable."
    )
    suppressed_base_arguments = HIDDEN

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The month, and the two people."""
        parser.add_argument("period", metavar="YYYY-MM")
        parser.add_argument(
            "--reason", metavar="TEXT", required=True, help="why; 10 to 200 characters"
        )
        parser.add_argument(
            "--by", metavar="USER", required=True, help="who requests it"
        )
        parser.add_argument(
            "--confirm",
            metavar="USER",
            required=True,
            help="another person, who confirms",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Request and confirm."""
        try:
            by, confirm = two_people(options["by"], options["confirm"])
            row = periods.request_reopening(options["period"], options["reason"], by)
            opened = periods.confirm_reopening(row.pk, confirm)
        except (PeriodError, WrongUse) as error:
            self.stderr.write(f"reopen_period: {error}")
            sys.exit(WRONG_USE)
        self.stdout.write(f"{opened.period} is open again; {opened} stays readable")
