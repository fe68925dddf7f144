"""Stores the desired state when the first object of a change set is applied."""

from collections.abc import Sequence

from django.db import IntegrityError, transaction
from django.utils import timezone

from accounting.access.models.teams import Team
from accounting.metering.models.cluster import Cluster
from accounting.months.actions.team_quotas import record_quotas
from scheduler_view.changes.models import ChangeSet
from scheduler_view.changes.rules.edit import (
    Edit,
    QueueEdit,
    QuotaEdit,
    TierEdit,
    stored_edit,
)
from scheduler_view.changes.tasks.base_versions import (
    LostUpdate,
    lost_updates,
    teams_of,
)
from scheduler_view.quotas.models import QueueTarget, QuotaTarget, Tier
from scheduler_view.quotas.reads.quota_shares import milli_gpus_of


def store(change_set: ChangeSet) -> None:
    """Store the edits as desired state, each only if its base version is current.

    Must be called in a transaction.

    Raises:
        LostUpdate: another person changed one of them; nothing is stored then.
    """
    cluster = change_set.cluster
    edits = [stored_edit(one) for one in change_set.edits]
    splits = change_set.planned_splits
    classes = change_set.plan.get("classes", {})
    named = Team.objects.filter(slug__in=teams_of(edits))
    teams = dict(named.values_list("slug", "pk"))
    lost = lost_updates(cluster, edits)
    if lost:
        raise LostUpdate(lost)
    _free_default(cluster, edits)
    for edit in edits:
        if isinstance(edit, TierEdit):
            done = _store_tier(change_set, edit, classes.get(edit.spec.name, []))
        elif isinstance(edit, QueueEdit):
            done = _store_queue(change_set, edit)
        else:
            split = splits.get(edit.key, {})
            done = _store_quota(change_set, edit, teams[edit.team], split)
        if not done:
            raise LostUpdate(lost_updates(cluster, [edit]) or ["changed meanwhile"])
    record_quotas(cluster, milli_gpus_of(cluster), timezone.now())


def _store_quota(
    change_set: ChangeSet, edit: QuotaEdit, team: int, split: dict[str, int]
) -> int:
    rows = QuotaTarget.objects.filter(
        cluster=change_set.cluster,
        team_id=team,
        resource=edit.resource,
        tier=edit.tier,
        version=edit.version or 0,
    )
    if edit.gpus is None:
        return rows.delete()[0] if edit.version else 1
    columns = {
        "gpus": edit.gpus,
        "rule": edit.split_rule.value,
        "weights": dict(edit.weights),
        "split": split,
        "version": change_set.pk,
    }
    if edit.version:
        return rows.update(**columns)
    return _first(
        QuotaTarget(
            cluster=change_set.cluster,
            team_id=team,
            resource=edit.resource,
            tier=edit.tier,
            **columns,
        )
    )


def _store_tier(change_set: ChangeSet, edit: TierEdit, classes: Sequence[str]) -> int:
    rows = Tier.objects.filter(
        cluster=change_set.cluster, name=edit.spec.name, version=edit.version or 0
    )
    if edit.remove or not classes:
        return rows.delete()[0] if edit.version else 1
    columns = {
        "value": edit.spec.value,
        "preempts": edit.spec.preempts,
        "is_default": edit.spec.is_default,
        "description": edit.spec.description,
        "class_name": classes[0],
        "old_classes": list(classes[1:]),
        "version": change_set.pk,
    }
    if edit.version:
        return rows.update(**columns)
    return _first(Tier(cluster=change_set.cluster, name=edit.spec.name, **columns))


def _store_queue(change_set: ChangeSet, edit: QueueEdit) -> int:
    rows = QueueTarget.objects.filter(
        cluster=change_set.cluster,
        kind=edit.object,
        name=edit.name,
        field=edit.field,
        version=edit.version or 0,
    )
    if edit.release:
        return rows.delete()[0] if edit.version else 1
    columns = {"value": edit.value, "version": change_set.pk}
    if edit.version:
        return rows.update(**columns)
    return _first(
        QueueTarget(
            cluster=change_set.cluster,
            kind=edit.object,
            name=edit.name,
            field=edit.field,
            **columns,
        )
    )


def _first(row: QuotaTarget | Tier | QueueTarget) -> int:
    """1 for a new row; 0 if another transaction created it at the same time."""
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        return 0
    return 1


def _free_default(cluster: Cluster, edits: Sequence[Edit]) -> None:
    """Unset the old default first: the table allows one default at a time."""
    names = [
        edit.spec.name
        for edit in edits
        if isinstance(edit, TierEdit) and not edit.spec.is_default
    ]
    Tier.objects.filter(cluster=cluster, name__in=names, is_default=True).update(
        is_default=False
    )
