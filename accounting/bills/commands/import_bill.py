"""`manage.py import_bill FILE`: imports a provider's bill from a FOCUS file (money.md M41)."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from accounting.bills.actions.import_bill import BillImport, import_bill
from accounting.bills.rules.columns import BillFileError
from accounting.bills.serializers import BillWord, word_rows
from accounting.kit.audit import SYSTEM
from accounting.kit.commands.output import (
    FINDING,
    HIDDEN,
    WRONG_USE,
    until_closed,
    write_rows,
)
from accounting.kit.serializers.declared import serializer_of


class Command(BaseCommand):
    """Exits with 0, with 1 if a row cannot be used, with 2 for wrong use (nothing was imported
    then).
    """

    help = (
        "Import a provider's bill: a FOCUS file of version 1.0 or newer, as CSV (also compressed "
        "by gzip) or Parquet. Prints rows and costs by match."
    )
    suppressed_base_arguments = HIDDEN

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The file."""
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument(
            "--check", action="store_true", help="a dry run; change nothing"
        )
        parser.add_argument(
            "--final",
            action="store_true",
            help="the provider has closed the billing period",
        )
        parser.add_argument(
            "--format", choices=["table", "csv", "json"], default="table"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Check or import, and print rows and costs."""
        path: Path = options["file"]
        try:
            with path.open("rb") as file:
                found = import_bill(
                    file,
                    name=path.name,
                    saves=not options["check"],
                    is_final=options["final"],
                    actor=SYSTEM,
                    now=timezone.now(),
                )
        except OSError as error:
            self._refuse(path, f"cannot be read: {error.strerror}")
        except BillFileError as error:
            self._refuse(path, str(error))
        with until_closed():
            rows = word_rows(found.bills)
            write_rows(
                serializer_of(BillWord).each(rows), options["format"], self.stdout
            )
        for fault in found.faults:
            self.stderr.write(f"line {fault.line}: {fault.word}: {fault.message}")
        self.stderr.write(_summary(found, is_check=options["check"]))
        if found.faults:
            sys.exit(FINDING)

    def _refuse(self, file: Path, fault: str) -> None:
        self.stderr.write(f"{file}: {fault}")
        sys.exit(WRONG_USE)


def _summary(found: BillImport, *, is_check: bool) -> str:
    known = sum(bill.is_known for bill in found.bills)
    parts = [f"{found.rows} rows", f"{len(found.bills)} bills"]
    if known:
        parts.append(f"{known} of them imported from this file before")
    if unconverted := sum(bill.unconverted_rows for bill in found.bills):
        parts.append(
            f"{unconverted} rows without a conversion into the billing currency"
        )
    text = ", ".join(parts)
    if found.faults:
        unusable = found.fault_words.total()
        return f"{text}: {unusable} rows cannot be used, so nothing is imported"
    return f"{text} ({'dry run: nothing is imported' if is_check else 'imported'})"
