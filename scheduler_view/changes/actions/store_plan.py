"""Computes the plan of a change set and stores it."""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.db.models import F

from accounting.kit.audit import SYSTEM, act
from accounting.kit.failpoints import reach
from accounting.metering.models.cluster import Cluster
from accounting.metering.reads.resources import added_names
from scheduler_view.changes.actions.for_person import planning
from scheduler_view.changes.actions.internal_error import internal_error_message
from scheduler_view.changes.actions.quota_loans import is_return
from scheduler_view.changes.mapping import draft_of, step_row
from scheduler_view.changes.models import ChangeSet, ChangeState, ChangeStep
from scheduler_view.changes.rules.edit import (
    EditsRefused,
    QueueEdit,
    QuotaEdit,
    TierEdit,
    edit_fields,
)
from scheduler_view.changes.tasks.base_versions import lost_updates
from scheduler_view.changes.tasks.formers import formers_of
from scheduler_view.changes.tasks.plan_text import plan_text_of
from scheduler_view.changes.tasks.planner import Computed, compute
from scheduler_view.clusters.client.access import AccessRole
from scheduler_view.clusters.client.errors import ClusterError
from scheduler_view.clusters.rules.object_key import ObjectKey
from scheduler_view.clusters.rules.quota_key import resource_of
from scheduler_view.clusters.rules.schedulers import QUEUE_FIELDS
from scheduler_view.clusters.rules.schedulers.queue_fields import number_of
from scheduler_view.clusters.tasks.cluster_connection import Connect, connect_to

LIMIT_KEY = "second_approver_above"  # of a cluster's `kubernetes` settings, in GPUs
PLAN_VALID = timedelta(minutes=10)  # docs/quotas.md
RETURN_PAUSE = timedelta(minutes=1)  # before a loan's return is planned again
log = structlog.get_logger(__name__)


def plan(change_set: ChangeSet, *, at: datetime, connect: Connect = connect_to) -> bool:
    """Plan a draft with a requested plan; False if it was changed in the meantime.

    If it cannot be planned, `error` has the reason, with the server's message if there is one.
    """
    version = change_set.version
    try:
        return _plan(change_set, version, at, connect)
    except Exception as error:  # an internal error is reported, not retried without end
        log.exception("cannot plan", change_set=change_set.pk)
        return _fail(change_set, version, internal_error_message("plan this", error))


def _plan(change_set: ChangeSet, version: int, at: datetime, connect: Connect) -> bool:
    cluster = change_set.cluster
    draft = draft_of(change_set)
    lost = lost_updates(cluster, draft.edits)
    if lost:
        return _fail(change_set, version, "; ".join(lost))
    formers = formers_of(cluster, draft.edits, change_set.undoes)
    try:
        with (
            connect(cluster, AccessRole.READER) as reader,
            connect(cluster, AccessRole.PUSHER) as pusher,
        ):
            found = compute(
                cluster=cluster,
                draft=draft,
                formers=formers,
                reader=reader,
                pusher=pusher,
                at=at,
            )
    except EditsRefused as error:
        return _fail(change_set, version, str(error))
    except ClusterError as error:
        text = f"{cluster} cannot be read: {error.message}"
        if error.is_temporary and is_return(change_set):
            return _later(change_set, version, text, at)
        return _fail(change_set, version, text)
    reach("plan_tried")
    silent = [step for step in found.steps if step.is_temporary]
    if silent and is_return(change_set):
        text = f"{cluster} does not respond: {silent[0].message}"
        return _later(change_set, version, text, at)
    log.info("planned", change_set=change_set.pk, steps=len(found.steps))
    return _keep(change_set, version, found, at)


