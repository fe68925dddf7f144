"""Charges and corrections of booked months (money.md M5, M31, M47)."""

from datetime import date

from rest_framework.request import Request
from rest_framework.response import Response

from accounting.access.scope import scope_of
from accounting.core.billing_calendar import months_later
from accounting.kit.api.schema import parameter_of
from accounting.kit.reads.paging import Seek
from accounting.kit.reads.selection import (
    Amounts,
    SelectionError,
    billing_days,
    check_word,
    is_on_days,
    parse_selection,
)
from accounting.kit.serializers.declared import serializer_of
from accounting.months.api.booked import BookedView
from accounting.months.api.schema import versioned_list
from accounting.months.reads.charge_list import (
    ChargeSelection,
    bookings_of_days,
    charge_key,
    listed_charges,
)
from accounting.months.reads.charges import DIMENSIONS, ChargeError, ChargeRow
from accounting.months.reads.corrections import (
    CorrectionRow,
    correction_key,
    correction_rows,
)
from accounting.months.serializers.charges import ChargeSerializer

HOW = (Amounts.BOOKED, Amounts.CORRECTED)  # stored lines have no measured money
OF_DAYS = (
    "Charges of days are the own lines of these days. Rounding belongs to a month and to no day; "
    "corrections and entries belong to the month that has booked them. So the days of a whole "
    "month sum to its payable less these three, which `period` has (`by=kind,corrects`)."
)
NOTED = {
    "period": parameter_of(
        "period", more="All lines of the month: the sum is its payable"
    ),
    "from": parameter_of("from", more=OF_DAYS),
}
FILTERS = ("cluster", "namespace", "model", "tier", "lifecycle")


class ChargesView(BookedView):
    """Charges of booked months, summed by fields of their lines."""

    subject = "charges"
    parameters = (
        *("period", "revision", "from", "to", "as", "by"),
        *("team", "department", *FILTERS),
    )

    @versioned_list(
        ChargeSerializer,
        [NOTED.get(name, name) for name in parameters],
        values={"as": HOW},
    )
    def get(self, request: Request) -> Response:
        """List charges: of a month with its entries, rounding and the corrections that it has
        booked, which sum to its payable; or the own lines of billing days (`from`, `to`),
        without rounding, corrections and entries.

        A cursor of a month that is computed again between two pages is 410.
        """
        selection = self._selection(request)
        by = self.by(request, "team")
        for name in by:
            check_word("by", name, tuple(sorted(DIMENSIONS)))
        return self.versioned(
            request, selection.closed_hash, lambda: self._page(request, selection, by)
        )

    def _selection(self, request: Request) -> ChargeSelection:
        query = request.query_params
        how = query.get("as", Amounts.BOOKED)
        check_word("as", how, HOW)
        filters = {name: query.getlist(name) for name in FILTERS if name in query}
        teams = self.teams(request)
        if teams is not None:
            filters["team"] = teams
        if "from" in query or "to" in query:
            days = self._days(request)
        else:
            booking = self.booking(request)
            if booking is None or how == Amounts.BOOKED:
                return ChargeSelection((booking,) if booking else (), filters)
            if "revision" in query:
                raise SelectionError(
                    "a revision has no corrected charges; leave out revision",
                    parameter="revision",
                )
            first = date.fromisoformat(f"{booking.period}-01")
            days = (first, months_later(first, 1))
        is_corrected = how == Amounts.CORRECTED
        try:
            bookings = bookings_of_days(*days, is_corrected=is_corrected)
        except ChargeError as error:
            raise SelectionError(str(error), parameter="from") from error
        return ChargeSelection(bookings, filters, days, is_corrected)

    def _days(self, request: Request) -> tuple[date, date]:
        query = request.query_params
        if "period" in query or "revision" in query:
            raise SelectionError(
                "give a period, or from and to, and not both", parameter="period"
            )
        asked = parse_selection(
            scope_of(request.user), query.get("from"), query.get("to"), {}
        ).period
        if asked is None or not is_on_days(asked):
            raise SelectionError(
                "charges are by billing day: give dates", parameter="from"
            )
        return billing_days(asked)

    def _page(
        self, request: Request, selection: ChargeSelection, by: list[str]
    ) -> Response:
        def read(seek: Seek) -> list[ChargeRow]:
            return listed_charges(selection, by, seek)

        try:
            return self.pinned_page(
                request, selection.snapshot, read, charge_key, ChargeSerializer
            )
        except ChargeError as error:
            raise SelectionError(str(error), parameter="from") from error


class CorrectionsView(BookedView):
    """What closed months would be today, less what was booked for them."""

    subject = "corrections"
    parameters = ("period", "revision", "team", "department")

    @versioned_list(serializer_of(CorrectionRow), parameters)
    def get(self, request: Request) -> Response:
        """List the corrections that a month has booked, by closed revision, cause and team."""
        booking, teams = self.booking(request), self.teams(request)
        if booking is None:
            return self.answer(request, [])

        def read(seek: Seek) -> list[CorrectionRow]:
            return correction_rows(booking, teams, seek)

        return self.versioned(
            request,
            booking.hash,
            lambda: self.pinned_page(
                request,
                booking.snapshot,
                read,
                correction_key,
                serializer_of(CorrectionRow),
            ),
        )
