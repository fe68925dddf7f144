"""`manage.py report quotas|tiers|waiting|...`, in addition to those of `accounting`."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.utils import timezone

from accounting.access.scope import EVERYTHING
from accounting.kit.inbox import InboxRow
from accounting.kit.reads.selection import Selection, SelectionError, refuse_others
from accounting.kit.serializers.declared import serializer_of
from accounting.management.commands import report
from scheduler_view.clusters.rules.wording import counted, few
from scheduler_view.inbox.reads import inbox_rows, nobody
from scheduler_view.quotas.reads.limits.rows import limit_rows, unmanaged
from scheduler_view.resources import RESOURCES
from scheduler_view.savings.reads.bridge import BridgeRow, bridge_rows
from scheduler_view.savings.reads.measured_days import waste_days
from scheduler_view.savings.reads.row import WasteRow
from scheduler_view.savings.reads.rows import waste_report

PLACES = 6  # of amounts
DECLARED = {one.name: one for one in RESOURCES}
IN_TABLES = (  # of limits; JSON and CSV have all columns
    *("cluster", "kind", "namespace", "name", "team", "resource", "part", "limit"),
    *("used", "borrowed", "lent", "set_by", "sync"),
)
WITHOUT = (
    "by",
    "start",
    "end",
    "state",
    "only",
    "period",
)  # not for current rows


class Command(report.Command):
    """Reports; exits with 0, or 2 for wrong use."""

    help = (
        "Show usage, the ledger, holds, data issues, queues, budgets, contests, conversion "
        "rates, price lists, clusters, charges, quotas, "
        "everything that limits GPUs, priority tiers, values of queues, waiting work, its "
        "queues, preemptions, what waits for an administrator, wasted GPU time "
        "or where idle and unallocated cost are."
    )
    kinds = (
        *(*report.Command.kinds, *(k for k in DECLARED if k != "queues")),
        *("inbox", "waste", "waste-bridge"),
    )

    def rows(
        self, options: Mapping[str, Any], selection: Selection
    ) -> Iterable[Mapping[str, Any]]:
        """The requested rows; quotas and tiers are current."""
        what = options["what"]
        if what in ("waste", "waste-bridge"):
            return self._waste(what, options, selection)
        if what not in DECLARED and what != "inbox":
            return super().rows(options, selection)
        if any(options[name] is not None for name in WITHOUT):
            raise SelectionError(
                f"{what} are shown as of now and do not support --by, --from, --to, --state, "
                "--only and --period"
            )
        if what == "inbox":
            refuse_others(selection, ("team",), what)
            teams = selection.filters.get("team", ())
            waiting = inbox_rows(nobody(timezone.now()), teams=teams)
            return serializer_of(InboxRow).each(waiting)
        resource = DECLARED[what]
        refuse_others(selection, resource.filters, what)
        if what == "quotas":
            self._name_others()
        rows = resource.rows(EVERYTHING, selection.filters)
        found = serializer_of(resource.row).each(rows)
        if what == "limits" and options["format"] == "table":
            return ({name: one[name] for name in IN_TABLES} for one in found)
        return found

    def _name_others(self) -> None:
        """Limits of others are not among these rows, but limit GPUs too."""
        found = unmanaged(limit_rows(EVERYTHING, timezone.now()))
        if found:
            self.stderr.write(
                f"{counted(len(found), 'limit')} of GPUs that GPU Ledger does not manage "
                f"({few([row.summary for row in found])}): report limits"
            )

    def _waste(
        self, what: str, options: Mapping[str, Any], selection: Selection
    ) -> Iterable[Mapping[str, Any]]:
        """Wasted GPU time of a range of days; without one, of the last 28."""
        if any(options[name] is not None for name in ("by", "state", "only", "period")):
            raise SelectionError(
                f"{what} does not support --by, --state, --only and --period"
            )
        refuse_others(selection, ("cluster", "team"), what)
        if what == "waste-bridge":
            rows = bridge_rows(selection, timezone.now(), PLACES)
            return serializer_of(BridgeRow).each(rows)
        found = waste_report(
            EVERYTHING,
            waste_days(selection, timezone.now()),
            PLACES,
            clusters=selection.filters.get("cluster", ()),
            teams=selection.filters.get("team", ()),
        )
        return serializer_of(WasteRow).each(found.rows)
