"""`manage.py report quotas|tiers`, beside what `accounting` reports."""

from collections.abc import Mapping
from typing import Any

from django.utils import timezone

from accounting.access import EVERYTHING
from accounting.management.commands import report
from accounting.queries.selection import Selection, SelectionError, refuse_others
from scheduler_view.queries.quotas import among, quota_rows
from scheduler_view.queries.tiers import tier_rows

FILTERS = {"quotas": ("cluster", "team"), "tiers": ("cluster",)}
WITHOUT = ("by", "start", "end", "state", "only")  # they stand now, and are not grouped


class Command(report.Command):
    """Reports; ends with 0, or 2 for wrong use."""

    help = (
        "Show usage, the ledger, holds, data issues, queues, quotas or priority tiers."
    )
    kinds = (*report.Command.kinds, *FILTERS)

    def rows(
        self, options: Mapping[str, Any], selection: Selection
    ) -> list[Mapping[str, Any]]:
        """The rows of what is asked for; quotas and tiers are those of now."""
        what = options["what"]
        if what not in FILTERS:
            return super().rows(options, selection)
        if any(options[name] is not None for name in WITHOUT):
            raise SelectionError(
                f"{what} are those of now; leave --by, --from, --to, --state and --only out"
            )
        refuse_others(selection, FILTERS[what], what)
        if what == "tiers":
            return [row.fields() for row in among(tier_rows(), selection.filters)]
        rows = among(quota_rows(EVERYTHING, timezone.now()), selection.filters)
        return [row.fields() for row in rows]
