"""Loans of quota, which revert automatically at a time."""

from dataclasses import replace
from datetime import datetime

import structlog
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from accounting.kit.audit import SYSTEM, act
from scheduler_view.changes.actions.change_sets import (
    create,
)
from scheduler_view.changes.actions.internal_error import internal_error_message
from scheduler_view.changes.models import ChangeSet, ChangeState
from scheduler_view.changes.rules.edit import Draft, Edit, stored_edit
from scheduler_view.changes.tasks.base_versions import versions_of

LENT = (ChangeState.APPLIED, ChangeState.PARTLY_APPLIED)
_UNDER_WAY = (
    ChangeState.APPROVED,
    ChangeState.SCHEDULED,
    ChangeState.APPLYING,
    ChangeState.APPLIED,
    ChangeState.PARTLY_APPLIED,
)
log = structlog.get_logger(__name__)


def ended(at: datetime) -> QuerySet[ChangeSet]:
    """Loans that have ended and have no return yet.

    An undo that a person created and did not apply returns nothing, so it does not count.
    """
    returns = ChangeSet.objects.filter(undoes=OuterRef("pk")).filter(
        Q(author_name=SYSTEM, made_at__gte=F("undoes__ends_at"))
        | Q(state__in=_UNDER_WAY)
    )
    return ChangeSet.objects.filter(~Exists(returns), state__in=LENT, ends_at__lte=at)


def end_loans(cluster_id: int, at: datetime) -> list[ChangeSet]:
    """Create the returns of loans that have ended.

    If another person has changed the same quota since, a person must decide: the return stays a
    draft that explains this.
    """
    lent = ended(at).filter(cluster_id=cluster_id).select_related("cluster")
    found = [_return(change_set, at) for change_set in lent]
    return [back for back in found if back is not None]


def is_return(change_set: ChangeSet) -> bool:
    """True for a change set that reverts a loan automatically."""
    lent = change_set.undoes
    return (
        lent is not None
        and lent.ends_at is not None
        and change_set.author_name == SYSTEM
        and change_set.made_at >= lent.ends_at
    )


def approve_return(change_set: ChangeSet, at: datetime) -> None:
    """The return of a loan was approved with the loan; a blocked return is refused."""
    lent = change_set.undoes
    if change_set.state != ChangeState.PLANNED or lent is None:
        return
    if not is_return(change_set):
        return
    blocked = change_set.steps.exclude(blocked="").first()
    if blocked is not None:
        _give_up(change_set, f"{blocked}: {blocked.blocked}")
        return
    with act(SYSTEM, change_set.reason):
        ChangeSet.objects.filter(
            pk=change_set.pk, version=change_set.version, state=ChangeState.PLANNED
        ).update(
            state=ChangeState.APPROVED,
            approved_by=lent.approved_by,
            approved_at=at,
            apply_wanted_at=at,
            version=F("version") + 1,
        )


def _give_up(back: ChangeSet, why: str) -> None:
    """Leave the decision to a person, who can still undo the loan."""
    with act(SYSTEM, back.reason):
        ChangeSet.objects.filter(
            pk=back.pk, version=back.version, state=ChangeState.PLANNED
        ).update(
            state=ChangeState.REFUSED,
            error=f"{back.undoes} does not revert automatically: undo it manually. {why}",
            version=F("version") + 1,
        )


def _return(lent: ChangeSet, at: datetime) -> ChangeSet | None:
    """The draft that restores the previous quota; None if not possible, with a reason."""
    try:
        return _draft(lent, at)
    except Exception as error:
        log.exception("loan cannot end", change_set=lent.pk)
        text = internal_error_message("start its return", error)
        if lent.error != text:
            with act(SYSTEM, f"the loan {lent} cannot end"):
                ChangeSet.objects.filter(pk=lent.pk, version=lent.version).update(
                    error=text, version=F("version") + 1
                )
        return None


def _draft(lent: ChangeSet, at: datetime) -> ChangeSet:
    edits = [stored_edit(one) for one in lent.reverse]
    changed = _changed_since(lent, edits)
    back = create(
        cluster=lent.cluster,
        draft=Draft([replace(e, version=None) for e in edits], f"the loan {lent} ends"),
        actor=SYSTEM,
        at=at,
        undoes=lent,
    )
    log.info("loan ends", change_set=lent.pk, by=back.pk, changed=bool(changed))
    columns = {"error": changed} if changed else {"plan_wanted_at": at}
    with act(SYSTEM, back.reason):
        ChangeSet.objects.filter(pk=back.pk).update(**columns)
    return back


def _changed_since(lent: ChangeSet, edits: list[Edit]) -> str:
    versions = versions_of(lent.cluster, edits)
    others = sorted(
        {
            version
            for edit in edits
            if (version := versions.get(edit.key, 0)) not in (0, lent.pk)
        }
    )
    if not others:
        return ""
    names = ", ".join(f"CS-{number}" for number in others)
    return f"{names} changed the same objects since: plan the revert manually"
