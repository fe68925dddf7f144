"""Closing months, overriding checks and reopening: two people, once (money.md M27-M30, M47)."""

from collections.abc import Callable
from typing import Any

from django.http import Http404
from rest_framework import exceptions, status
from rest_framework.request import Request
from rest_framework.response import Response

from accounting.kit.api.bodies import checked
from accounting.kit.api.once import answered_once
from accounting.kit.api.schema import lists
from accounting.kit.problems import RequestRefused
from accounting.months.actions import periods as actions
from accounting.months.actions.close_requests import is_closed, request_close
from accounting.months.actions.entries import EntryAmountError
from accounting.months.api.periods import MonthView, booking_or_none, version_of
from accounting.months.api.schema import acts, acts_on_version, reads_one
from accounting.months.models.close import CloseOverride, ReopenRequest
from accounting.months.reads.close_requests import close_progress
from accounting.months.reads.lines import content_of
from accounting.months.serializers.periods import (
    CloseFaultSerializer,
    CloseProgressSerializer,
    OverrideBodySerializer,
    OverrideSerializer,
    PeriodDocumentSerializer,
    ReopenBodySerializer,
    ReopenRequestSerializer,
)
from accounting.months.tasks.periods import PeriodError


class PeriodCloseView(MonthView):
    """The close of a month: its request, and how far it is."""

    @reads_one(CloseProgressSerializer, "period_close_progress")
    def get(self, request: Request, period: str) -> Response:
        """Read how far the close of a month is. `queued` and `running` change automatically;
        `refused` lists each check that blocked it in `blocking`."""
        del request
        self.row(period)
        return self._progress(period, status.HTTP_200_OK)

    @acts_on_version(
        None, CloseProgressSerializer, "period_close", code=202, also=(200,)
    )
    def post(self, request: Request, period: str) -> Response:
        """Request the close of a month for the version that was read: what is frozen is what it
        showed.

        202: a worker closes it. Read `Location` until the state is neither `queued` nor `running`.
        200: it is closed already. 409: the month is not over, an earlier one must be closed first,
        or another request for it is not finished.
        """
        self.row(period)
        given = versions_of(request)
        return answered_once(request, lambda: self._request(request, period, given))

    def _request(self, request: Request, period: str, given: set[str]) -> Response:
        user: Any = request.user
        if is_closed(period):
            return self._progress(period, status.HTTP_200_OK)
        booking = booking_or_none(period)
        version = content_of(booking) if booking else ""
        if f'"{version_of(period)}"' not in given:
            raise _changed()
        done(lambda: request_close(period, user, version=version))
        return self._progress(period, status.HTTP_202_ACCEPTED)

    def _progress(self, period: str, code: int) -> Response:
        return Response(
            CloseProgressSerializer.one(close_progress(period)),
            code,
            headers={"Location": f"/api/v1/periods/{period}/close"}
            if code == status.HTTP_202_ACCEPTED
            else {},
        )


class OverridesView(MonthView):
    """Overrides of checks of one month."""

    @lists(OverrideSerializer, operation_id="period_overrides")
    def get(self, request: Request, period: str) -> Response:
        """List the overrides that were requested for a month, newest first."""
        self.row(period)
        rows = CloseOverride.objects.filter(period=period).order_by("-pk")
        people = rows.select_related("requested_by", "confirmed_by")
        return self.listed(request, people, OverrideSerializer)

    @acts(OverrideBodySerializer, OverrideSerializer, "period_override", code=201)
    def post(self, request: Request, period: str) -> Response:
        """Request to close a month although a check blocks it, for the values that it has now.
        Another person of finance confirms within 24 hours."""
        self.row(period)
        values, user = checked(OverrideBodySerializer, request), request.user

        def make() -> Response:
            row = done(lambda: actions.request_override(period, **values, by=user))  # type: ignore[arg-type]  # a person
            return Response(OverrideSerializer.one(row), status.HTTP_201_CREATED)

        return answered_once(request, make)


