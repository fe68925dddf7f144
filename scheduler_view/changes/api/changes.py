"""Change sets: made by admins, requested by leads, planned and applied by the worker.

A request is stored in Postgres and wakes the worker; the response is the stored state.
Each step names the version it was read at (`If-Match`); of two, one wins.
"""

from functools import partial

from django.utils import timezone
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from accounting.access.scope import scope_of
from accounting.kit.api.bodies import checked
from accounting.kit.api.rows import ApiView, RowsView
from accounting.kit.api.schema import lists
from accounting.kit.reads.selection import check_word
from accounting.kit.serializers.declared import serializer_of
from accounting.metering.reads.resources import added_names
from scheduler_view.changes.actions import change_sets as actions
from scheduler_view.changes.actions import joining
from scheduler_view.changes.api.change_requests import (
    answer,
    change_set_of,
    check_teams,
    draft_of,
    may_ask,
    once_only,
    own,
    person,
    version_of,
)
from scheduler_view.changes.api.errors import translated
from scheduler_view.changes.api.schema import acts, makes, reads_one
from scheduler_view.changes.reads.change_row import ChangeRow
from scheduler_view.changes.reads.change_sets import change_key, changes_of, states
from scheduler_view.changes.rules.given_edit import edits_from
from scheduler_view.changes.serializers import (
    ChangeBodySerializer,
    JoinBodySerializer,
    NewChangeBodySerializer,
)


class ChangesView(RowsView):
    """Change sets."""

    subject = "change-sets"
    parameters = ("cluster", "team", "state")

    @lists(serializer_of(ChangeRow), parameters, values={"state": states()})
    def get(self, request: Request) -> Response:
        """List change sets, newest first. Team members see those of their teams."""
        filters = self.selection(request).filters
        state = request.query_params.get("state", "")
        if state:
            check_word("state", state, states())
        read = partial(
            changes_of,
            scope_of(request.user),
            clusters=filters.get("cluster"),
            teams=filters.get("team"),
            state=state,
        )
        return self.keyset_page(request, read, change_key, serializer_of(ChangeRow))

    @makes(NewChangeBodySerializer)
    def post(self, request: Request) -> Response:
        """Create a draft. Team leads can request quotas for their teams."""
        scope = may_ask(request)
        body = checked(NewChangeBodySerializer, request)
        draft = draft_of(body)
        check_teams(scope, draft.edits)
        change_set = once_only(
            request,
            lambda: actions.create(
                cluster=body["cluster"],
                draft=draft,
                actor=person(request),
                at=timezone.now(),
            ),
        )
        return answer(request, change_set, status.HTTP_201_CREATED)

    def handle_exception(self, exc: Exception) -> Response:
        """Map errors to responses."""
        return super().handle_exception(translated(exc))


class OneView(ApiView):
    """The base of all addresses of one change set."""

    subject = "change-sets"

    def handle_exception(self, exc: Exception) -> Response:
        """Map errors to responses."""
        return super().handle_exception(translated(exc))


class ChangeView(OneView):
    """One change set."""

    @reads_one
    def get(self, request: Request, number: int) -> Response:
        """Get a change set with its plan and the result for each object."""
        return answer(request, change_set_of(request, number), status.HTTP_200_OK)

    @acts(ChangeBodySerializer, status.HTTP_200_OK)
    def put(self, request: Request, number: int) -> Response:
        """Replace the edits of a draft. Its plan is discarded."""
        scope = may_ask(request)
        change_set = own(request, scope, number, "edit")
        draft = draft_of(checked(ChangeBodySerializer, request))
        check_teams(scope, draft.edits)
        actions.edit(
            change_set,
            draft=draft,
            version=version_of(request),
            actor=person(request),
            at=timezone.now(),
        )
        return answer(request, change_set, status.HTTP_200_OK)

    @acts(JoinBodySerializer, status.HTTP_200_OK)
    def patch(self, request: Request, number: int) -> Response:
        """Add edits to an open change set. A new edit replaces an existing edit of the same
        object."""
        scope = may_ask(request)
        change_set = own(request, scope, number, "edit")
        body = checked(JoinBodySerializer, request)
        edits = edits_from(body["edits"], added_names())
        check_teams(scope, edits)
        joining.join(
            change_set,
            edits=edits,
            version=version_of(request),
            actor=person(request),
            at=timezone.now(),
            reason=body.get("reason", ""),
        )
        return answer(request, change_set, status.HTTP_200_OK)
