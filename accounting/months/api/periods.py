"""Months: what they come to, their checks and revisions (money.md M26-M30, M47)."""

from collections.abc import Sequence
from typing import Any

from django.http import Http404
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from accounting.access.rights import PERIODS
from accounting.kit.api.rows import JSON_ONLY, RowsView
from accounting.kit.api.schema import lists
from accounting.kit.pages.etags import is_known
from accounting.kit.serializers.declared import serializer_of
from accounting.months.api.booked import check_month
from accounting.months.api.schema import reads_one
from accounting.months.reads.lines import Booking, BookingError, booking_of, content_of
from accounting.months.reads.periods import (
    PeriodRow,
    PeriodState,
    earlier_revisions,
    period_row,
    period_rows,
    stored_checks,
)
from accounting.months.rules.close_checks import CloseCheck
from accounting.months.serializers.periods import (
    EarlierRevisionSerializer,
    PeriodDocumentSerializer,
)
from accounting.months.tasks.checks.of_close import shown_checks


class PeriodsView(RowsView):
    """Months from the first with data on."""

    subject = "periods"
    right = PERIODS

    @lists(serializer_of(PeriodRow))
    def get(self, request: Request) -> Response:
        """List months, the latest first. For finance and administrators."""
        return self.listed(
            request, period_rows(timezone.now()), serializer_of(PeriodRow)
        )


class MonthView(RowsView):
    """What the addresses of one month share."""

    subject = "periods"
    right = PERIODS
    renderer_classes = JSON_ONLY

    def row(self, period: str) -> PeriodRow:
        """The month of the address.

        Raises:
            SelectionError: the text is not a month.
            Http404: it is before the first data, or has not begun.
        """
        check_month(period)
        row = period_row(period, timezone.now())
        if row is None:
            raise Http404
        return row

    def document(self, row: PeriodRow) -> Response:
        """A month with its checks and revisions, and its version for `If-Match`."""
        booking = booking_or_none(row.name)
        return Response(
            {
                **serializer_of(PeriodRow).one(row),
                "timezone": booking.timezone if booking else None,
                "previous_hash": (booking and booking.previous_hash) or None,
                "revisions": list(
                    EarlierRevisionSerializer.each(earlier_revisions(row.name))
                ),
                **checks_of(row),
            },
            headers={"ETag": f'"{version_of(row.name)}"'},
        )


class PeriodView(MonthView):
    """One month."""

    @reads_one(PeriodDocumentSerializer, "period_retrieve")
    def get(self, request: Request, period: str) -> Response:
        """Read a month: its state, totals and hash, earlier revisions, and every check with what
        it found. The ETag is the version for `If-Match`. For finance and administrators."""
        row = self.row(period)
        tag = f'"{row.hash}"'
        if row.state is PeriodState.CLOSED and is_known(request, tag):
            return Response(status=304, headers={"ETag": tag})
        return self.document(row)


def booking_or_none(period: str) -> Booking | None:
    """The booking of a month in effect."""
    try:
        return booking_of(period)
    except BookingError:
        return None


def version_of(period: str) -> str:
    """What `If-Match` names: the hash of a closed month, else what its statements come to."""
    booking = booking_or_none(period)
    if booking is None:
        return f"{period}-unbooked"
    return booking.hash or content_of(booking)


def checks_of(row: PeriodRow) -> dict[str, Any]:
    """The checks of a month, of a closed one as they were at the close."""
    if row.state is PeriodState.CLOSED:
        return {"blocks": False, "checks": stored_checks(row.name)}
    return members_of(shown_checks(row.name, timezone.now()))


def members_of(checks: Sequence[CloseCheck]) -> dict[str, Any]:
    """The members of checks, and whether one of them stops the close."""
    found = [one.fields() for one in checks]
    return {"blocks": any(one.is_blocking for one in checks), "checks": found}
