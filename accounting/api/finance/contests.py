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
from accounting.api.finance.booked import check_month
from accounting.api.once import answered_once
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
from accounting.serializers.declared import item_serializer_of, serializer_of
from accounting.serializers.finance.contests import (
    ContestAnswerSerializer,
    ContestBodySerializer,
    ReasonSerializer,
)

CONTEST = item_serializer_of(ContestRow)


class ContestsView(RowsView):
    """Contests of statements."""

    subject = "contests"
    right = CONTESTS
    parameters = ("team",)

    @lists(serializer_of(ContestRow), parameters)
    def get(self, request: Request) -> Response:
        """List contests, open ones first: of all teams, or of those that one leads."""
        teams = self.selection(request).filters.get("team", ())
        rows = contest_rows(scope_of(request.user), teams=teams)
        return self.listed(request, rows, serializer_of(ContestRow))


class StatementContestsView(RowsView):
    """The contests of one statement."""

    subject = "contests"
    right = CONTESTS
    renderer_classes = JSON_ONLY

    @takes(ContestBodySerializer, CONTEST, 409)
    def post(self, request: Request, team: str, period: str) -> Response:
        """Contest a statement, one of its rows or one of its lines, as a lead of the team."""
        check_month(period)
        scope = scope_of(request.user)
        found = Team.objects.filter(slug=team).first()
        if found is None or not (scope.sees_all or found.pk in scope.lead_of):
            raise Http404  # the same for both
        values = checked(ContestBodySerializer, request)
        of, key = _subject(values)

        def make() -> Response:
            made = _done(
                lambda: actions.open_contest(
                    found,
                    period,
                    values["reason"],
                    _person(request),
                    of=of,
                    key=key,
                    revision=values.get("revision"),
                ),
                "row" if of == Contested.ROW else "line",
            )
            return _answered(request, made.pk, status.HTTP_201_CREATED)

        return answered_once(request, make)


def _subject(values: dict[str, Any]) -> tuple[str, str]:
    """What a body contests, and its key."""
    if "row" in values:
        part, *labels = values["row"]
        return Contested.ROW, row_key(part, tuple(labels))
    if "line" in values:
        return Contested.LINE, values["line"]
    return Contested.STATEMENT, ""


class ContestView(RowsView):
    """One contest."""

    subject = "contests"
    right = CONTESTS
    renderer_classes = JSON_ONLY

    @reads(CONTEST, "contest_retrieve")
    def get(self, request: Request, number: int) -> Response:
        """One contest with all its steps."""
        return _answered(request, number)


class ContestStepView(RowsView):
    """What the steps of a contest share: who sees it, refusals, once for each key."""

    subject = "contests"
    right = CONTESTS
    renderer_classes = JSON_ONLY

    def done(
        self,
        request: Request,
        number: int,
        step: Callable[[Contest, Any], object],
        member: str = "",
    ) -> Response:
        """The contest after a step.

        Args:
            request: of the person who does it.
            number: of the contest.
            step: an action on the contest by the person.
            member: of the body, by which a value that is not valid is named.
        """
        asked = _contest(request, number)

        def make() -> Response:
            _done(lambda: step(asked, _person(request)), member)
            return _answered(request, number)

        return answered_once(request, make)


class ContestAnswerView(ContestStepView):
    """The answer of finance."""

    @takes(ContestAnswerSerializer, CONTEST, 409)
    def post(self, request: Request, number: int) -> Response:
        """Answer an open contest: with a credit or adjustment, a changed rule, or a reason."""
        _row(request, number)
        values = checked(ContestAnswerSerializer, request)
        reason = values["reason"]

        def answer(contest: Contest, by: Any) -> object:
            if values["answer"] == AnswerKind.ENTRY:
                amount = values["amount"]
                kind = EntryKind.CREDIT if amount < 0 else EntryKind.ADJUSTMENT
                entry = actions.EntryAnswer(kind, values["day"], amount)
                return actions.answer_with_entry(contest, entry, reason, by)
            if values["answer"] == AnswerKind.MAPPING:
                return actions.answer_with_rule(contest, values["rule"], reason, by)
            return actions.answer_with_reason(contest, reason, by)

        return self.done(request, number, answer, "amount")


class ContestReopenView(ContestStepView):
    """A contest whose answer is not accepted."""

    @takes(ReasonSerializer, CONTEST, 409)
    def post(self, request: Request, number: int) -> Response:
        """Open an answered contest again, as a lead of the team."""
        _row(request, number)
        reason = checked(ReasonSerializer, request)["reason"]

        def reopen(contest: Contest, by: Any) -> object:
            return actions.reopen_contest(contest, reason, by)

        return self.done(request, number, reopen, "reason")


class ContestAcceptView(ContestStepView):
    """An accepted answer."""

    @takes(None, CONTEST, 409)
    def post(self, request: Request, number: int) -> Response:
        """Accept the answer, as a lead of the team."""
        return self.done(request, number, actions.accept_answer)


class ContestWithdrawView(ContestStepView):
    """A withdrawn contest."""

    @takes(None, CONTEST, 409)
    def post(self, request: Request, number: int) -> Response:
        """Withdraw an open contest, as a lead of the team; it stays readable."""
        return self.done(request, number, actions.withdraw_contest)


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
    return Response(CONTEST.one(_row(request, number)), status=code)


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
