"""Open change sets that change the same objects: of two, only the first that is applied is sent."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.db.models import Q

from scheduler_view.changes.models import ChangeSet
from scheduler_view.changes.reads.change_row import UNDER_WAY, OverlappingChange
from scheduler_view.changes.rules.edit import Edit, QueueEdit, TierEdit, stored_edit


def overlaps_of(
    change_set: ChangeSet, edits: Iterable[Mapping[str, Any]], readable: Q
) -> tuple[OverlappingChange, ...]:
    """Other change sets in progress of its cluster that change the same objects, oldest first.

    Args:
        change_set: empty if it is not in progress itself.
        edits: those of its edits that the person may read.
        readable: the change sets that the person may read.
    """
    if change_set.state not in UNDER_WAY:
        return ()
    mine = _objects(edits)
    others = ChangeSet.objects.filter(
        readable, cluster=change_set.cluster_id, state__in=UNDER_WAY
    ).exclude(pk=change_set.pk)
    found = []
    for other in others.order_by("pk"):
        shared = sorted(mine & _objects(other.edits))
        if shared:
            label = other.get_state_display().lower()
            found.append(
                OverlappingChange(
                    id=other.pk,
                    author=other.author_name,
                    state_label=label,
                    objects=tuple(shared),
                )
            )
    return tuple(found)


def _objects(edits: Iterable[Mapping[str, Any]]) -> set[str]:
    return {_object(stored_edit(one)) for one in edits}


def _object(edit: Edit) -> str:
    """All resources of a quota, and all fields of a queue, are in one object."""
    if isinstance(edit, TierEdit):
        return f"tier {edit.spec.name}"
    if isinstance(edit, QueueEdit):
        return f"{edit.object} {edit.name}"
    return f"the quota of {edit.team}" + (f" in tier {edit.tier}" if edit.tier else "")
