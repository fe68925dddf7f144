"""The objects as they were before the change set that an undo takes back."""

from collections.abc import Collection

from scheduler_view.domain.objects.desired import ObjectKey
from scheduler_view.domain.objects.former import without_us
from scheduler_view.domain.objects.manifest import MANAGER, Manifest, entries
from scheduler_view.models import ChangeSet, ChangeStep

_KEY = ("kind", "namespace", "name")


def formers_of(change_set: ChangeSet) -> dict[ObjectKey, Manifest]:
    """The objects that existed, by key; empty for a change set that undoes nothing.

    A field that GPU Ledger had set already then, by an earlier change, is as before that one: the
    undo of the last change gives back all of an object, in whatever order changes are undone.
    """
    undone = change_set.undoes
    if undone is None:
        return {}
    steps = undone.steps.filter(before__isnull=False)
    found = {ObjectKey(*row[:3]): row[3] for row in steps.values_list(*_KEY, "before")}
    ours = [
        key
        for key, before in found.items()
        if any(entry.get("manager") == MANAGER for entry in entries(before))
    ]
    earlier = _taken_over(undone, ours) if ours else {}
    return found | {
        key: without_us(found[key], origin)
        for key, origin in earlier.items()
        if key in found
    }


def _taken_over(
    undone: ChangeSet, keys: Collection[ObjectKey]
) -> dict[ObjectKey, Manifest]:
    """Objects as they were when GPU Ledger took them over from others."""
    rows = (
        ChangeStep.objects.filter(
            change_set__cluster=undone.cluster_id,
            change_set__lt=undone.pk,
            kind__in={key.kind for key in keys},
            namespace__in={key.namespace for key in keys},
            name__in={key.name for key in keys},
        )
        .exclude(before__metadata__managedFields__contains=[{"manager": MANAGER}])
        .order_by(*_KEY, "-change_set")
        .distinct(*_KEY)
    )
    return {
        ObjectKey(*row[:3]): row[3]
        for row in rows.values_list(*_KEY, "before")
        if row[3] and "managedFields" in row[3]["metadata"]
    }
