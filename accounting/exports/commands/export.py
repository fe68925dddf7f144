"""`manage.py export journal|focus|charges|statements --period YYYY-MM -o FILE`: a month's file."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from accounting.exports.rules.focus.columns import PROFILES
from accounting.exports.sql.file_tables import What
from accounting.exports.tasks.files import WrittenFile, write_file
from accounting.exports.tasks.request import ExportError, ExportRequest, Format
from accounting.exports.tasks.stream import stream
from accounting.kit.commands.output import HIDDEN, WRONG_USE, until_closed
from accounting.months.reads.lines import BookingError
from accounting.months.tasks.periods import PeriodError
from accounting.months.tasks.running import book_running

STDOUT = "-"


class Command(BaseCommand):
    """Writes a file and its metadata; exits with 0, or 2 for wrong use."""

    help = (
        "Write the charges of a billing period to a file: as FOCUS rows, as lines, as one row "
        "for each statement, or as a journal. FILE.metadata.json has the checksum and the total."
    )
    suppressed_base_arguments = HIDDEN

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What to write, and where."""
        parser.add_argument("what", choices=list(What), help="which rows")
        parser.add_argument(
            "--period", required=True, metavar="YYYY-MM", help="the billing period"
        )
        parser.add_argument(
            "--profile",
            choices=list(PROFILES),
            help="for focus: version of the specification; default: focus-1.4",
        )
        parser.add_argument("--team", metavar="NAME", help="only this team")
        parser.add_argument(
            "--revision",
            type=int,
            metavar="N",
            help="an older revision of a period that was reopened",
        )
        parser.add_argument(
            "--format",
            choices=list(Format),
            help="default: by the ending of FILE, else csv",
        )
        parser.add_argument(
            "-o",
            "--output",
            required=True,
            metavar="FILE",
            help="a file or a folder; - for the standard output (without metadata)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Compute a period that is not closed again, then write the file."""
        try:
            request = _request(options)
            if options["revision"] is None:
                book_running(request.period)
            if options["output"] == STDOUT:
                self._print(request)
            else:
                self._report(write_file(request, Path(options["output"])))
        except (ExportError, BookingError, PeriodError) as error:
            self.stderr.write(f"export: {error}")
            sys.exit(WRONG_USE)

    def _print(self, request: ExportRequest) -> None:
        with until_closed():
            for part in stream(request):
                sys.stdout.buffer.write(part)

    def _report(self, written: WrittenFile) -> None:
        found = written.metadata
        self.stdout.write(
            f"{written.path}: {found['rows']:,} rows, {found['bytes']:,} bytes\n"
            f"sum {found['sum']} {found['currency']}, payable {found['payable']}"
            f" ({found['period']}, {_state(found)}, {found['method']})\n"
            f"SHA-256 {found['sha256']}"
        )
        lost = found["without_money_ms"]
        if lost:
            self.stdout.write(f"without a price or conversion: {lost:,} ms")


def _state(found: dict[str, Any]) -> str:
    if found["state"] == "running":
        return "running: amounts may still change"
    return f"revision {found['revision']}"


def _request(options: dict[str, Any]) -> ExportRequest:
    what = What(options["what"])
    if options["profile"] and what is not What.FOCUS:
        raise ExportError(f"{what} have no profile: leave out --profile")
    ending = Path(options["output"]).suffix.removeprefix(".").lower()
    known = ending if ending in list(Format) else Format.CSV
    return ExportRequest(
        what,
        options["period"],
        options["profile"] or "focus-1.4",
        options["team"],
        Format(options["format"] or known),
        options["revision"],
    )