class OverrideConfirmView(MonthView):
    """The second person of an override."""

    @acts(None, OverrideSerializer, "override_confirm")
    def post(self, request: Request, number: int) -> Response:
        """Confirm the override of another person."""
        if not CloseOverride.objects.filter(pk=number).exists():
            raise Http404
        user: Any = request.user

        def make() -> Response:
            row = done(lambda: actions.confirm_override(number, user))
            return Response(OverrideSerializer.one(row))

        return answered_once(request, make)


class ReopenView(MonthView):
    """Requests to open a closed month again."""

    @lists(ReopenRequestSerializer, operation_id="period_reopen_requests")
    def get(self, request: Request, period: str) -> Response:
        """List the requests to open a month again, newest first."""
        self.row(period)
        rows = ReopenRequest.objects.filter(period=period).order_by("-pk")
        people = rows.select_related("requested_by", "confirmed_by")
        return self.listed(request, people, ReopenRequestSerializer)

    @acts_on_version(
        ReopenBodySerializer, ReopenRequestSerializer, "period_reopen", code=201
    )
    def post(self, request: Request, period: str) -> Response:
        """Request to open the latest closed month again, for the version that was read. Another
        person of finance confirms within 24 hours."""
        self.row(period)
        given = versions_of(request)
        reason, user = checked(ReopenBodySerializer, request)["reason"], request.user

        def make() -> Response:
            if f'"{version_of(period)}"' not in given:
                raise _changed()
            row = done(lambda: actions.request_reopening(period, reason, user))  # type: ignore[arg-type]  # a person
            return Response(ReopenRequestSerializer.one(row), status.HTTP_201_CREATED)

        return answered_once(request, make)


class ReopenConfirmView(MonthView):
    """The second person of a reopening."""

    @acts(None, PeriodDocumentSerializer, "period_reopen_confirm")
    def post(self, request: Request, period: str, number: int) -> Response:
        """Confirm the request of another person: the month is open again. Its next close is a new
        revision."""
        self.row(period)
        if not ReopenRequest.objects.filter(pk=number, period=period).exists():
            raise Http404
        user: Any = request.user

        def make() -> Response:
            done(lambda: actions.confirm_reopening(number, user))
            return self.document(self.row(period))

        return answered_once(request, make)


def done(act: Callable[[], Any]) -> Any:
    """What an action returns. 403 if the person may not do it, or requested it.

    Raises:
        ValidationError: the amount of an entry is not possible.
        RequestRefused: 409, with each check that blocks, or why it is not possible now.
    """
    try:
        return act()
    except actions.NotAllowed as error:
        raise exceptions.PermissionDenied(str(error)) from error
    except actions.CloseRefused as error:
        blocking = [one.fields() for one in error.checks if one.is_blocking]
        faults = [dict(one) for one in CloseFaultSerializer(blocking, many=True).data]
        raise RequestRefused(status.HTTP_409_CONFLICT, str(error), faults) from error
    except EntryAmountError as error:
        raise exceptions.ValidationError({"amount": str(error)}) from error
    except PeriodError as error:
        raise RequestRefused(status.HTTP_409_CONFLICT, str(error)) from error


def versions_of(request: Request) -> set[str]:
    """The ETags of `If-Match`.

    Raises:
        RequestRefused: 428 without one.
    """
    text = request.headers.get("If-Match", "")
    found = {one.strip() for one in text.split(",")} - {""}
    if not found:
        raise RequestRefused(
            status.HTTP_428_PRECONDITION_REQUIRED,
            "If-Match is missing. Pass the ETag of the month.",
        )
    return found


def _changed() -> RequestRefused:
    return RequestRefused(
        status.HTTP_412_PRECONDITION_FAILED,
        "The amounts of the month have changed since this version. Read it again.",
    )
