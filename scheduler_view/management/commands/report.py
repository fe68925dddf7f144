"""`manage.py report quotas|tiers|waiting|...`, in addition to those of `accounting`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from django.utils import timezone

from accounting.access import EVERYTHING
from accounting.management.commands import report
from accounting.queries.selection import Selection, SelectionError, refuse_others
from accounting.serializers.declared import serializer_of
from accounting.serializers.queues import QueueRowSerializer
from accounting.serializers.row import RowSerializer
from scheduler_view.domain.wording import counted, few
from scheduler_view.queries.limits.limit_row import LimitRow
from scheduler_view.queries.limits.rows import limit_rows, unmanaged
from scheduler_view.queries.queue_values import QueueValueRow, value_rows
from scheduler_view.queries.queues.pools import PoolRow, pool_rows
from scheduler_view.queries.queues.queued_units import QueuedUnitRow, queued_rows
from scheduler_view.queries.queues.wait_times import WaitTimeRow, wait_time_rows
from scheduler_view.queries.quotas import QuotaRow, among, quota_rows
from scheduler_view.queries.tiers import TierRow, tier_rows
from scheduler_view.queries.waits.node_notes import NodeNoteRow, node_note_rows
from scheduler_view.queries.waits.preempted import PreemptedRow, preempted_of
from scheduler_view.queries.waits.scheduler_queues import all_queue_rows
from scheduler_view.queries.waits.waiting_units import waiting_rows
from scheduler_view.queries.waste.bridge import BridgeRow, bridge_rows
from scheduler_view.queries.waste.measured_days import waste_days
from scheduler_view.queries.waste.row import WasteRow
from scheduler_view.queries.waste.rows import waste_report
from scheduler_view.serializers.waits import (
    WaitingUnitRowSerializer,
)

PLACES = 6  # of amounts
FILTERS = {
    "quotas": ("cluster", "team"),
    "limits": ("cluster", "team"),
    "tiers": ("cluster",),
    "queues": ("cluster",),
    "queue-values": ("cluster",),
    "waiting": ("cluster", "team"),
    "preemptions": ("cluster", "team"),
    "queued-units": ("cluster", "team"),
    "resource-pools": ("cluster",),
    "node-notes": ("cluster",),
    "wait-times": ("cluster",),
}
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
        "Show usage, the ledger, holds, data issues, queues, budgets, contests, charges, quotas, "
        "everything that limits GPUs, priority tiers, values of queues, waiting work, its "
        "queues, preemptions, wasted GPU time or where idle and unallocated cost are."
    )
    kinds = (
        *(*report.Command.kinds, *(k for k in FILTERS if k != "queues")),
        *("waste", "waste-bridge"),
    )

    def rows(
        self, options: Mapping[str, Any], selection: Selection
    ) -> Iterable[Mapping[str, Any]]:
        """The requested rows; quotas and tiers are current."""
        what = options["what"]
        if what in ("waste", "waste-bridge"):
            return self._waste(what, options, selection)
        if what not in FILTERS:
            return super().rows(options, selection)
        if any(options[name] is not None for name in WITHOUT):
            raise SelectionError(
                f"{what} are shown as of now and do not support --by, --from, --to, --state, "
                "--only and --period"
            )
        refuse_others(selection, FILTERS[what], what)
        if what == "quotas":
            self._name_others()
        read, row = _ROWS[what]
        found = row.each(among(read(), selection.filters))
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


_Read = Callable[[], Sequence[Any]]
_ROWS: dict[str, tuple[_Read, type[RowSerializer]]] = {
    "quotas": (lambda: quota_rows(EVERYTHING, timezone.now()), serializer_of(QuotaRow)),
    "limits": (lambda: limit_rows(EVERYTHING, timezone.now()), serializer_of(LimitRow)),
    "tiers": (tier_rows, serializer_of(TierRow)),
    "queues": (all_queue_rows, QueueRowSerializer),
    "queue-values": (value_rows, serializer_of(QueueValueRow)),
    "waiting": (
        lambda: waiting_rows(EVERYTHING, timezone.now()),
        WaitingUnitRowSerializer,
    ),
    "preemptions": (
        lambda: preempted_of(EVERYTHING, timezone.now()),
        serializer_of(PreemptedRow),
    ),
    "queued-units": (
        lambda: queued_rows(EVERYTHING, timezone.now()),
        serializer_of(QueuedUnitRow),
    ),
    "resource-pools": (
        lambda: pool_rows(EVERYTHING, timezone.now()),
        serializer_of(PoolRow),
    ),
    "node-notes": (
        lambda: node_note_rows(EVERYTHING, timezone.now()),
        serializer_of(NodeNoteRow),
    ),
    "wait-times": (
        lambda: wait_time_rows(EVERYTHING, timezone.now()),
        serializer_of(WaitTimeRow),
    ),
}
