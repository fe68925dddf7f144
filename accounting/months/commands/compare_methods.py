"""`manage.py compare_methods --from DAY --to DAY`: what each team would pay by each method."""

import sys
from argparse import ArgumentParser
from datetime import date
from typing import Any

from django.core.management.base import BaseCommand

from accounting.core.billing_calendar import DayRange
from accounting.kit.commands.arguments import WrongUse
from accounting.kit.commands.output import HIDDEN, WRONG_USE, until_closed, write_rows
from accounting.months.rules.methods import METHODS
from accounting.months.tasks.method_comparison import compare


class Command(BaseCommand):
    """Compares; exits with 0, or 2 for wrong use."""

    help = (
        "Show the total of each team by each method over whole billing days, and its difference "
        "to the method in effect. Nothing is stored."
    )
    suppressed_base_arguments = HIDDEN

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The days and the format."""
        parser.add_argument(
            "--from", dest="first", metavar="DAY", required=True, help="YYYY-MM-DD"
        )
        parser.add_argument(
            "--to", dest="after", metavar="DAY", required=True, help="first day after"
        )
        parser.add_argument(
            "--format", choices=["table", "json", "csv"], default="table"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Print a row for each team and method."""
        try:
            days = _days(options["first"], options["after"])
        except WrongUse as error:
            self.stderr.write(f"compare_methods: {error}")
            sys.exit(WRONG_USE)
        rows = [
            {
                "team": row.team,
                "method": method.id,
                "charge": str(row.totals[method.id]),
                "in_effect_charge": str(row.in_effect),
                "difference_charge": str(row.difference(method.id)),
            }
            for row in compare(days)
            for method in METHODS
        ]
        with until_closed():
            write_rows(rows, options["format"], self.stdout)


def _days(first: str, after: str) -> DayRange:
    try:
        return DayRange(date.fromisoformat(first), date.fromisoformat(after))
    except ValueError:
        raise WrongUse(
            f"--from {first} --to {after}: write two days such as 2026-10-01, the first before "
            "the second"
        ) from None
