"""`manage.py correct`: compute the corrections of closed months again, and print them."""

import sys
from argparse import ArgumentParser
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand

from accounting.kit.commands.output import HIDDEN, WRONG_USE, until_closed, write_rows
from accounting.months.commands.corrections import booked_corrections
from accounting.months.reads.lines import booking_of
from accounting.months.tasks.periods import next_to_close
from accounting.months.tasks.running import book_running


class Command(BaseCommand):
    """Corrects; exits with 0, or 2 if no month is closed."""

    help = (
        "Compute again what closed months would be today, book the differences in the first "
        "month that is not closed, and print them by closed month, cause and team."
    )
    suppressed_base_arguments = HIDDEN

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The format."""
        parser.add_argument(
            "--format", choices=["table", "json", "csv"], default="table"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Book the first open month and print its corrections."""
        period = next_to_close()
        if period is None:
            self.stderr.write(
                "correct: no month is closed, so there is nothing to correct"
            )
            sys.exit(WRONG_USE)
        book_running(period, datetime.now(UTC))
        rows = booked_corrections(booking_of(period))
        with until_closed():
            write_rows(rows, options["format"], self.stdout)
