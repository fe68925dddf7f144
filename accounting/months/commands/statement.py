"""`manage.py statement YYYY-MM TEAM`: what a team pays for a month."""

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from accounting.kit.commands.arguments import WrongUse
from accounting.kit.commands.output import HIDDEN, WRONG_USE, until_closed, write_rows
from accounting.months.commands.statement_rows import notes, statement_table
from accounting.months.models.period import PeriodRevision, Statement
from accounting.months.reads.lines import Booking, BookingError, booking_of
from accounting.months.tasks.periods import PeriodError, previous_period
from accounting.months.tasks.running import book_running


class Command(BaseCommand):
    """Prints a statement; exits with 0, or 2 for wrong use."""

    help = (
        "Print what a team, `unmapped` or `platform` pays for a month, and why. A month that is "
        "not closed is computed again."
    )
    suppressed_base_arguments = HIDDEN

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The month, the team and the format."""
        parser.add_argument("period", metavar="YYYY-MM")
        parser.add_argument("team", metavar="TEAM", help="slug, unmapped or platform")
        parser.add_argument(
            "--revision", type=int, metavar="N", help="an earlier revision of the month"
        )
        parser.add_argument(
            "--format", choices=["table", "json", "csv"], default="table"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the header, the rows of the sum, and notes."""
        try:
            booking = _booking(options["period"], options["revision"], options["team"])
        except (BookingError, PeriodError, WrongUse) as error:
            self.stderr.write(f"statement: {error}")
            sys.exit(WRONG_USE)
        is_text = options["format"] == "table"
        with until_closed():
            if is_text:
                self._head(booking, options["team"])
            rows = statement_table(booking, options["team"])
            write_rows(rows, options["format"], self.stdout)
            for note in notes(booking, options["team"]) if is_text else ():
                self.stdout.write(note)

    def _head(self, booking: Booking, team: str) -> None:
        if booking.is_closed:
            number = f"Statement {booking.period}-{team}-r{booking.revision}"
            state = f"closed, hash {booking.hash}"
        else:
            number, state = f"Statement of {team}", "running: amounts may change"
        self.stdout.write(f"{number}, {booking.currency}")
        self.stdout.write(
            f"{booking.period}, {booking.timezone}, {booking.method}, {state}"
        )
        before = Statement.objects.filter(
            revision__period=previous_period(booking.period),
            revision__reopened_at=None,
            team=team,
        ).first()
        if before is not None:
            self.stdout.write(
                f"month before: {before.payable:.{booking.minor_places}f}"
            )


def _booking(period: str, revision: int | None, team: str) -> Booking:
    if revision is None:
        book_running(period)
    booking = booking_of(period, revision)
    teams = PeriodRevision.objects.get(pk=booking.revision_id).statements
    if not teams.filter(team=team).exists():
        known = ", ".join(teams.values_list("team", flat=True))
        raise WrongUse(f"{team!r} has no statement of {period}. Statements: {known}")
    return booking
