"""`manage.py close_period YYYY-MM`: check and close a month."""

import sys
from argparse import ArgumentParser
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand

from accounting.kit.audit import SYSTEM
from accounting.kit.commands.arguments import WrongUse
from accounting.kit.commands.output import DONE, FINDING, HIDDEN, WRONG_USE
from accounting.months.actions import periods
from accounting.months.rules.close_checks import RULES, CloseCheck
from accounting.months.tasks.checks.of_close import run_checks
from accounting.months.tasks.periods import PeriodError
from accounting.organization.commands.people import two_people, user_named


class Command(BaseCommand):
    """Closes; exits with 0, 1 if a check blocks, 2 for wrong use."""

    help = (
        "Close a month: its lines and statements are frozen. A month that is closed already is "
        "printed again."
    )
    suppressed_base_arguments = HIDDEN

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The month, and overrides."""
        parser.add_argument("period", metavar="YYYY-MM")
        parser.add_argument(
            "--check", action="store_true", help="only print the checks; change nothing"
        )
        parser.add_argument(
            "--override",
            metavar="CHECK",
            action="append",
            default=[],
            help="close although this check blocks; may be given again",
        )
        parser.add_argument(
            "--reason", metavar="TEXT", help="why; 10 to 200 characters"
        )
        parser.add_argument(
            "--by", metavar="USER", help="who closes, and requests the overrides"
        )
        parser.add_argument(
            "--confirm",
            metavar="USER",
            help="another person, who confirms the overrides",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the checks, or close."""
        try:
            status = self._run(options)
        except periods.CloseRefused as refused:
            self._write(refused.checks)
            self.stderr.write(f"close_period: {options['period']} was not closed")
            status = FINDING
        except (PeriodError, WrongUse) as error:
            self.stderr.write(f"close_period: {error}")
            status = WRONG_USE
        if status != DONE:
            sys.exit(status)

    def _run(self, options: dict[str, Any]) -> int:
        period = options["period"]
        if options["check"]:
            found = run_checks(period)
            self._write(found)
            return FINDING if any(one.is_blocking for one in found) else DONE
        self._override(options)
        closer = user_named(options["by"]) if options["by"] else SYSTEM
        closed = periods.close(period, closer)
        self.stdout.write(
            f"{closed} is closed: {closed.line_count} lines, {closed.payable} {closed.currency}\n"
            f"hash: {closed.hash}"
        )
        return DONE

    def _override(self, options: dict[str, Any]) -> None:
        needed = (options["reason"], options["by"], options["confirm"])
        if not options["override"]:
            if options["reason"] or options["confirm"]:
                raise WrongUse("--reason and --confirm need --override CHECK")
            return
        if not all(needed):
            raise WrongUse("--override needs --reason, --by and --confirm")
        by, confirm = two_people(options["by"], options["confirm"])
        blocking = {
            one.code for one in run_checks(options["period"]) if one.is_blocking
        }
        for code in options["override"]:
            if code in blocking or code not in RULES:
                now = datetime.now(UTC)
                row = periods.request_override(
                    options["period"], code, options["reason"], by, now=now
                )
                periods.confirm_override(row.pk, confirm, now=now)

    def _write(self, checks: tuple[CloseCheck, ...]) -> None:
        for one in checks:
            mark = "override" if one.is_overridden else MARKS[one.level]
            self.stdout.write(f"{mark:8} {one.code}: {one.message}")
            if one.is_overridden and one.override is not None:
                self.stdout.write(
                    f"         {one.override.requested_by}, {one.override.confirmed_by}: "
                    f"{one.override.reason}"
                )
            elif one.is_blocking and one.is_overridable:
                self.stdout.write("         two people may override it")


MARKS = {"passed": "ok", "warning": "warning", "block": "BLOCK"}
