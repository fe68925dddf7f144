"""Drafts of changes that an explanation of waiting work proposes; people review and plan them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.contrib.auth.base_user import AbstractBaseUser
from django.db import transaction

from accounting.kit.locks import lock
from accounting.metering.models.cluster import Cluster
from scheduler_view.changes.actions.change_sets import (
    LONGEST_REASON,
    ChangeRefused,
    create,
)
from scheduler_view.changes.models import ChangeSet
from scheduler_view.changes.rules.edit import Draft, QueueEdit
from scheduler_view.quotas.models import QueueTarget
from scheduler_view.waits.reads.quota_raises import QuotaRaise, asked_already


def draft_queue_value(
    cluster: Cluster,
    change: Mapping[str, Any],
    work: str,
    *,
    actor: AbstractBaseUser,
    at: datetime,
) -> ChangeSet:
    """A draft change set with a larger value of a queue.

    Args:
        change: a `raise_queue_value`.
        work: that waits for it, for the reason.

    Raises:
        ChangeRefused: its value is not known.
        EditsRefused, LostUpdate: see `change_sets.create`.
    """
    if "to" not in change:
        raise ChangeRefused("the value that would be enough is not known")
    kind, name, field = change["object"], change["queue"], change["field"]
    target = QueueTarget.objects.filter(
        cluster=cluster, kind=kind, name=name, field=field
    ).first()
    version = target.version if target is not None else 0
    edit = QueueEdit(kind, name, field, str(change["to"]), version=version)
    reason = f"{work} waits for the queue {name}"[:LONGEST_REASON]
    return create(cluster=cluster, draft=Draft([edit], reason), actor=actor, at=at)


def draft_quota_raise(
    cluster: Cluster,
    raised: QuotaRaise,
    work: str,
    *,
    actor: AbstractBaseUser,
    at: datetime,
) -> ChangeSet:
    """A draft change set with larger quotas; of a lead it is a request.

    Args:
        work: that waits for them, for the reason.

    Raises:
        ChangeRefused: a change set that is not decided sets as much.
        EditsRefused, LostUpdate: see `change_sets.create`.
    """
    reason = f"{work} waits for it"[:LONGEST_REASON]
    draft = Draft(raised.edits, reason)
    with transaction.atomic():
        lock("quota-raises", cluster.pk)  # the same form, sent twice, is one request
        asked = asked_already(cluster, raised)
        if asked is not None:
            raise ChangeRefused(f"CS-{asked} already sets {raised.text}")
        return create(cluster=cluster, draft=draft, actor=actor, at=at)
