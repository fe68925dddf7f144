"""What is due now, derived from Postgres: plans, applies, ends of loans, old plans."""

from dataclasses import replace
from datetime import datetime, timedelta

import structlog
from django.db.models import F

from accounting.audit import SYSTEM, act
from scheduler_view.actions.apply import Now, apply
from scheduler_view.actions.change_sets import Draft, create
from scheduler_view.actions.claims import due
from scheduler_view.actions.plans import Connect, connect_to, plan
from scheduler_view.actions.wish import versions_of
from scheduler_view.domain.edit import Edit, stored_edit
from scheduler_view.models import ChangeSet, ChangeState, IdempotencyKey

KEY_KEPT = timedelta(days=1)
log = structlog.get_logger(__name__)


def work(cluster_id: int, *, now: Now, connect: Connect = connect_to) -> int:
    """Plan and apply what is due of one cluster; returns how many were touched."""
    end_loans(cluster_id, now())
    expire(cluster_id, now())
    count = 0
    drafts = ChangeSet.objects.filter(
        cluster_id=cluster_id,
        state=ChangeState.DRAFT,
        plan_wanted_at__isnull=False,
    ).order_by("plan_wanted_at")
    for change_set in drafts.select_related("cluster"):
        count += plan(change_set, at=now(), connect=connect)
        approve_return(change_set, now())
    waiting = ChangeSet.objects.filter(due(now()), cluster_id=cluster_id)
    for change_set in waiting.select_related("cluster").order_by("pk"):
        count += apply(change_set, now=now, connect=connect)
    return count


def clusters_with_work(at: datetime) -> list[int]:
    """Clusters whose change sets need a worker."""
    wanting = ChangeSet.objects.filter(
        state=ChangeState.DRAFT, plan_wanted_at__isnull=False
    )
    ending = ChangeSet.objects.filter(
        state=ChangeState.APPLIED, ends_at__lte=at, undos__isnull=True
    )
    old = ChangeSet.objects.filter(
        state__in=(ChangeState.PLANNED, ChangeState.APPROVED), plan_expires_at__lte=at
    )
    found: set[int] = set()
    for rows in (wanting, ChangeSet.objects.filter(due(at)), ending, old):
        found |= set(rows.values_list("cluster_id", flat=True).order_by())
    return sorted(found)


def expire(cluster_id: int, at: datetime) -> int:
    """Let plans that grew old expire; those that begin later are checked when they begin."""
    rows = ChangeSet.objects.filter(
        cluster_id=cluster_id,
        state__in=(ChangeState.PLANNED, ChangeState.APPROVED),
        plan_expires_at__lte=at,
        apply_wanted_at__isnull=True,
    )
    with act(SYSTEM, "a plan is valid for ten minutes"):
        return rows.update(
            state=ChangeState.EXPIRED,
            error="its plan had grown old: plan again",
            version=F("version") + 1,
        )


def end_loans(cluster_id: int, at: datetime) -> list[ChangeSet]:
    """Begin the return of what was lent until now.

    Where somebody has changed the same quota since, a person decides: the return stays a
    draft that says so.
    """
    lent = ChangeSet.objects.filter(
        cluster_id=cluster_id,
        state=ChangeState.APPLIED,
        ends_at__lte=at,
        undos__isnull=True,
    ).select_related("cluster")
    return [_return(change_set, at) for change_set in lent]


def approve_return(change_set: ChangeSet, at: datetime) -> None:
    """The return of a loan was agreed to with the loan; one that is blocked waits."""
    is_return = change_set.author_name == SYSTEM and change_set.undoes_id is not None
    if not is_return or change_set.state != ChangeState.PLANNED:
        return
    if change_set.steps.exclude(blocked="").exists() or change_set.undoes is None:
        return
    with act(SYSTEM, change_set.reason):
        ChangeSet.objects.filter(
            pk=change_set.pk, version=change_set.version, state=ChangeState.PLANNED
        ).update(
            state=ChangeState.APPROVED,
            approved_by=change_set.undoes.approved_by,
            approved_at=at,
            apply_wanted_at=at,
            version=F("version") + 1,
        )


def forget_keys(at: datetime) -> int:
    """Drop idempotency keys that nobody will send again."""
    return IdempotencyKey.objects.filter(made_at__lt=at - KEY_KEPT).delete()[0]


def _return(lent: ChangeSet, at: datetime) -> ChangeSet:
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
    return f"{names} changed the same since the loan: plan the return yourself"
