"""`manage.py report usage|ledger|holds|issues|queues|charges|corrections`, and declared lists.

`scheduler_view` adds its reports to the same command.
"""

import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Mapping
from typing import Any

from django.core.management.base import BaseCommand

from accounting.access.reads.billing_settings import billing_remembered
from accounting.access.scope import EVERYTHING
from accounting.health.reads.issues import OPEN, IssueRow, issue_rows
from accounting.kit.commands.output import HIDDEN, WRONG_USE, until_closed, write_rows
from accounting.kit.reads.dimensions import FILTERS
from accounting.kit.reads.selection import (
    Amounts,
    Selection,
    SelectionError,
    parse_selection,
    refuse_others,
)
from accounting.kit.serializers.declared import serializer_of
from accounting.metering.reads.queues import queue_rows
from accounting.metering.reads.share_policies import policies_in
from accounting.metering.rules.units.mig_profiles import Policy
from accounting.metering.serializers.queues import QueueRowSerializer
from accounting.months.commands.charges import charge_report
from accounting.months.commands.corrections import correction_report
from accounting.resources import RESOURCES
from accounting.usage.reads.holds import hold_rows
from accounting.usage.reads.intensity import ONLY, only_pointless, with_intensity
from accounting.usage.reads.ledger import ledger_rows
from accounting.usage.reads.usage import usage_stream
from accounting.usage.serializers import (
    HoldRowSerializer,
    LedgerRowSerializer,
    UsageRowSerializer,
)

DECLARED = {one.name: one for one in RESOURCES}
OF_PERIODS = ("charges", "corrections")  # of a billing period, from its booking


class Command(BaseCommand):
    """Reports; exits with 0, or 2 for wrong use."""

    help = (
        "Show usage, the ledger, holds, data issues, queues, budgets, contests, conversion "
        "rates, price lists, clusters, charges or corrections."
    )
    suppressed_base_arguments = HIDDEN
    kinds: tuple[str, ...] = (
        *("usage", "ledger", "holds", "issues", "queues"),
        *(*DECLARED, *OF_PERIODS),
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The rows to show, their grouping, time and format."""
        parser.add_argument("what", choices=self.kinds, help="which rows")
        parser.add_argument(
            "--by", metavar="NAME,...", help="dimensions, such as team,model,day"
        )
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
            "--format",
            choices=["table", "json", "csv"],
            default="table",
            help="output format; default: table",
        )
        parser.add_argument(
            "--state",
            metavar="STATE",
            help="for issues: open (default), resolved or all",
        )
        parser.add_argument(
            "--only",
            choices=ONLY,
            help="for usage: only rows that were busy without work",
        )
        parser.add_argument(
            "--period",
            metavar="YYYY-MM",
            help="for charges and corrections: the billing period that has booked them",
        )
        parser.add_argument(
            "--as",
            dest="amounts",
            choices=[*Amounts],
            help="for usage and ledger: money of closed days as booked (default), with later "
            "corrections and entries, or as measured now",
        )
        for name in FILTERS:
            words = name.replace("_", " ")
            parser.add_argument(
                f"--{name.replace('_', '-')}",
                dest=f"f_{name}",
                metavar="NAME",
                action="append",
                help=f"only this {words}; may be given again",
            )

    @billing_remembered()
    def handle(self, *args: Any, **options: Any) -> None:
        """Print the rows."""
        filters = {n: options[f"f_{n}"] for n in FILTERS if options[f"f_{n}"]}
        try:
            selection = parse_selection(
                EVERYTHING,
                options["start"],
                options["end"],
                filters,
                amounts=options["amounts"] or Amounts.BOOKED,
            )
            rows = self.rows(options, selection)
        except SelectionError as error:
            self.stderr.write(f"report: {error}")
            sys.exit(WRONG_USE)
        with until_closed():
            write_rows(rows, options["format"], self.stdout)
        if options["format"] == "table" and options["what"] in ("usage", "ledger"):
            named = ", ".join(policies_in(selection)) or Policy.COMPUTE.value
            self.stdout.write(f"Shares of divided GPUs: {named}.")

    def rows(
        self, options: Mapping[str, Any], selection: Selection
    ) -> Iterable[Mapping[str, Any]]:
        """The requested rows, each created when it is printed.

        Raises:
            SelectionError: an option that these rows do not have.
        """
        what = options["what"]
        if options["amounts"] is not None and what not in ("usage", "ledger"):
            raise SelectionError(f"{what} do not support --as")
        if what in OF_PERIODS:
            if options["state"] is not None or options["only"] is not None:
                raise SelectionError(f"{what} do not support --state and --only")
            if what == "charges":
                return charge_report(options["period"], options["by"], selection)
            if options["by"] is not None:
                raise SelectionError(f"{what} do not support --by")
            return correction_report(options["period"], selection)
        if options["period"] is not None:
            raise SelectionError(f"{what} do not support --period")
        chosen = (options["by"], options["state"], options["only"])
        return _rows(options["what"], selection, *chosen)


def _rows(
    what: str,
    selection: Selection,
    by: str | None,
    state: str | None,
    only: str | None,
) -> Iterable[Mapping[str, Any]]:
    if state is not None and what != "issues":
        raise SelectionError(f"{what} do not support --state")
    if only is not None and what != "usage":
        raise SelectionError(f"{what} do not support --only")
    default = {"usage": "team", "ledger": "cluster"}.get(what, "")
    if by is not None and not default:
        raise SelectionError(f"{what} do not support --by")
    names = [name for name in (default if by is None else by).split(",") if name]
    if what == "usage":
        rows = with_intensity(usage_stream(selection, names), selection, names)
        return UsageRowSerializer.each(only_pointless(rows, only))
    if what == "ledger":
        return LedgerRowSerializer.each(ledger_rows(selection, names))
    if what == "holds":
        return HoldRowSerializer.each(hold_rows(selection))
    if what == "queues" or what in DECLARED:
        return _current(what, selection)
    return serializer_of(IssueRow).each(issue_rows(selection, state or OPEN))


def _current(what: str, selection: Selection) -> Iterable[Mapping[str, Any]]:
    """Queues and declared lists, which are shown as of now."""
    resource = DECLARED.get(what)
    refuse_others(selection, resource.filters if resource else ("cluster",), what)
    if selection.period is not None:
        raise SelectionError(
            f"{what} are shown as of now and do not support --from and --to"
        )
    if resource:
        rows = resource.rows(EVERYTHING, selection.filters)
        return serializer_of(resource.row).each(rows)
    chosen = selection.filters.get("cluster", ())
    return QueueRowSerializer.each(
        row for row in queue_rows() if not chosen or row.cluster in chosen
    )
