"""Decisions about recommendations: accept, dismiss with a reason, done, open again."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from accounting.access.scope import Scope
from accounting.kit.audit import act
from accounting.kit.locks import lock
from accounting.kit.outcomes import Refused
from accounting.metering.models.cluster import Cluster
from accounting.notifications.actions import ask
from accounting.notifications.rules import Delivery
from scheduler_view.changes.actions.change_sets import create
from scheduler_view.changes.models import ChangeSet
from scheduler_view.changes.rules.edit import Draft, QuotaEdit
from scheduler_view.savings.models import RecommendationDecision, RecommendationState
from scheduler_view.savings.reads.recommendation_row import RecommendationRow
from scheduler_view.savings.reads.recommendations import RESOURCE

SHORTEST, LONGEST = 10, 200  # of a reason


def may_decide(scope: Scope, row: RecommendationRow) -> bool:
    """Leads decide about work of their teams, administrators about all."""
    return scope.is_admin or row.subject[2] in scope.lead_of


def decide(
    row: RecommendationRow,
    state: str,
    *,
    reason: str,
    actor: AbstractBaseUser,
    at: datetime,
) -> None:
    """Store a decision; its author becomes the owner. `open` removes it.

    Raises:
        Refused: the state is unknown, or a dismissal has no reason.
    """
    if state not in RecommendationState.values:
        raise Refused(f"{state!r} is not a state of a recommendation")
    text = reason.strip()
    needs = state == RecommendationState.DISMISSED
    if len(text) > LONGEST or (needs and len(text) < SHORTEST):
        raise Refused(f"enter a reason of {SHORTEST} to {LONGEST} characters")
    known = _known(row)
    with act(actor, text or f"Recommendation {state}"):
        if state == RecommendationState.OPEN:
            RecommendationDecision.objects.filter(**known).delete()
            return
        before = RecommendationDecision.objects.filter(**known).first()
        # what it was before people acted: "done" after "accepted" keeps the first amount
        raw = before.raw_per_day if before and before.raw_per_day else row.raw_per_day
        RecommendationDecision.objects.update_or_create(
            **known,
            defaults={
                "state": state,
                "reason": text,
                "owner_id": actor.pk,
                "decided_at": at,
                "raw_per_day": raw,
            },
        )


def ask_owner(
    rows: Sequence[RecommendationRow],
    to: str,
    subject: str,
    text: str,
    *,
    actor: AbstractBaseUser,
    at: datetime,
) -> Delivery:
    """Accept recommendations, with a note of who was asked, and send the message.

    Args:
        rows: at least one.
        to: a person by name or address, or another address.

    Returns what becomes of the message.

    Raises:
        Refused: one is decided already, or the note would be too long.
    """
    with transaction.atomic():
        for row in rows:
            lock("recommendations", row.subject[3])
        _refuse_decided(rows)
        for row in rows:
            decide(
                row,
                RecommendationState.ACCEPTED,
                reason=f"Asked {to}"[:LONGEST],
                actor=actor,
                at=at,
            )
        key = f"recommendation:{rows[0].token}:{at.isoformat()}"
        return ask(to, subject, text, key=key)


def _refuse_decided(rows: Sequence[RecommendationRow]) -> None:
    """A form that was open for long, or sent twice, replaces no decision."""
    for row in rows:
        known = RecommendationDecision.objects.filter(**_known(row))
        if one := known.select_related("owner").first():
            by = one.owner.get_username() if one.owner else "somebody"
            raise Refused(f"{by} has decided about this: it is {one.state}")


def _known(row: RecommendationRow) -> dict[str, Any]:
    cluster, rule, team, workload, node = row.subject
    return {
        "cluster_id": cluster,
        "rule": rule,
        "team_id": team or None,
        "workload_id": workload or None,
        "node_id": node or None,
    }


def draft_smaller_quota(
    row: RecommendationRow, *, actor: AbstractBaseUser, at: datetime
) -> ChangeSet:
    """A draft change set with the smaller quota; a person reviews and plans it.

    Raises:
        Refused: the recommendation has no smaller quota.
        EditsRefused, LostUpdate: see `change_sets.create`.
    """
    if row.smaller is None:
        raise Refused("this recommendation does not lead to a smaller quota")
    edit = QuotaEdit(
        row.row.team,
        RESOURCE,
        row.smaller,
        version=row.quota_version,
    )
    reason = f"{row.row.workload} left {int(row.gpus)} GPUs idle on average"[:LONGEST]
    cluster = Cluster.objects.get(pk=row.subject[0])
    return create(cluster=cluster, draft=Draft([edit], reason), actor=actor, at=at)
