"""Contests of statements: leads contest and decide, finance answers (money.md M34)."""

from collections.abc import Callable
from typing import Any

from django.http import Http404
from rest_framework import exceptions, status
from rest_framework.request import Request
from rest_framework.response import Response

from accounting.access import scope_of
from accounting.actions.finance import contests as actions
from accounting.actions.finance.periods import NotAllowed
from accounting.api.rows import JSON_ONLY, ConflictError, RowsView
from accounting.api.schema import lists, reads, takes
from accounting.api.writes import checked
from accounting.booking.periods import PeriodError
from accounting.models import AnswerKind, Contest, Contested, EntryKind, Team
from accounting.queries.finance.months.contested import row_key
from accounting.queries.finance.months.contests import (
    ContestRow,
    contest_row,
    contest_rows,
)
from accounting.queries.finance.months.lines import BookingError
from accounting.rights import CONTESTS
from accounting.serializers.finance.contests import (
    ContestAnswerSerializer,
    ContestBodySerializer,
    ContestDetailSerializer,
    ContestSerializer,
    ReasonSerializer,
)


class ContestsView(RowsView):
    """Contests of statements."""

    subject = "contests"
    right = CONTESTS
    parameters = ("team",)

    @lists(ContestSerializer, parameters)
    def get(self, request: Request) -> Response:
        """List contests, open ones first: of all teams, or of those that one leads."""
        teams = self.selection(request).filters.get("team", ())
        rows = contest_rows(scope_of(request.user), teams=teams)
        return self.listed(request, rows, ContestSerializer)

    @takes(ContestBodySerializer, ContestDetailSerializer, 409)
    def post(self, request: Request) -> Response:
        """Contest a statement, one of its rows or one of its lines, as a lead of the team."""
        values = checked(ContestBodySerializer, request)
        scope = scope_of(request.user)
        team = Team.objects.filter(slug=values["team"]).first()
        if team is None or not (scope.sees_all or team.pk in scope.lead_of):
            raise Http404  # the same for both
        of, key = Contested.STATEMENT, ""
        if "row" in values:
            part, *labels = values["row"]
            of, key = Contested.ROW, row_key(part, tuple(labels))
        elif "line" in values:
            of, key = Contested.LINE, values["line"]

        def contest() -> Contest:
            return actions.open_contest(
                team,
                values["period"],
                values["reason"],
                _person(request),
                of=of,
                key=key,
                revision=values.get("revision"),
            )

        made = _done(contest, "row" if of == Contested.ROW else "line")
        return _answered(request, made.pk, status.HTTP_201_CREATED)


class ContestView(RowsView):
    """One contest."""

    subject = "contests"
    right = CONTESTS
    renderer_classes = JSON_ONLY

    @reads(ContestDetailSerializer, "contest_retrieve")
    def get(self, request: Request, number: int) -> Response:
        """One contest with all its steps."""
        return _answered(request, number)


class ContestAnswerView(RowsView):
    """The answer of finance."""

    subject = "contests"
    right = CONTESTS

    @takes(ContestAnswerSerializer, ContestDetailSerializer, 409)
    def post(self, request: Request, number: int) -> Response:
        """Answer an open contest: with a credit or adjustment, a changed rule, or a reason."""
        asked = _contest(request, number)
        values = checked(ContestAnswerSerializer, request)
        reason, by = values["reason"], _person(request)

        def answer() -> object:
            if values["answer"] == AnswerKind.ENTRY:
                amount = values["amount"]
                kind = EntryKind.CREDIT if amount < 0 else EntryKind.ADJUSTMENT
                entry = actions.EntryAnswer(kind, values["billing_on"], amount)
                return actions.answer_with_entry(asked, entry, reason, by)
            if values["answer"] == AnswerKind.MAPPING:
                return actions.answer_with_rule(asked, values["rule"], reason, by)
            return actions.answer_with_reason(asked, reason, by)

        _done(answer, "amount")
        return _answered(request, number)


class ContestReopenView(RowsView):
    """A contest whose answer is not accepted."""

    subject = "contests"
    right = CONTESTS

    @takes(ReasonSerializer, ContestDetailSerializer, 409)
    def post(self, request: Request, number: int) -> Response:
        """Open an answered contest again, as a lead of the team."""
        asked = _contest(request, number)
        reason = checked(ReasonSerializer, request)["reason"]
        _done(lambda: actions.reopen_contest(asked, reason, _person(request)), "reason")
        return _answered(request, number)


class ContestAcceptView(RowsView):
    """An accepted answer."""

    subject = "contests"
    right = CONTESTS

    @takes(None, ContestDetailSerializer, 409)
    def post(self, request: Request, number: int) -> Response:
        """Accept the answer, as a lead of the team."""
        asked = _contest(request, number)
        _done(lambda: actions.accept_answer(asked, _person(request)), "")
        return _answered(request, number)


class ContestWithdrawView(RowsView):
    """A withdrawn contest."""

    subject = "contests"
    right = CONTESTS

    @takes(None, ContestDetailSerializer, 409)
    def post(self, request: Request, number: int) -> Response:
        """Withdraw an open contest, as a lead of the team; it stays readable."""
        asked = _contest(request, number)
        _done(lambda: actions.withdraw_contest(asked, _person(request)), "")
        return _answered(request, number)


def _person(request: Request) -> Any:
    return request.user


def _row(request: Request, number: int) -> ContestRow:
    row = contest_row(scope_of(request.user), number)
    if row is None:
        raise Http404
    return row


def _contest(request: Request, number: int) -> Contest:
    return Contest.objects.get(pk=_row(request, number).id)


def _answered(
    request: Request, number: int, code: int = status.HTTP_200_OK
) -> Response:
    return Response(ContestDetailSerializer.one(_row(request, number)), status=code)


def _done(step: Callable[[], Any], member: str) -> Any:
    """Carry out a step; what it refuses is 400, 403, 404 or 409.

    Args:
        step: an action.
        member: of the body, which a value that is not valid is named by.

    Raises:
        Http404: the month is not booked.
        ConflictError: the state of the contest does not allow it.
    """
    try:
        return step()
    except BookingError:
        raise Http404 from None
    except NotAllowed as error:
        raise exceptions.PermissionDenied(str(error)) from error
    except actions.SubjectError as error:
        raise exceptions.ValidationError({member: str(error)}) from error
    except actions.ContestError as error:
        raise ConflictError(str(error)) from error
    except PeriodError as error:
        raise exceptions.ValidationError({member: str(error)}) from error
