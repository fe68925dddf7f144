"""Change sets that are not applied: discarded by their author, or declined by another person."""

from datetime import datetime

from django.core.exceptions import ValidationError

from accounting.audit import Actor, act
from scheduler_view.actions.change_sets import (
    OPEN,
    READY,
    ChangeRefused,
    move,
    name_of,
    reason_fault,
)
from scheduler_view.models import ChangeSet, ChangeState

NOT_BEGUN = (*OPEN, *READY, ChangeState.EXPIRED)


def discard(
    change_set: ChangeSet, *, version: int, actor: Actor, reason: str, at: datetime
) -> ChangeSet:
    """Discard one's own change set that was not applied; it stays in the list.

    Raises:
        ChangedMeanwhile: the version is not the current one.
        ChangeRefused: another person created it, or it was applied or ended.
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
        ChangeRefused: it is one's own, or it was applied or ended.
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
    with act(actor, reason):
        move(
            change_set,
            version,
            NOT_BEGUN,
            state=state,
            plan_wanted_at=None,
            retry_at=None,
            error="",
            ended_by=name_of(actor),
            ended_at=at,
            ended_reason=reason,
        )
