"""Edits that join an open change set, or leave it: one change set for one purpose.

A change set is open until it is approved. If two edits are for the same object, the later one
applies, and the history keeps the earlier one. Its plan is discarded then.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from accounting.kit.audit import Actor
from scheduler_view.changes.actions.change_sets import (
    OPEN,
    ChangedMeanwhile,
    ChangeRefused,
    edit,
)
from scheduler_view.changes.mapping import draft_of
from scheduler_view.changes.models import ChangeSet
from scheduler_view.changes.rules.edit import (
    MOST_EDITS,
    Edit,
    QueueEdit,
    TierEdit,
    same_request,
    stored_edit,
)
from scheduler_view.clusters.rules.object_key import ObjectKey
from scheduler_view.quotas.models import QuotaTarget, Tier
from scheduler_view.quotas.rules.quota_objects import class_key_of, quota_key_of


def join(
    change_set: ChangeSet,
    *,
    edits: Sequence[Edit],
    version: int,
    actor: Actor,
    at: datetime,
    reason: str = "",
) -> list[Edit]:
    """Merge edits into an open change set; returns the edits that they replace.

    Args:
        change_set: read at `version`.
        edits: validated; their own versions are checked here.
        version: of the change set.
        actor: for the audit log.
        at: the current time.
        reason: replaces its own; empty keeps it.

    Raises:
        ChangedMeanwhile: the version is not the current one.
        ChangeRefused: it is already approved or ended, or is an undo.
        EditsRefused, LostUpdate: see `base_versions.with_versions`.
        ValidationError: the reason is not valid.
    """
    _check_open(change_set, version)
    new = {one.key: one for one in edits}
    before = [stored_edit(one) for one in change_set.edits]
    replaced = [one for one in before if one.key in new]
    # Existing edits keep their position.
    laid = [new.pop(one.key, one) for one in before]
    laid += new.values()
    if len(laid) > MOST_EDITS:
        raise ChangeRefused(
            f"{change_set} would have {len(laid):,} edits, more than {MOST_EDITS:,}: create a "
            "new change set"
        )
    _write(change_set, laid, reason, version, actor, at)
    asked = {one.key: one for one in edits}
    return [one for one in replaced if not same_request([one], [asked[one.key]])]


def leave_out(
    change_set: ChangeSet, *, index: int, version: int, actor: Actor, at: datetime
) -> Edit:
    """Take one edit out of an open change set; returns it.

    Raises:
        ChangedMeanwhile, ChangeRefused: see `join`; also for the only edit, and for one that
            does not exist.
    """
    _check_open(change_set, version)
    edits = [stored_edit(one) for one in change_set.edits]
    if not 0 <= index < len(edits):
        raise ChangeRefused(f"{change_set} has no edit {index + 1}")
    if len(edits) == 1:
        raise ChangeRefused(
            f"it is the only edit of {change_set}: discard the change set instead"
        )
    left = edits.pop(index)
    _write(change_set, edits, "", version, actor, at)
    return left


def leave_out_blocked(
    change_set: ChangeSet, *, version: int, actor: Actor, at: datetime
) -> list[Edit]:
    """Take the edits out whose objects cannot be changed, so that the rest can be applied.

    Raises:
        ChangedMeanwhile, ChangeRefused: see `join`; also if no edit or every edit is one.
    """
    _check_open(change_set, version)
    edits = [stored_edit(one) for one in change_set.edits]
    gone = blocked_edits(change_set)
    if not gone or len(gone) == len(edits):
        which = "every edit" if gone else "no edit"
        raise ChangeRefused(f"{which} of {change_set} has an object that is blocked")
    left = [one for index, one in enumerate(edits) if index not in gone]
    _write(change_set, left, "", version, actor, at)
    return [edits[index] for index in gone]


def blocked_edits(change_set: ChangeSet) -> list[int]:
    """Positions of the edits of which the plan cannot change an object."""
    steps = change_set.steps.exclude(blocked="")
    blocked = {str(step) for step in steps}
    if not blocked:
        return []
    places, classes = _places(change_set), _classes(change_set)

    def objects(edit: Edit) -> list[ObjectKey]:
        if isinstance(edit, QueueEdit):
            return [ObjectKey(edit.object, "", edit.name)]
        if isinstance(edit, TierEdit):
            return [class_key_of(name) for name in classes[edit.spec.name]]
        return [quota_key_of(place, edit.tier) for place in places[edit.key]]

    edits = [stored_edit(one) for one in change_set.edits]
    return [
        index
        for index, edit in enumerate(edits)
        if blocked.intersection(map(str, objects(edit)))
    ]


def _places(change_set: ChangeSet) -> dict[tuple[str, ...], set[str]]:
    """The namespaces of each quota, by the plan and as it is stored."""
    found: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for key, parts in change_set.planned_splits.items():
        found[key].update(parts)
    stored = QuotaTarget.objects.filter(cluster=change_set.cluster_id)
    for *quota, split in stored.values_list("team__slug", "resource", "tier", "split"):
        found[tuple(quota)].update(split)
    return found


def _classes(change_set: ChangeSet) -> dict[str, set[str]]:
    """The classes of each tier, by the plan and as stored: the plan has no removed ones."""
    found: dict[str, set[str]] = defaultdict(set)
    for name, classes in change_set.plan.get("classes", {}).items():
        found[name].update(classes)
    stored = Tier.objects.filter(cluster=change_set.cluster_id)
    for name, current, old in stored.values_list("name", "class_name", "old_classes"):
        found[name].update((current, *old))
    return found


def _check_open(change_set: ChangeSet, version: int) -> None:
    if change_set.undoes_id is not None:
        raise ChangeRefused(
            f"{change_set} undoes CS-{change_set.undoes_id} and keeps its edits: create "
            "a new change set"
        )
    if change_set.state not in OPEN:
        state = change_set.get_state_display().lower()
        raise ChangeRefused(
            f"{change_set} is {state}: edits can be added only to drafts and to plans that are "
            "not approved yet; create a new change set"
        )
    if change_set.version != version:
        raise ChangedMeanwhile(
            f"{change_set} was changed since you read it (version {version}; it is "
            f"{change_set.version} now): read it again"
        )


def _write(
    change_set: ChangeSet,
    edits: Sequence[Edit],
    reason: str,
    version: int,
    actor: Actor,
    at: datetime,
) -> None:
    before = draft_of(change_set)
    draft = replace(before, edits=edits, reason=reason.strip() or before.reason)
    edit(change_set, draft=draft, version=version, actor=actor, at=at)
