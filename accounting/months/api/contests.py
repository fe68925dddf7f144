"""Contests are opened on a statement (money.md M34); the rest of them is declared."""

from typing import Any

from django.http import Http404
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from accounting.access.models.teams import Team
from accounting.access.rights import CONTESTS
from accounting.access.scope import scope_of
from accounting.kit.api.bodies import checked
from accounting.kit.api.once import answered_once
from accounting.kit.api.rows import JSON_ONLY, RowsView
from accounting.kit.api.schema import takes
from accounting.kit.serializers.declared import item_serializer_of
from accounting.months.actions.contests import open_contest
from accounting.months.api.booked import check_month
from accounting.months.models.contest import Contested
from accounting.months.reads.contested import row_key
from accounting.months.reads.contests import ContestRow, contest_row
from accounting.months.reads.lines import BookingError
from accounting.months.serializers.contests import ContestBodySerializer

CONTEST = item_serializer_of(ContestRow)


class StatementContestsView(RowsView):
    """The contests of one statement."""

    subject = "contests"
    right = CONTESTS
    renderer_classes = JSON_ONLY

    @takes(ContestBodySerializer, CONTEST, 409)
    def post(self, request: Request, team: str, period: str) -> Response:
        """Contest a statement, one of its rows or one of its lines, as a lead of the team."""
        check_month(period)
        person: Any = request.user
        scope = scope_of(person)
        found = Team.objects.filter(slug=team).first()
        if found is None or not (scope.sees_all or found.pk in scope.lead_of):
            raise Http404  # the same for both
        values = checked(ContestBodySerializer, request)
        of, key = _subject(values)

        def make() -> Response:
            try:
                made = open_contest(
                    *(found, period, values["reason"], person),
                    of=of,
                    key=key,
                    revision=values.get("revision"),
                )
            except BookingError:
                raise Http404 from None
            row = contest_row(scope, made.pk)
            return Response(CONTEST.one(row), status=status.HTTP_201_CREATED)

        return answered_once(request, make)


def _subject(values: dict[str, Any]) -> tuple[str, str]:
    """What a body contests, and its key."""
    if "row" in values:
        part, *labels = values["row"]
        return Contested.ROW, row_key(part, tuple(labels))
    if "line" in values:
        return Contested.LINE, values["line"]
    return Contested.STATEMENT, ""
