"""Change sets: made by admins, asked for by leads, planned and applied by the worker.

A request is stored in Postgres and wakes the worker; the response is the stored state.
Each step names the version it was read at (`If-Match`); of two, one wins.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.http import Http404
from django.utils import timezone
from rest_framework import exceptions, status
from rest_framework.request import Request
from rest_framework.response import Response

from accounting.access import Scope, scope_of
from accounting.api.rows import ApiView, RowsView
from accounting.api.schema import lists
from accounting.api.writes import checked
from accounting.queries.selection import check_word
from scheduler_view import serializers
from scheduler_view.actions import change_sets as actions
from scheduler_view.actions import ending, joining
from scheduler_view.actions.idempotency import LONGEST_KEY, digest_of, once
from scheduler_view.api.errors import PreconditionRequired, translated
from scheduler_view.api.schema import acts, makes, reads_one
from scheduler_view.domain.plan.edit import Edit, QuotaEdit, stored_edit
from scheduler_view.domain.plan.given_edit import edits_from
from scheduler_view.models import ChangeSet
from scheduler_view.queries.changes.change_sets import (
    change_key,
    change_row,
    changes_of,
    states,
)
from scheduler_view.queries.resources import added_names
from scheduler_view.queries.teams import led_slugs
from scheduler_view.rights import may_act
from scheduler_view.wakeup import ring


class ChangesView(RowsView):
    """Change sets."""

    subject = "change-sets"
    parameters = ("cluster", "team", "state")

    @lists(serializers.ChangeRowSerializer, parameters)
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
        return self.keyset_page(
            request, read, change_key, serializers.ChangeRowSerializer
        )

    @makes(serializers.NewChangeBodySerializer)
    def post(self, request: Request) -> Response:
        """Create a draft. Team leads can request quotas for their teams."""
        scope = _may_ask(request)
        body = checked(serializers.NewChangeBodySerializer, request)
        draft = _draft(body)
        _check_teams(scope, draft.edits)
        change_set = _once(
            request,
            lambda: actions.create(
                cluster=body["cluster"],
                draft=draft,
                actor=_person(request),
                at=timezone.now(),
            ),
        )
        return _answer(request, change_set, status.HTTP_201_CREATED)

    def handle_exception(self, exc: Exception) -> Response:
        """Map errors to responses."""
        return super().handle_exception(translated(exc))


class OneView(ApiView):
    """What all addresses of one change set share."""

    subject = "change-sets"

    def handle_exception(self, exc: Exception) -> Response:
        """Map errors to responses."""
        return super().handle_exception(translated(exc))


class ChangeView(OneView):
    """One change set."""

    @reads_one
    def get(self, request: Request, number: int) -> Response:
        """Get a change set with its plan and the result for each object."""
        return _answer(request, _found(request, number), status.HTTP_200_OK)

    @acts(serializers.ChangeBodySerializer, status.HTTP_200_OK)
    def put(self, request: Request, number: int) -> Response:
        """Replace the edits of a draft. Its plan is discarded."""
        scope = _may_ask(request)
        change_set = _own(request, scope, number, "edit")
        draft = _draft(checked(serializers.ChangeBodySerializer, request))
        _check_teams(scope, draft.edits)
        actions.edit(
            change_set,
            draft=draft,
            version=_version(request),
            actor=_person(request),
            at=timezone.now(),
        )
        return _answer(request, change_set, status.HTTP_200_OK)

    @acts(serializers.JoinBodySerializer, status.HTTP_200_OK)
    def patch(self, request: Request, number: int) -> Response:
        """Add edits to an open change set. A new edit replaces an existing edit of the same
        object."""
        scope = _may_ask(request)
        change_set = _own(request, scope, number, "edit")
        body = checked(serializers.JoinBodySerializer, request)
        edits = edits_from(body["edits"], added_names())
        _check_teams(scope, edits)
        joining.join(
            change_set,
            edits=edits,
            version=_version(request),
            actor=_person(request),
            at=timezone.now(),
            reason=body.get("reason", ""),
        )
        return _answer(request, change_set, status.HTTP_200_OK)


class PlanView(OneView):
    """Planning."""

    @acts(serializers.NoBodySerializer, status.HTTP_202_ACCEPTED)
    def post(self, request: Request, number: int) -> Response:
        """Plan a change set: a worker reads the cluster and checks the change with a dry run."""
        change_set = _as_admin(request, number, "plan")
        actions.request_plan(
            change_set,
            version=_version(request),
            actor=_person(request),
            at=timezone.now(),
        )
        ring(change_set.cluster_id)
        return _answer(request, change_set, status.HTTP_202_ACCEPTED)


class ApproveView(OneView):
    """Approval."""

    @acts(serializers.NoBodySerializer, status.HTTP_200_OK)
    def post(self, request: Request, number: int) -> Response:
        """Approve a plan. Above the cluster's limit, the approver must not be the author."""
        change_set = _as_admin(request, number, "approve")
        actions.approve(
            change_set,
            version=_version(request),
            actor=_person(request),
            at=timezone.now(),
        )
        return _answer(request, change_set, status.HTTP_200_OK)


