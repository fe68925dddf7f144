"""Credits and adjustments of teams, each with its twin (money.md M25, M47)."""

from functools import partial
from typing import Any

from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from accounting.access.rights import PERIODS
from accounting.kit.api.bodies import checked
from accounting.kit.api.once import answered_once
from accounting.kit.api.rows import RowsView
from accounting.kit.api.schema import lists
from accounting.months.actions.entries import add_entry
from accounting.months.api.booked import check_month
from accounting.months.api.closing import done
from accounting.months.api.schema import acts
from accounting.months.reads.entries import entry_key, entry_rows, with_state
from accounting.months.serializers.entries import EntryBodySerializer, EntrySerializer


class AdjustmentsView(RowsView):
    """Credits and adjustments."""

    subject = "adjustments"
    right = PERIODS
    parameters = ("period", "team")

    @lists(EntrySerializer, parameters)
    def get(self, request: Request) -> Response:
        """List credits and adjustments in the order of their numbers. For finance and
        administrators."""
        query = request.query_params
        period = query.get("period")
        if period is not None:
            check_month(period)
        teams = self.selection(request).filters.get("team", ())
        read = partial(entry_rows, period, teams)
        return self.keyset_page(request, read, entry_key, EntrySerializer)

    @acts(EntryBodySerializer, EntrySerializer, "adjustments_create", code=201)
    def post(self, request: Request) -> Response:
        """Add an amount to a team's statement, and its opposite to the platform's. An entry is
        never edited: the opposite one undoes it. 409 if its month is closed."""
        values = checked(EntryBodySerializer, request)
        author: Any = request.user

        def make() -> Response:
            row = done(
                lambda: add_entry(
                    kind=values["kind"],
                    team=values["team"],
                    billing_on=values["day"],
                    amount=values["amount"],
                    reason=values["reason"],
                    author=author,
                )
            )
            made = with_state().get(pk=row.pk)
            return Response(EntrySerializer.one(made), status.HTTP_201_CREATED)

        return answered_once(request, make)
