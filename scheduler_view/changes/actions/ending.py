"""Change sets that are not applied: discarded by their author, or declined by another person.

One that has begun can be ended while it waits for a token, which may be for a day. What was applied
stays, and the rest is not sent (docs/quotas.md, "Ending a change set").
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError

from accounting.kit.audit import Actor, act
from scheduler_view.changes.actions.change_sets import (
    OPEN,
    READY,
    ChangeRefused,
    move,
    name_of,
    reason_fault,
)
from scheduler_view.changes.models import ChangeSet, ChangeState, StepState
from scheduler_view.clusters.rules.wording import few

UNKNOWN = "It was sent, but no response arrived. Check the object. "
NOT_BEGUN = (*OPEN, *READY, ChangeState.EXPIRED)


def discard(
    change_set: ChangeSet, *, version: int, actor: Actor, reason: str, at: datetime
) -> ChangeSet:
    """Discard one's own change set that was not applied; it stays in the list.

    Raises:
        ChangedMeanwhile: the version is not the current one.
        ChangeRefused: another person created it, it was applied or ended, or a worker is at it.
    """
    if name_of(actor) != change_set.author_name:
        raise ChangeRefused(
            f"{change_set} belongs to another person: decline it with a reason"
        )
    _end(change_set, version, ChangeState.DISCARDED, actor, reason, at)
    return change_set


def decline(
    change_set: ChangeSet, *, version: int, actor: Actor, reason: str, at: datetime
) -> ChangeSet:
    """Decline another person's change set; its author sees the reason.

    Raises:
        ChangedMeanwhile: the version is not the current one.
        ChangeRefused: it is one's own, it was applied or ended, or a worker is at it.
        ValidationError: the reason is not valid.
    """
    if name_of(actor) == change_set.author_name:
        raise ChangeRefused(f"{change_set} is your own change: discard it")
    if fault := reason_fault(reason):
        raise ValidationError({"reason": fault})
    _end(change_set, version, ChangeState.DECLINED, actor, reason.strip(), at)
    return change_set


def _end(
    change_set: ChangeSet,
    version: int,
    state: ChangeState,
    actor: Actor,
    reason: str,
    at: datetime,
) -> None:
    ended = {
        "plan_wanted_at": None,
        "retry_at": None,
        "ended_by": name_of(actor),
        "ended_at": at,
        "ended_reason": reason,
    }
    with act(actor, reason):
        row = ChangeSet.objects.select_for_update().get(pk=change_set.pk)
        if row.version == version and row.waits_for_token:
            _stop(change_set, row, state, ended, at)
        else:
            move(change_set, version, NOT_BEGUN, state=state, error="", **ended)


def _stop(
    change_set: ChangeSet,
    row: ChangeSet,
    state: ChangeState,
    ended: Mapping[str, Any],
    at: datetime,
) -> None:
    """End one that has begun; the caller holds its row, so that no worker begins."""
    if row.lease_until is not None and row.lease_until > at:
        raise ChangeRefused(
            f"a worker is trying {change_set} at this moment: try again in a minute"
        )
    who = f"{state.label} by {ended['ended_by']} while it waited for a token"
    steps = row.steps.all()
    sent = [str(one) for one in steps.filter(state=StepState.SENT)]
    done = steps.filter(state=StepState.APPLIED).count()
    steps.filter(state=StepState.SENT).update(
        state=StepState.REFUSED, message=f"{UNKNOWN}{who}.", done_at=at
    )
    steps.filter(state=StepState.WAITING).update(
        state=StepState.REFUSED, message=f"Not sent. {who}.", done_at=at
    )
    error = ""
    if done or sent:
        state = ChangeState.PARTLY_APPLIED if done else ChangeState.REFUSED
        error = f"{who}. {_what_stays(done, steps.count(), sent)}"
    move(
        change_set,
        row.version,
        (ChangeState.APPLYING,),
        state=state,
        applied_at=at if done else None,
        lease_until=None,
        error=error,
        **ended,
    )


def _what_stays(done: int, count: int, sent: Sequence[str]) -> str:
    said = f"{done} of {count} objects {'was' if done == 1 else 'were'} applied"
    stays = f" and {'stays' if done == 1 else 'stay'}" if done else ""
    unknown = f" It is not known if {few(sent)} was applied: check it." if sent else ""
    return f"{said}{stays}.{unknown}"
