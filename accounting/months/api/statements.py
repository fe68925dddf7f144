"""Statements of booked months (money.md M33, M47)."""

from django.http import Http404
from rest_framework.request import Request
from rest_framework.response import Response

from accounting.access.scope import scope_of
from accounting.kit.api.rows import JSON_ONLY
from accounting.kit.reads.paging import Seek
from accounting.kit.serializers.declared import serializer_of
from accounting.months.api.booked import BookedView, booking_named
from accounting.months.api.schema import reads_one, versioned_list
from accounting.months.reads.entries import waiting_of_statements
from accounting.months.reads.lines import Booking
from accounting.months.reads.method_text import method_sentences
from accounting.months.reads.payers import readable_payers
from accounting.months.reads.periods import overrides_of
from accounting.months.reads.statement_document import document
from accounting.months.reads.statement_list import (
    ListedStatement,
    listed_statements,
    statement_key,
)
from accounting.months.reads.statements import statement_row
from accounting.months.serializers.statements import (
    StatementDocumentSerializer,
    statement_document,
)

_FILTERS = ("revision", "team", "department")


class StatementsView(BookedView):
    """What teams pay for a month."""

    subject = "statements"
    parameters: tuple[str, ...] = ("period", *_FILTERS)

    @versioned_list(serializer_of(ListedStatement), parameters)
    def get(self, request: Request) -> Response:
        """List the statements of a month: of all teams, or of those that one leads."""
        return self._listed(request, self.booking(request))

    def _listed(self, request: Request, booking: Booking | None) -> Response:
        teams = self.teams(request)
        if booking is None:
            return self.answer(request, [])

        def read(seek: Seek) -> list[ListedStatement]:
            return listed_statements(booking, teams, seek)

        return self.versioned(
            request,
            booking.hash,
            lambda: self.pinned_page(
                request,
                booking.snapshot,
                read,
                statement_key,
                serializer_of(ListedStatement),
            ),
        )


class PeriodStatementsView(StatementsView):
    """The same, with the month in the address."""

    parameters = _FILTERS

    @versioned_list(serializer_of(ListedStatement), parameters, "period_statements")
    def get(self, request: Request, period: str) -> Response:
        """List the statements of a month: of all teams, or of those that one leads."""
        return self._listed(request, self.booking(request, period))


class StatementView(BookedView):
    """One statement."""

    subject = "statements"
    parameters = ("revision",)
    renderer_classes = JSON_ONLY

    @reads_one(StatementDocumentSerializer, "statement_retrieve", parameters)
    def get(self, request: Request, team: str, period: str) -> Response:
        """Read what a team pays for a month: rows that sum to the payable, corrections by month
        and cause, the method in words, and the checks that two people overrode."""
        scope = scope_of(request.user)
        booking = booking_named(period, request.query_params.get("revision"))
        if team not in readable_payers(scope):
            raise Http404
        row = statement_row(booking, scope, team)
        found = listed_statements(booking, [team])
        if row is None or not found:
            raise Http404
        return self.versioned(
            request,
            booking.hash,
            lambda: Response(
                statement_document(
                    found[0],
                    document(booking, row),
                    method_sentences(booking.method),
                    overrides_of(booking),
                    [one.number for one in waiting_of_statements(booking, [team])],
                )
            ),
        )
