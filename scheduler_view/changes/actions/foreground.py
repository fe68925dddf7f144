"""A change made at once by a command: the steps that pages and workers do."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from accounting.kit.audit import Actor
from accounting.metering.models.cluster import Cluster
from scheduler_view.changes.actions.apply import PATIENCE, Now, apply
from scheduler_view.changes.actions.change_sets import (
    ChangeRefused,
    approve,
    create,
    request_apply,
    request_plan,
    undo,
)
from scheduler_view.changes.actions.ending import discard
from scheduler_view.changes.actions.joining import join
from scheduler_view.changes.actions.store_plan import plan
from scheduler_view.changes.models import ChangeSet, ChangeState
from scheduler_view.changes.rules.edit import Draft, Edit, same_request, stored_edit
from scheduler_view.changes.rules.steps import is_empty
from scheduler_view.changes.tasks.base_versions import with_versions
from scheduler_view.changes.tasks.formers import formers_of
from scheduler_view.changes.tasks.planner import Computed, compute
from scheduler_view.clusters.client.access import AccessRole
from scheduler_view.clusters.tasks.cluster_connection import Connect, connect_to

LONGEST_PAUSE_S = 10.0  # between two attempts
Say = Callable[[str], None]


def compute_plan(
    *, cluster: Cluster, draft: Draft, now: Now, connect: Connect = connect_to
) -> Computed:
    """The plan of a draft, without storing anything.

    Raises:
        EditsRefused, LostUpdate, ClusterError: it cannot be planned.
    """
    edits = with_versions(cluster, draft.edits)
    with (
        connect(cluster, AccessRole.READER) as reader,
        connect(cluster, AccessRole.PUSHER) as pusher,
    ):
        return compute(
            cluster=cluster,
            draft=replace(draft, edits=edits),
            formers=formers_of(cluster, edits),
            reader=reader,
            pusher=pusher,
            at=now(),
        )


def changes_nothing(found: Computed) -> bool:
    """True if neither the cluster nor the desired state would change."""
    return is_empty(found.steps) and found.desired.before == found.desired.after


def make(
    *, cluster: Cluster, draft: Draft, actor: Actor, now: Now, say: Say
) -> ChangeSet:
    """Create, plan, approve, apply; stops if another person is needed."""
    change_set = create(cluster=cluster, draft=draft, actor=actor, at=now())
    return carry_out(change_set, actor=actor, now=now, say=say)


def join_to(
    change_set: ChangeSet, *, draft: Draft, actor: Actor, now: Now
) -> list[Edit]:
    """Add edits to an open change set and plan it again; returns the replaced edits.

    It keeps its own reason.
    """
    replaced = join(
        change_set,
        edits=draft.edits,
        version=change_set.version,
        actor=actor,
        at=now(),
    )
    request_plan(change_set, version=change_set.version, actor=actor, at=now())
    plan(change_set, at=now())
    return replaced


def take_back(
    change_set: ChangeSet,
    *,
    actor: Actor,
    now: Now,
    say: Say,
    forced: Sequence[str] = (),
) -> ChangeSet:
    """Undo an applied change set at once.

    Args:
        change_set: applied.
        actor: who undoes it.
        now: the clock.
        say: called with what happens.
        forced: objects that others changed since, and that are set anyway.

    Raises:
        ChangeRefused: others changed an object since; the undo is discarded, so that it can be
            repeated with this object in `forced`.
    """
    reason = f"undo {change_set}: {change_set.reason}"[:200]
    back = undo(change_set, actor=actor, reason=reason, at=now(), forced=forced)
    try:
        return carry_out(back, actor=actor, now=now, say=say)
    except ChangeRefused:
        if back.steps.exclude(blocked="").exists():
            text = f"{back} cannot be applied"
            discard(back, version=back.version, actor=actor, reason=text, at=now())
        raise


def carry_out(change_set: ChangeSet, *, actor: Actor, now: Now, say: Say) -> ChangeSet:
    """Plan, approve and apply a draft; its state shows the result.

    Raises:
        ChangeRefused: blocked, or a second admin must approve it.
    """
    request_plan(change_set, version=change_set.version, actor=actor, at=now())
    plan(change_set, at=now())
    if change_set.state != ChangeState.PLANNED:
        return change_set
    say(f"{change_set}: {change_set.plan['summary']}")
    approve(change_set, version=change_set.version, actor=actor, at=now())
    if change_set.state == ChangeState.SCHEDULED:
        return change_set
    request_apply(change_set, version=change_set.version, actor=actor, at=now())
    apply(change_set, now=now)
    until = now() + PATIENCE  # then a worker goes on
    while (
        change_set.state in (ChangeState.APPROVED, ChangeState.APPLYING)
        and now() < until
    ):
        say(f"{change_set} waits: {change_set.error or 'the cluster is being changed'}")
        rest_s = 1.0
        if change_set.retry_at is not None:
            rest_s = max(0.1, (change_set.retry_at - now()).total_seconds())
        time.sleep(min(rest_s, LONGEST_PAUSE_S))
        apply(change_set, now=now)
    return change_set


def made_from(cluster: Cluster, draft: Draft) -> ChangeSet | None:
    """The latest applied change set with the same edits; None without one."""
    rows = ChangeSet.objects.filter(
        cluster=cluster, state__in=(ChangeState.APPLIED, ChangeState.PARTLY_APPLIED)
    ).order_by("-pk")
    for row in rows:
        if same_request([stored_edit(one) for one in row.edits], draft.edits):
            return row
    return None
