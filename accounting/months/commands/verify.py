"""`manage.py verify`: the invariants that can be checked in a database, one line each."""

import re
import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.base import BaseCommand
from django.db import connection, transaction

from accounting.access.reads.reserved import reserved_teams
from accounting.access.scope import EVERYTHING
from accounting.kit.commands.output import FINDING, HIDDEN, WRONG_USE
from accounting.kit.reads.selection import (
    SelectionError,
    parse_selection,
    stored_period,
)
from accounting.months.reads.invariants.verify import verdicts
from accounting.months.tasks.periods import PeriodError, first_day
from accounting.months.tasks.verify import closed_verdicts
from accounting.organization.reads.audit_entries import Head, has_head, head


class Command(BaseCommand):
    """Verifies; exits with 0, 1 if an invariant is violated, 2 for wrong use."""

    help = (
        "Check that time and amounts are conserved and that rollups match their facts. "
        "Read-only; safe to run at any time."
    )
    suppressed_base_arguments = HIDDEN

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The period to check."""
        parser.add_argument(
            "--from",
            dest="start",
            metavar="TIME",
            help="start of the time: a date, or ISO 8601 with an offset; default: all stored data",
        )
        parser.add_argument(
            "--to", dest="end", metavar="TIME", help="end of the time (exclusive)"
        )
        parser.add_argument(
            "--head",
            type=_head,
            metavar="LINKS:HASH",
            help="the head of the audit chain that an earlier run printed",
        )
        parser.add_argument(
            "--period",
            nargs="?",
            const="",
            metavar="YYYY-MM",
            help="only closed billing periods, or this one; without it they are checked as well",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Run every check and print its findings."""
        if options["period"] is not None:
            if not self._write_closed(options["period"], is_named=True):
                sys.exit(FINDING)
            return
        try:
            selection = parse_selection(
                EVERYTHING, options["start"], options["end"], {}
            )
        except SelectionError as error:
            self.stderr.write(f"verify: {error}")
            sys.exit(WRONG_USE)
        is_kept = self._write_head(options["head"])
        is_kept = self._write_closed("") and is_kept
        is_kept = self._write_reserved() and is_kept
        period = selection.period or stored_period()
        if period is None:
            self.stdout.write("no data is stored yet")
            if not is_kept:
                sys.exit(FINDING)
            return
        with _snapshot():
            found = verdicts(period)
        for verdict in found:
            mark = "ok  " if verdict.holds else "FAIL"
            self.stdout.write(f"{mark} {verdict.check.name}: {verdict.check.statement}")
            for what, got, wanted in verdict.violations[:5]:
                self.stdout.write(f"       {what}: {got}, should be {wanted}")
        self.stdout.write(f"{found[0].checked} facts checked")
        if not is_kept or not all(verdict.holds for verdict in found):
            sys.exit(FINDING)

    def _write_closed(self, period: str, *, is_named: bool = False) -> bool:
        """Check closed periods, or one; False if one is not what was closed."""
        try:
            with _snapshot():
                if period:
                    first_day(period)
                found = list(closed_verdicts(period or None))
        except PeriodError as error:
            self.stderr.write(f"verify: {error}")
            sys.exit(WRONG_USE)
        if period and not found:
            self.stderr.write(f"verify: {period} is not closed")
            sys.exit(WRONG_USE)
        if is_named and not found:
            self.stdout.write("no period is closed")
        for verdict in found:
            mark = "ok  " if verdict.holds else "FAIL"
            self.stdout.write(f"{mark} {verdict.revision}: {verdict.statement}")
            for what, got, wanted in verdict.violations[:5]:
                self.stdout.write(f"       {what}: {got}, should be {wanted}")
        return all(verdict.holds for verdict in found)

    def _write_reserved(self) -> bool:
        """Name teams that are called like another party of the ledger; False if there is one."""
        found = reserved_teams()
        mark = "FAIL" if found else "ok  "
        self.stdout.write(f"{mark} no team has the name of another party of the ledger")
        for team in found:
            self.stdout.write(f"       {team.text}: {team.advice}")
        return not found

    def _write_head(self, kept: Head | None) -> bool:
        """Print the end of the audit chain; False if a stored head is not in it."""
        now = head()
        self.stdout.write(
            f"audit chain: {now.links}:{now.hash} (store this outside of the database)"
        )
        if kept is None:
            return True
        is_there = has_head(kept)
        mark = "ok  " if is_there else "FAIL"
        self.stdout.write(
            f"{mark} the audit chain continues from the stored head (I17)"
        )
        return is_there


@contextmanager
def _snapshot() -> Iterator[None]:
    """One state of the database for all checks; nothing can be written."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield


def _head(text: str) -> Head:
    """A head as printed after `audit chain:`."""
    links, _, digest = text.strip().removesuffix(",").partition(":")
    wanted = "" if links == "0" else "[0-9a-f]{64}"
    if not links.isdecimal() or not re.fullmatch(wanted, digest):
        raise ArgumentTypeError("write LINKS:HASH as an earlier run printed it")
    return Head(int(links), digest)
