"""What people do with a change set: leave out, plan, approve, apply, undo, discard, decline."""

from django.utils import timezone
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from accounting.kit.api.bodies import checked
from scheduler_view.changes.actions import change_sets as actions
from scheduler_view.changes.actions import ending
from scheduler_view.changes.actions.change_sets import wake_for_cluster
from scheduler_view.changes.actions.joining import leave_out, leave_out_blocked
from scheduler_view.changes.api.change_requests import (
    answer,
    as_admin,
    may_ask,
    once_only,
    own,
    person,
    version_of,
)
from scheduler_view.changes.api.changes import OneView
from scheduler_view.changes.api.schema import acts, makes
from scheduler_view.changes.serializers import (
    LeaveOutBodySerializer,
    NoBodySerializer,
    ReasonBodySerializer,
    UndoBodySerializer,
)


class PlanView(OneView):
    """Planning."""

    @acts(NoBodySerializer, status.HTTP_202_ACCEPTED)
    def post(self, request: Request, number: int) -> Response:
        """Plan a change set: a worker reads the cluster and checks the change with a dry run."""
        change_set = as_admin(request, number, "plan")
        actions.request_plan(
            change_set,
            version=version_of(request),
            actor=person(request),
            at=timezone.now(),
        )
        wake_for_cluster(change_set.cluster_id)
        return answer(request, change_set, status.HTTP_202_ACCEPTED)


class LeaveOutView(OneView):
    """Leaving out."""

    @acts(LeaveOutBodySerializer, status.HTTP_200_OK)
    def post(self, request: Request, number: int) -> Response:
        """Leave out one edit, or all whose objects cannot be changed. Plan it again afterwards."""
        change_set = own(request, may_ask(request), number, "leave-out")
        index = checked(LeaveOutBodySerializer, request).get("edit")
        version, actor, at = version_of(request), person(request), timezone.now()
        if index is None:
            leave_out_blocked(change_set, version=version, actor=actor, at=at)
        else:
            leave_out(change_set, index=index, version=version, actor=actor, at=at)
        return answer(request, change_set, status.HTTP_200_OK)


class ApproveView(OneView):
    """Approval."""

    @acts(NoBodySerializer, status.HTTP_200_OK)
    def post(self, request: Request, number: int) -> Response:
        """Approve a plan. Above the cluster's limit, the approver must not be the author."""
        change_set = as_admin(request, number, "approve")
        actions.approve(
            change_set,
            version=version_of(request),
            actor=person(request),
            at=timezone.now(),
        )
        return answer(request, change_set, status.HTTP_200_OK)


class ApplyView(OneView):
    """Applying."""

    @acts(NoBodySerializer, status.HTTP_202_ACCEPTED)
    def post(self, request: Request, number: int) -> Response:
        """Apply a plan: a worker sends it, object by object."""
        change_set = as_admin(request, number, "apply")
        actions.request_apply(
            change_set,
            version=version_of(request),
            actor=person(request),
            at=timezone.now(),
        )
        wake_for_cluster(change_set.cluster_id)
        return answer(request, change_set, status.HTTP_202_ACCEPTED)


class UndoView(OneView):
    """Undo."""

    @makes(UndoBodySerializer)
    def post(self, request: Request, number: int) -> Response:
        """Create a draft that restores the previous state."""
        change_set = as_admin(request, number, "undo")
        body = checked(UndoBodySerializer, request)
        back = once_only(
            request,
            lambda: actions.undo(
                change_set,
                actor=person(request),
                reason=body["reason"],
                at=timezone.now(),
                forced=tuple(body.get("force") or ()),
            ),
        )
        return answer(request, back, status.HTTP_201_CREATED)


class DiscardView(OneView):
    """Discarding."""

    @acts(ReasonBodySerializer, status.HTTP_200_OK)
    def post(self, request: Request, number: int) -> Response:
        """Discard your own change set that was not applied. It stays in the list."""
        change_set = own(request, may_ask(request), number, "discard")
        body = checked(ReasonBodySerializer, request)
        ending.discard(
            change_set,
            version=version_of(request),
            actor=person(request),
            reason=body["reason"],
            at=timezone.now(),
        )
        return answer(request, change_set, status.HTTP_200_OK)


class DeclineView(OneView):
    """Declining."""

    @acts(ReasonBodySerializer, status.HTTP_200_OK)
    def post(self, request: Request, number: int) -> Response:
        """Decline another person's change set. The reason is shown to its author."""
        change_set = as_admin(request, number, "decline")
        body = checked(ReasonBodySerializer, request)
        ending.decline(
            change_set,
            version=version_of(request),
            actor=person(request),
            reason=body["reason"],
            at=timezone.now(),
        )
        return answer(request, change_set, status.HTTP_200_OK)
