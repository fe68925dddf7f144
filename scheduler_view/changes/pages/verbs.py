"""The buttons of a change set's page: plan, approve, apply, decline, discard, undo, repeat."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect

from accounting.access.rights import SIGNED_IN
from accounting.kit.forms import HIDDEN
from accounting.kit.pages.permissions import Visitor, posted, visitor_of
from scheduler_view.changes.actions import change_sets, ending
from scheduler_view.changes.actions.change_sets import (
    ChangeRefused,
    wake_for_cluster,
)
from scheduler_view.changes.actions.joining import leave_out, leave_out_blocked
from scheduler_view.changes.forms import ReasonForm
from scheduler_view.changes.mapping import draft_of
from scheduler_view.changes.models import ChangeSet, ChangeState
from scheduler_view.changes.reads.change_sets import change_row
from scheduler_view.changes.rights import may_act
from scheduler_view.changes.rules.edit import EditsRefused
from scheduler_view.changes.tasks.base_versions import LostUpdate

Verb = Callable[[ChangeSet, int, HttpRequest, Visitor], ChangeSet]


@posted(SIGNED_IN, belongs_to="change")
def act_on(request: HttpRequest, number: int, verb: str) -> HttpResponse:
    """One of `_VERBS` on a change set, for admins; a lead may discard it and remove edits."""
    visitor = visitor_of(request)
    row = change_row(visitor.scope, number)
    if row is None:
        raise Http404("no such change")
    done = _VERBS.get(verb)
    if done is None:
        raise Http404("no such verb")
    is_author = row.author == request.user.get_username() and not row.is_partial
    if not may_act(verb, visitor.scope, is_author=is_author, edits=row.edits):
        raise PermissionDenied("administrators")
    version = request.POST.get("version", "")
    if not version.isdecimal() or len(version) > 9:
        messages.error(request, "The form is incomplete. Reload the page.")
        return redirect("change", number=number)
    change_set = ChangeSet.objects.select_related("cluster").get(pk=number)
    try:
        with transaction.atomic():
            led = done(change_set, int(version), request, visitor)
    except (ChangeRefused, LostUpdate, EditsRefused) as error:
        messages.error(request, f"{str(error)[:1].upper()}{str(error)[1:]}.")
        return redirect("change", number=number)
    except ValidationError as error:  # such as a start that is in the past by now
        messages.error(request, " ".join(error.messages))
        return redirect("change", number=number)
    wake_for_cluster(change_set.cluster_id)
    return redirect("change", number=led.pk)


def _plan(
    change_set: ChangeSet, version: int, request: HttpRequest, visitor: Visitor
) -> ChangeSet:
    return change_sets.request_plan(
        change_set, version=version, actor=_actor(request), at=visitor.now
    )


def _approve(
    change_set: ChangeSet, version: int, request: HttpRequest, visitor: Visitor
) -> ChangeSet:
    return change_sets.approve(
        change_set, version=version, actor=_actor(request), at=visitor.now
    )


def _apply(
    change_set: ChangeSet, version: int, request: HttpRequest, visitor: Visitor
) -> ChangeSet:
    """If no second person is needed, one button approves and applies."""
    if change_set.state == ChangeState.PLANNED:
        _approve(change_set, version, request, visitor)
        version = change_set.version
        if change_set.state == ChangeState.SCHEDULED:
            return change_set
    return change_sets.request_apply(
        change_set, version=version, actor=_actor(request), at=visitor.now
    )


def _discard(
    change_set: ChangeSet, version: int, request: HttpRequest, visitor: Visitor
) -> ChangeSet:
    return ending.discard(
        change_set,
        version=version,
        actor=_actor(request),
        reason=f"discard {change_set}",
        at=visitor.now,
    )


def _decline(
    change_set: ChangeSet, version: int, request: HttpRequest, visitor: Visitor
) -> ChangeSet:
    return ending.decline(
        change_set,
        version=version,
        actor=_actor(request),
        reason=_reason(request),
        at=visitor.now,
    )


def _leave_out(
    change_set: ChangeSet, version: int, request: HttpRequest, visitor: Visitor
) -> ChangeSet:
    """Remove one edit, or those of objects that cannot be changed.

    An admin's change set is planned again, a lead's request still waits.
    """
    given = request.POST.get("edit", "")
    actor, at = _actor(request), visitor.now
    if given == "blocked":
        leave_out_blocked(change_set, version=version, actor=actor, at=at)
    else:
        index = int(given) if given.isdecimal() and len(given) < 6 else -1
        leave_out(change_set, index=index, version=version, actor=actor, at=at)
    if not visitor.scope.is_admin:
        return change_set
    return _plan(change_set, change_set.version, request, visitor)


def _anew(make: Callable[..., ChangeSet]) -> Verb:
    """A new change set from this one, planned at once."""

    def done(
        change_set: ChangeSet, version: int, request: HttpRequest, visitor: Visitor
    ) -> ChangeSet:
        del version  # it does not change
        made = make(
            change_set, actor=_actor(request), reason=_reason(request), at=visitor.now
        )
        return _plan(made, made.version, request, visitor)

    return done


def _force(
    change_set: ChangeSet, version: int, request: HttpRequest, visitor: Visitor
) -> ChangeSet:
    """Plan again with the currently selected objects."""
    known = {str(step) for step in change_set.steps.all()}
    ticked = [name for name in request.POST.getlist("force") if name in known]
    draft = replace(draft_of(change_set), forced=ticked)
    change_sets.edit(
        change_set,
        draft=draft,
        version=version,
        actor=_actor(request),
        at=visitor.now,
    )
    return _plan(change_set, change_set.version, request, visitor)


def _reason(request: HttpRequest) -> str:
    form = ReasonForm(request.POST)
    if not form.is_valid():
        found = form.errors["reason"].as_data()
        hidden = [str(one.message) for one in found if one.code == HIDDEN]
        told = hidden[0] if hidden else "enter a reason of 10 to 200 characters"
        raise ChangeRefused(told.rstrip("."))
    reason: str = form.cleaned_data["reason"]
    return reason


def _actor(request: HttpRequest) -> Any:
    return request.user  # only signed-in people get here


_VERBS: dict[str, Verb] = {
    "plan": _plan,
    "approve": _approve,
    "apply": _apply,
    "discard": _discard,
    "decline": _decline,
    "leave-out": _leave_out,
    "undo": _anew(change_sets.undo),
    "again": _anew(change_sets.again),
    "force": _force,
}