def needs_second(cluster: Cluster, found: Computed) -> bool:
    """True if the change is above the cluster's limit for one administrator."""
    limit = cluster.kubernetes.get(LIMIT_KEY)
    if limit is None:
        return False
    moved = 0
    for one in found.edits:
        if isinstance(one, TierEdit):
            return True
        if isinstance(one, QueueEdit):
            gpus = _gpus_moved(one, found)
            if gpus is None:
                return True
            moved += gpus
            continue
        before = found.desired.before.targets.get(one.key)
        moved += _moved(one, before.gpus if before else None)
    return moved > int(limit)


def _gpus_moved(one: QueueEdit, found: Computed) -> int | None:
    """The difference in GPUs, rounded up; None for a priority, a weight or a removed limit."""
    fields = QUEUE_FIELDS[one.object]
    live = found.queues.live.get(ObjectKey(one.object, "", one.name))
    if live is None:
        return 0
    before, after = fields.value(live, one.field), one.value
    if one.release and fields.is_applied:
        after = None
    numbers = number_of(before or "0"), number_of(after or "0")
    resource = fields.resource(one.field)
    if resource is None or None in numbers or min(numbers) < 0:
        return None
    if resource and resource_of(resource, added_names()) is None:
        return 0  # processors or memory
    moved: int = math.ceil(abs(numbers[1] - numbers[0]))
    return moved


def _moved(one: QuotaEdit, before: int | None) -> int:
    """The difference in GPUs; all present GPUs if a limit is added or removed."""
    return abs((one.gpus or 0) - (before or 0))


def _fail(change_set: ChangeSet, version: int, why: str) -> bool:
    with planning(change_set, f"cannot plan {change_set}"):
        done = ChangeSet.objects.filter(pk=change_set.pk, version=version).update(
            version=F("version") + 1, error=why, plan_wanted_at=None, retry_at=None
        )
    change_set.refresh_from_db()
    return bool(done)


def _later(change_set: ChangeSet, version: int, why: str, at: datetime) -> bool:
    """Nobody requests the plan of a loan's return again, so it waits for the cluster."""
    with act(SYSTEM, f"cannot plan {change_set} yet"):
        done = ChangeSet.objects.filter(pk=change_set.pk, version=version).update(
            version=F("version") + 1, error=why, retry_at=at + RETURN_PAUSE
        )
    change_set.refresh_from_db()
    return bool(done)


def _keep(change_set: ChangeSet, version: int, found: Computed, at: datetime) -> bool:
    text = plan_text_of(change_set.cluster, found, at) | _resolved(found)
    rows = _rows(change_set, found)
    with planning(change_set, change_set.reason):
        done = ChangeSet.objects.filter(
            pk=change_set.pk, version=version, state=ChangeState.DRAFT
        ).update(
            version=F("version") + 1,
            state=ChangeState.PLANNED,
            plan=text,
            error="",
            plan_wanted_at=None,
            retry_at=None,
            planned_at=at,
            plan_expires_at=at + PLAN_VALID,
            needs_second=needs_second(change_set.cluster, found),
            reverse=[edit_fields(one) for one in found.desired.reverse],
        )
        if done:
            change_set.steps.all().delete()
            ChangeStep.objects.bulk_create(rows)
    change_set.refresh_from_db()
    return bool(done)


def _resolved(found: Computed) -> dict[str, Any]:
    """The result of the edits: the division of each quota, the classes of each tier."""
    after = found.desired.after
    keys = [one.key for one in found.edits if isinstance(one, QuotaEdit)]
    names = [one.spec.name for one in found.edits if isinstance(one, TierEdit)]
    return {
        "splits": [
            [*key, dict(after.targets[key].split)]
            for key in keys
            if key in after.targets
        ],
        "classes": {n: list(after.tiers[n].classes) for n in names if n in after.tiers},
    }


def _rows(change_set: ChangeSet, found: Computed) -> Sequence[ChangeStep]:
    rows = []
    for position, step in enumerate(found.steps):
        row = step_row(step)
        row.change_set, row.position = change_set, position
        rows.append(row)
    return rows