class ApplyView(OneView):
    """Applying."""

    @acts(serializers.NoBodySerializer, status.HTTP_202_ACCEPTED)
    def post(self, request: Request, number: int) -> Response:
        """Apply a plan: a worker sends it, object by object."""
        change_set = _as_admin(request, number, "apply")
        actions.request_apply(
            change_set,
            version=_version(request),
            actor=_person(request),
            at=timezone.now(),
        )
        ring(change_set.cluster_id)
        return _answer(request, change_set, status.HTTP_202_ACCEPTED)


class UndoView(OneView):
    """Undo."""

    @makes(serializers.ReasonBodySerializer)
    def post(self, request: Request, number: int) -> Response:
        """Create a draft that restores the previous state."""
        change_set = _as_admin(request, number, "undo")
        body = checked(serializers.ReasonBodySerializer, request)
        back = _once(
            request,
            lambda: actions.undo(
                change_set,
                actor=_person(request),
                reason=body["reason"],
                at=timezone.now(),
            ),
        )
        return _answer(request, back, status.HTTP_201_CREATED)


class DiscardView(OneView):
    """Discarding."""

    @acts(serializers.ReasonBodySerializer, status.HTTP_200_OK)
    def post(self, request: Request, number: int) -> Response:
        """Discard your own change set that was not applied. It stays in the list."""
        change_set = _own(request, _may_ask(request), number, "discard")
        body = checked(serializers.ReasonBodySerializer, request)
        ending.discard(
            change_set,
            version=_version(request),
            actor=_person(request),
            reason=body["reason"],
            at=timezone.now(),
        )
        return _answer(request, change_set, status.HTTP_200_OK)


class DeclineView(OneView):
    """Declining."""

    @acts(serializers.ReasonBodySerializer, status.HTTP_200_OK)
    def post(self, request: Request, number: int) -> Response:
        """Decline another person's change set. The reason is shown to its author."""
        change_set = _as_admin(request, number, "decline")
        body = checked(serializers.ReasonBodySerializer, request)
        ending.decline(
            change_set,
            version=_version(request),
            actor=_person(request),
            reason=body["reason"],
            at=timezone.now(),
        )
        return _answer(request, change_set, status.HTTP_200_OK)


def _answer(request: Request, change_set: ChangeSet, code: int) -> Response:
    row = change_row(scope_of(request.user), change_set.pk)
    if row is None:
        raise Http404
    headers = {"ETag": f'"{row.version}"'}
    return Response(serializers.ChangeSerializer.one(row), status=code, headers=headers)


def _found(request: Request, number: int) -> ChangeSet:
    """The one asked for; 404 where it is not there or not theirs."""
    if change_row(scope_of(request.user), number) is None:
        raise Http404
    return ChangeSet.objects.select_related("cluster").get(pk=number)


def _as_admin(request: Request, number: int, verb: str) -> ChangeSet:
    change_set = _found(request, number)
    if not may_act(verb, scope_of(request.user), is_author=_wrote(request, change_set)):
        raise exceptions.PermissionDenied("Only administrators can do this.")
    return change_set


def _wrote(request: Request, change_set: ChangeSet) -> bool:
    return change_set.author_id == request.user.pk


def _own(request: Request, scope: Scope, number: int, verb: str) -> ChangeSet:
    """An admin's, or the asker's own."""
    change_set = _found(request, number)
    if not may_act(verb, scope, is_author=_wrote(request, change_set)):
        raise exceptions.PermissionDenied(
            "Only its author and administrators can do this."
        )
    _check_teams(scope, [stored_edit(one) for one in change_set.edits])
    return change_set


def _may_ask(request: Request) -> Scope:
    scope = scope_of(request.user)
    if not scope.is_admin and not scope.lead_of:
        raise exceptions.PermissionDenied(
            "Only administrators and team leads can do this."
        )
    return scope


def _check_teams(scope: Scope, edits: "list[Edit] | Any") -> None:
    if scope.is_admin:
        return
    led = led_slugs(scope)
    if not all(isinstance(e, QuotaEdit) and e.team in led for e in edits):
        raise exceptions.PermissionDenied(
            "Team leads can request only quotas, and only for their teams."
        )


def _draft(body: dict[str, Any]) -> actions.Draft:
    return actions.Draft(
        edits_from(body["edits"], added_names()),
        body["reason"],
        forced=tuple(body.get("force") or ()),
        starts_at=body.get("starts_at"),
        ends_at=body.get("ends_at"),
    )


def _version(request: Request) -> int:
    given = request.headers.get("If-Match", "").strip()
    if not given:
        raise PreconditionRequired(
            "If-Match is missing. Pass the ETag of the change set."
        )
    number = given.strip('"')
    if not (number.isascii() and number.isdigit() and len(number) < 10):
        raise exceptions.ParseError('If-Match is not a valid ETag, such as "3".')
    return int(number)


def _once(request: Request, make: Callable[[], ChangeSet]) -> ChangeSet:
    key = request.headers.get("Idempotency-Key", "")
    if len(key) > LONGEST_KEY or not key.isprintable():
        raise exceptions.ParseError(
            f"Idempotency-Key is at most {LONGEST_KEY} printable characters"
        )
    found, _ = once(
        user_id=_person(request).pk,
        key=key,
        digest=digest_of(request.path, request.data),
        at=timezone.now(),
        make=make,
    )
    return found


def _person(request: Request) -> Any:
    return request.user
