"""What the addresses of change sets share: rights, the draft, its version, idempotency."""

from collections.abc import Callable, Sequence
from typing import Any

from django.http import Http404
from django.utils import timezone
from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.response import Response

from accounting.access.scope import Scope, scope_of
from accounting.kit.api.once import key_of
from accounting.kit.once import digest_of, once
from accounting.metering.reads.resources import added_names
from scheduler_view.changes.api.errors import PreconditionRequired
from scheduler_view.changes.models import ChangeSet
from scheduler_view.changes.reads.change_sets import change_row
from scheduler_view.changes.rights import leads_all, may_act
from scheduler_view.changes.rules.edit import Draft, Edit, edit_fields
from scheduler_view.changes.rules.given_edit import edits_from
from scheduler_view.changes.serializers import ChangeSerializer


def answer(request: Request, change_set: ChangeSet, code: int) -> Response:
    row = change_row(scope_of(request.user), change_set.pk)
    if row is None:
        raise Http404
    headers = {"ETag": f'"{row.version}"'}
    return Response(ChangeSerializer.one(row), status=code, headers=headers)


def change_set_of(request: Request, number: int) -> ChangeSet:
    """The requested change set; 404 if it does not exist or is hidden."""
    if change_row(scope_of(request.user), number) is None:
        raise Http404
    return ChangeSet.objects.select_related("cluster").get(pk=number)


def as_admin(request: Request, number: int, verb: str) -> ChangeSet:
    change_set = change_set_of(request, number)
    if not _may_act(request, scope_of(request.user), change_set, verb):
        raise exceptions.PermissionDenied("Only administrators can do this.")
    return change_set


def _may_act(request: Request, scope: Scope, change_set: ChangeSet, verb: str) -> bool:
    is_author = change_set.author_id == request.user.pk
    return may_act(verb, scope, is_author=is_author, edits=change_set.edits)


def own(request: Request, scope: Scope, number: int, verb: str) -> ChangeSet:
    """The requested change set, for an administrator or its author."""
    change_set = change_set_of(request, number)
    if not _may_act(request, scope, change_set, verb):
        raise exceptions.PermissionDenied(
            "Only administrators, and its author while they lead all of its teams, can do this."
        )
    return change_set


def may_ask(request: Request) -> Scope:
    scope = scope_of(request.user)
    if not scope.is_admin and not scope.lead_of:
        raise exceptions.PermissionDenied(
            "Only administrators and team leads can do this."
        )
    return scope


def check_teams(scope: Scope, edits: "Sequence[Edit]") -> None:
    if scope.is_admin:
        return
    if not leads_all(scope, [edit_fields(edit) for edit in edits]):
        raise exceptions.PermissionDenied(
            "Team leads can request only quotas, and only for their teams."
        )


def draft_of(body: dict[str, Any]) -> Draft:
    return Draft(
        edits_from(body["edits"], added_names()),
        body["reason"],
        forced=tuple(body.get("force") or ()),
        starts_at=body.get("starts_at"),
        ends_at=body.get("ends_at"),
    )


def version_of(request: Request) -> int:
    given = request.headers.get("If-Match", "").strip()
    if not given:
        raise PreconditionRequired(
            "If-Match is missing. Pass the ETag of the change set."
        )
    number = given.strip('"')
    if not (number.isascii() and number.isdigit() and len(number) < 10):
        raise exceptions.ParseError('If-Match is not a valid ETag, such as "3".')
    return int(number)


def once_only(request: Request, make: Callable[[], ChangeSet]) -> ChangeSet:
    found, _ = once(
        user_id=person(request).pk,
        key=key_of(request),
        digest=digest_of(request.path, request.data),
        at=timezone.now(),
        make=lambda: make().pk,
    )
    return ChangeSet.objects.get(pk=found)


def person(request: Request) -> Any:
    return request.user
