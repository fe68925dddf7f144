"""Change sets: create, edit, request a plan, approve, schedule, request to apply, undo.

Nothing here calls a cluster: workers find requested work in Postgres. Each change of state is one
conditional update on the version that the person saw; of two, one succeeds (I15).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import F

from accounting.core.written_text import hidden_fault
from accounting.kit.audit import Actor, act
from accounting.kit.wakeup import wake_worker
from accounting.metering.models.cluster import Cluster
from scheduler_view.changes.models import CAME_TO_NOTHING, ChangeSet, ChangeState
from scheduler_view.changes.reads.drafts import editors
from scheduler_view.changes.rules.approval import (
    Approval,
    expiry_message,
    is_expired,
    refusal_of_approval,
)
from scheduler_view.changes.rules.edit import (
    Draft,
    Edit,
    QuotaEdit,
    edit_fields,
    stored_edit,
)
from scheduler_view.changes.tasks.base_versions import with_versions

# named, because its module imports the Kubernetes client
WORK = "scheduler_view.tasks.work"
LONGEST_WAIT = timedelta(days=366)  # a later start is probably a mistake
SHORTEST_REASON, LONGEST_REASON = 10, 200
OPEN = (ChangeState.DRAFT, ChangeState.PLANNED)
READY = (ChangeState.APPROVED, ChangeState.SCHEDULED)
ENDED = (
    ChangeState.APPLIED,
    ChangeState.PARTLY_APPLIED,
    ChangeState.REFUSED,
    ChangeState.EXPIRED,
    ChangeState.UNDONE,
    ChangeState.DECLINED,
    ChangeState.DISCARDED,
)


class ChangeRefused(Exception):
    """It cannot be done now; the message explains why and what to do."""


class ChangedMeanwhile(ChangeRefused):
    """Another person changed the change set since it was read: read it again."""


def create(
    *,
    cluster: Cluster,
    draft: Draft,
    actor: Actor,
    at: datetime,
    undoes: ChangeSet | None = None,
) -> ChangeSet:
    """Create a change set.

    Raises:
        EditsRefused, LostUpdate: see `base_versions.with_versions`.
        ValidationError: the reason or the times are not valid.
    """
    check_draft(draft, at)
    with act(actor, draft.reason):
        change_set = ChangeSet(
            cluster=cluster,
            author_id=None if isinstance(actor, str) else actor.pk,
            author_name=name_of(actor),
            undoes=undoes,
            made_at=at,
            **_columns(cluster, draft),
        )
        change_set.save()
    return change_set


def edit(
    change_set: ChangeSet, *, draft: Draft, version: int, actor: Actor, at: datetime
) -> ChangeSet:
    """Replace the edits; an existing plan is discarded.

    Raises:
        ChangedMeanwhile: the version is not the current one.
        ChangeRefused: it is already approved or ended.
    """
    check_draft(draft, at)
    with act(actor, draft.reason):
        columns = _columns(change_set.cluster, draft)
        move(
            change_set,
            version,
            OPEN,
            state=ChangeState.DRAFT,
            plan={},
            error="",
            planned_at=None,
            plan_expires_at=None,
            plan_wanted_at=None,
            retry_at=None,
            **columns,
        )
    return change_set


def request_plan(
    change_set: ChangeSet, *, version: int, actor: Actor, at: datetime
) -> ChangeSet:
    """Request a plan; a worker computes it."""
    with act(actor, f"plan {change_set}"):
        move(
            change_set,
            version,
            (*OPEN, ChangeState.APPROVED, ChangeState.EXPIRED),
            state=ChangeState.DRAFT,
            plan_wanted_at=at,
            plan_wanted_by=name_of(actor),
            retry_at=None,
            approved_by="",
            approved_at=None,
            error="",
        )
    return change_set


def approve(
    change_set: ChangeSet, *, version: int, actor: Actor, at: datetime
) -> ChangeSet:
    """Approve a plan; above the cluster's limit by another person than the author.

    Raises:
        ChangeRefused: not planned, expired, blocked, or by its author if a second approval
            is needed.
    """
    name = name_of(actor)
    refused = refusal_of_approval(
        _approval(change_set), name, lambda: editors(change_set.pk), at
    )
    if refused:
        raise ChangeRefused(refused)
    later = change_set.starts_at is not None and change_set.starts_at > at
    with act(actor, f"approve {change_set}"):
        move(
            change_set,
            version,
            (ChangeState.PLANNED,),
            state=ChangeState.SCHEDULED if later else ChangeState.APPROVED,
            approved_by=name,
            approved_at=at,
        )
    return change_set


def request_apply(
    change_set: ChangeSet, *, version: int, actor: Actor, at: datetime
) -> ChangeSet:
    """Request that an approved change set is applied; a worker does it.

    Raises:
        ChangeRefused: not approved, or its plan has expired.
    """
    if change_set.state == ChangeState.SCHEDULED:
        raise ChangeRefused(
            f"{change_set} starts automatically at {change_set.starts_at}"
        )
    if change_set.state == ChangeState.APPROVED:
        _check_fresh(change_set, at)
    with act(actor, f"apply {change_set}"):
        move(
            change_set,
            version,
            (ChangeState.APPROVED,),
            apply_wanted_at=at,
            apply_wanted_by=name_of(actor),
        )
    return change_set


def undo(
    change_set: ChangeSet,
    *,
    actor: Actor,
    reason: str,
    at: datetime,
    forced: Sequence[str] = (),
) -> ChangeSet:
    """A new draft that restores the previous state.

    Args:
        change_set: applied.
        actor: its author.
        reason: for the audit log.
        at: the current time.
        forced: objects that others changed since, and that are set anyway.

    Raises:
        ChangeRefused: it was not applied, or its undo is in progress or done.
    """
    if change_set.state not in (ChangeState.APPLIED, ChangeState.PARTLY_APPLIED):
        raise ChangeRefused(
            f"{change_set} is {change_set.get_state_display()}: nothing to undo"
        )
    under_way = change_set.undos.exclude(state__in=CAME_TO_NOTHING).first()
    if under_way is not None:
        raise ChangeRefused(f"{under_way} already undoes {change_set}")
    edits = [replace(stored_edit(one), version=None) for one in change_set.reverse]
    draft = Draft(edits, reason, forced)
    return create(
        cluster=change_set.cluster, draft=draft, actor=actor, at=at, undoes=change_set
    )


def again(
    change_set: ChangeSet, *, actor: Actor, reason: str, at: datetime
) -> ChangeSet:
    """A new draft with the same edits: applied objects do not change.

    Raises:
        ChangeRefused: it has not ended, or was undone.
    """
    if change_set.state not in ENDED or change_set.state == ChangeState.UNDONE:
        raise ChangeRefused(f"{change_set} is {change_set.get_state_display()}")
    edits = [replace(stored_edit(one), version=None) for one in change_set.edits]
    if change_set.state == ChangeState.PARTLY_APPLIED:
        splits = change_set.planned_splits
        edits = [_as_planned(one, splits) for one in edits]
    draft = Draft(edits, reason, tuple(change_set.forced), None, change_set.ends_at)
    return create(cluster=change_set.cluster, draft=draft, actor=actor, at=at)


def _as_planned(one: Edit, splits: Mapping[tuple[str, ...], Mapping[str, int]]) -> Edit:
    """With the division of the plan, a part of which is applied: it is kept."""
    if isinstance(one, QuotaEdit) and one.gpus is not None:
        return replace(one, split=splits.get(one.key, one.split))
    return one


def wake_for_cluster(cluster_id: int) -> None:
    """Wake a worker for a cluster's change sets when this transaction has committed.

    Without Redis, beat finds the work within 10 seconds.
    """
    wake_worker(WORK, cluster_id)


def move(
    change_set: ChangeSet, version: int, states: Iterable[str], **columns: Any
) -> None:
    """One conditional update; also updates the given row.

    Raises:
        ChangedMeanwhile: the version is not the current one.
        ChangeRefused: the state does not allow it.
    """
    allowed = tuple(states)
    done = ChangeSet.objects.filter(
        pk=change_set.pk, version=version, state__in=allowed
    ).update(version=F("version") + 1, **columns)
    change_set.refresh_from_db()
    if done:
        return
    if change_set.version != version:
        raise ChangedMeanwhile(
            f"{change_set} was changed since you read it (version {version}; it is "
            f"{change_set.version} now): read it again"
        )
    raise ChangeRefused(
        f"{change_set} is {change_set.get_state_display()}; this needs "
        f"{' or '.join(ChangeState(one).label for one in allowed)}"
    )


def check_draft(draft: Draft, at: datetime) -> None:
    """Check the parts that need no database.

    Raises:
        ValidationError: by field.
    """
    faults: dict[str, str] = {}
    if fault := reason_fault(draft.reason):
        faults["reason"] = fault
    for name in ("starts_at", "ends_at"):
        value = getattr(draft, name)
        if value is not None and not at < value < at + LONGEST_WAIT:
            faults[name] = "is in the past or more than one year ahead"
    if draft.ends_at and draft.starts_at and draft.ends_at <= draft.starts_at:
        faults["ends_at"] = "is not after starts_at"
    if faults:
        raise ValidationError(faults)


def reason_fault(given: str) -> str:
    """The fault of a reason; empty if it is valid."""
    reason = given.strip()
    if fault := hidden_fault(reason):
        return f"'reason' {fault}"
    if SHORTEST_REASON <= len(reason) <= LONGEST_REASON:
        return ""
    return f"'reason' must have {SHORTEST_REASON} to {LONGEST_REASON} characters"


def name_of(actor: Actor) -> str:
    """The name that is recorded."""
    return actor if isinstance(actor, str) else actor.get_username()


def _columns(cluster: Cluster, draft: Draft) -> dict[str, Any]:
    edits = with_versions(cluster, draft.edits)
    return {
        "edits": [edit_fields(one) for one in edits],
        "reason": draft.reason.strip(),
        "forced": list(draft.forced),
        "starts_at": draft.starts_at,
        "ends_at": draft.ends_at,
    }


def _approval(change_set: ChangeSet) -> Approval:
    return Approval(
        name=str(change_set),
        cluster=str(change_set.cluster),
        state=change_set.get_state_display(),
        is_planned=change_set.state == ChangeState.PLANNED,
        expires_at=change_set.plan_expires_at,
        blocked=tuple(
            f"{step}: {step.blocked}" for step in change_set.steps.all() if step.blocked
        ),
        needs_second=change_set.needs_second,
        author=change_set.author_name,
    )


def _check_fresh(change_set: ChangeSet, at: datetime) -> None:
    expires = change_set.plan_expires_at
    if is_expired(expires, at):
        raise ChangeRefused(expiry_message(str(change_set), expires))
