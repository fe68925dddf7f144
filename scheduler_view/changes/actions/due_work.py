"""Due work, derived from Postgres: plans, applying, ends of loans, expired plans.

A change set with an unexpected error reports it and ends; it does not block those after it, and it
does not stay in progress without end.
"""

from datetime import datetime, timedelta

import structlog
from django.db.models import F, Q

from accounting.kit.audit import SYSTEM, act
from scheduler_view.changes.actions.apply import Now, apply
from scheduler_view.changes.actions.apply_lease import PLAN_EXPIRED, due
from scheduler_view.changes.actions.for_person import applying
from scheduler_view.changes.actions.internal_error import internal_error_message
from scheduler_view.changes.actions.quota_loans import approve_return, end_loans, ended
from scheduler_view.changes.actions.store_plan import plan
from scheduler_view.changes.models import ChangeSet, ChangeState
from scheduler_view.clusters.tasks.cluster_connection import Connect, connect_to

PLAN_PATIENCE = timedelta(hours=1)  # then a missing plan is reported
_READY = (ChangeState.APPROVED, ChangeState.SCHEDULED)
log = structlog.get_logger(__name__)


def work(cluster_id: int, *, now: Now, connect: Connect = connect_to) -> int:
    """Plan and apply due change sets of one cluster; returns their number."""
    end_loans(cluster_id, now())
    expire(cluster_id, now())
    give_up_plans(cluster_id, now())
    count = 0
    drafts = ChangeSet.objects.filter(_to_plan(now()), cluster_id=cluster_id).order_by(
        "plan_wanted_at"
    )
    for change_set in drafts.select_related("cluster"):
        count += plan(change_set, at=now(), connect=connect)
        approve_return(change_set, now())
    waiting = ChangeSet.objects.filter(due(now()), cluster_id=cluster_id)
    for change_set in waiting.select_related("cluster").order_by("pk"):
        count += _apply(change_set, now, connect)
    return count


def clusters_with_work(at: datetime) -> list[int]:
    """Clusters whose change sets need a worker."""
    wanting = ChangeSet.objects.filter(_to_plan(at))
    old = ChangeSet.objects.filter(
        state__in=(ChangeState.PLANNED, ChangeState.APPROVED), plan_expires_at__lte=at
    )
    found: set[int] = set()
    for rows in (wanting, ChangeSet.objects.filter(due(at)), ended(at), old):
        found |= set(rows.values_list("cluster_id", flat=True).order_by())
    return sorted(found)


def expire(cluster_id: int, at: datetime) -> int:
    """Expire old plans; change sets with a later start are checked when they start."""
    rows = ChangeSet.objects.filter(
        cluster_id=cluster_id,
        state__in=(ChangeState.PLANNED, ChangeState.APPROVED),
        plan_expires_at__lte=at,
        apply_wanted_at__isnull=True,
    )
    with act(SYSTEM, "a plan is valid for ten minutes"):
        return rows.update(
            state=ChangeState.EXPIRED,
            error=PLAN_EXPIRED,
            version=F("version") + 1,
        )


def give_up_plans(cluster_id: int, at: datetime) -> int:
    """Report that a plan which no worker has completed for an hour will not be computed.

    Otherwise a plan whose worker is killed each time would be started without end.
    """
    rows = ChangeSet.objects.filter(
        cluster_id=cluster_id,
        state=ChangeState.DRAFT,
        plan_wanted_at__lte=at - PLAN_PATIENCE,
        undoes__ends_at__isnull=True,  # the return of a loan is retried
    )
    with act(SYSTEM, "no worker finished the plan within an hour"):
        return rows.update(
            plan_wanted_at=None,
            retry_at=None,
            error="no worker finished this plan within an hour: plan again, and check the "
            "workers' log if it happens again",
            version=F("version") + 1,
        )


def _to_plan(at: datetime) -> Q:
    """Drafts with a requested plan that can be planned now."""
    not_resting = Q(retry_at__isnull=True) | Q(retry_at__lte=at)
    return not_resting & Q(state=ChangeState.DRAFT, plan_wanted_at__isnull=False)


def _apply(change_set: ChangeSet, now: Now, connect: Connect) -> bool:
    """Apply it, or refuse it if it cannot be started."""
    try:
        return apply(change_set, now=now, connect=connect)
    except Exception as error:
        log.exception("cannot begin", change_set=change_set.pk)
        with applying(change_set, f"{change_set} could not start"):
            done = ChangeSet.objects.filter(pk=change_set.pk, state__in=_READY).update(
                state=ChangeState.REFUSED,
                error=internal_error_message("begin this", error),
                version=F("version") + 1,
            )
        return bool(done)
