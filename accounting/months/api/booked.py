"""What the addresses of booked money share: the booking, the teams, versions (money.md M47)."""

import re
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any

from django.http import Http404
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from accounting.access.rights import BUDGETS
from accounting.access.scope import scope_of
from accounting.kit.api.rows import CsvRenderer, RowsView
from accounting.kit.pages.etags import is_known
from accounting.kit.reads.paging import Key, Seek, StaleError
from accounting.kit.reads.selection import SelectionError
from accounting.kit.serializers.row import RowSerializer
from accounting.months.reads.lines import (
    Booking,
    BookingError,
    booking_of,
    latest_booking,
)
from accounting.months.reads.payers import readable_payers, slugs_of

_MONTH = re.compile(r"(19[7-9][0-9]|[2-8][0-9]{3})-(0[1-9]|1[0-2])")


class BookedView(RowsView):
    """A list of what was booked: for finance and administrators, and for leads of their teams."""

    right = BUDGETS

    def booking(self, request: Request, period: str | None = None) -> Booking | None:
        """The booking of the address or the parameters; None before anything is booked.

        Raises:
            SelectionError: the period is not a month, or the revision not a number.
            Http404: that month, or revision, was not booked.
        """
        query = request.query_params
        name, revision = period or query.get("period"), query.get("revision")
        if name is None:
            if revision is not None:
                raise SelectionError("revision needs a period", parameter="revision")
            return latest_booking()
        return booking_named(name, revision)

    def teams(self, request: Request) -> list[str] | None:
        """The teams whose rows are requested; None for all.

        Raises:
            Http404: a team that does not exist, or that the person may not read.
        """
        scope = scope_of(request.user)
        query = request.query_params
        readable = readable_payers(scope)
        asked = set(query.getlist("team"))
        if not asked <= set(readable):
            raise Http404
        found = asked or set(readable)
        if departments := query.getlist("department"):
            found &= slugs_of(departments)
        elif scope.sees_all and not asked:
            return None
        return sorted(found)

    def pinned_page(
        self,
        request: Request,
        snapshot: str,
        read: Callable[[Seek], Sequence[Any]],
        key: Callable[[Any], Key],
        row: type[RowSerializer],
    ) -> Response:
        """A page that the database cuts, of one booking: pages of two would not add up.

        Raises:
            StaleError: it was computed again, closed or opened again since the first page.
        """

        def checked(seek: Seek) -> Sequence[Any]:
            if seek.after is None:
                return read(seek)
            known, *after = seek.after
            if known != digest(snapshot):
                raise StaleError(
                    "the month was computed again since this cursor was issued; start again "
                    "without it",
                    parameter="cursor",
                )
            return read(Seek(after, seek.limit))

        return self.keyset_page(
            request, checked, lambda one: [digest(snapshot), *key(one)], row
        )

    def versioned(
        self, request: Request, version: str, make: Callable[[], Response]
    ) -> Response:
        """An answer with its ETag, or 304 without content if the program has this version.

        Args:
            request: with `If-None-Match`.
            version: the hash of a close; "" where the answer can change: no ETag.
            make: makes the answer.
        """
        tag = self.tag(request, version)
        if is_known(request, tag):
            return Response(status=status.HTTP_304_NOT_MODIFIED, headers={"ETag": tag})
        found = make()
        if tag:
            found.headers["ETag"] = tag
        return found

    def tag(self, request: Request, version: str) -> str:
        """The ETag of an answer: rows of a lead, and CSV, are other bytes of the same address."""
        if not version or "department" in request.query_params:
            return ""  # teams change their department
        scope = scope_of(request.user)
        whose = (
            "" if scope.sees_all else "-" + "-".join(map(str, sorted(scope.lead_of)))
        )
        is_csv = isinstance(request.accepted_renderer, CsvRenderer)
        return f'"{version}{whose}{"-csv" if is_csv else ""}"'


def digest(text: str) -> str:
    """A short text that identifies a long one in a cursor."""
    return blake2b(text.encode(), digest_size=9).hexdigest()


def booking_named(period: str, revision: str | None = None) -> Booking:
    """The booking of a month.

    Raises:
        SelectionError: the period is not a month, or the revision not a number.
        Http404: there is none.
    """
    check_month(period)
    if revision is not None and not _is_number(revision):
        raise SelectionError(
            f"revision {revision!r} is not a number", parameter="revision"
        )
    try:
        return booking_of(period, int(revision) if revision else None)
    except BookingError:
        raise Http404 from None


def check_month(period: str) -> None:
    """Refuse a text that is not a month.

    Raises:
        SelectionError: with what a month looks like.
    """
    if not _MONTH.fullmatch(period):
        raise SelectionError(
            f"{period!r} is not a month such as 2026-10", parameter="period"
        )


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10
