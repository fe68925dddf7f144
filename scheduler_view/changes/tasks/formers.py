"""The objects as they were before the change set that an undo takes back."""

from collections.abc import Collection, Iterable

from accounting.metering.models.cluster import Cluster
from scheduler_view.changes.models import ChangeSet, ChangeStep
from scheduler_view.changes.rules.edit import Edit, QueueEdit
from scheduler_view.clusters.rules.former import without_us
from scheduler_view.clusters.rules.live_objects import MANAGER, Manifest, entries
from scheduler_view.clusters.rules.object_key import ObjectKey

_KEY = ("kind", "namespace", "name")


def formers_of(
    cluster: Cluster, edits: Iterable[Edit], undone: ChangeSet | None = None
) -> dict[ObjectKey, Manifest]:
    """The objects that existed, by key, of what is undone or released.

    A field that GPU Ledger had set already then, by an earlier change, is as before that one: the
    undo of the last change gives back all of an object, in whatever order changes are undone.

    Args:
        cluster: of the edits.
        edits: a released field of a queue is given back as well.
        undone: the change set that they undo.
    """
    if undone is None:
        keys = [_key_of(e) for e in edits if isinstance(e, QueueEdit) and e.release]
        return _taken_over(cluster.pk, keys) if keys else {}
    steps = undone.steps.filter(before__isnull=False)
    found = {ObjectKey(*row[:3]): row[3] for row in steps.values_list(*_KEY, "before")}
    ours = [
        key
        for key, before in found.items()
        if any(entry.get("manager") == MANAGER for entry in entries(before))
    ]
    earlier = _taken_over(cluster.pk, ours, undone.pk) if ours else {}
    return found | {
        key: without_us(found[key], origin)
        for key, origin in earlier.items()
        if key in found and _uid(origin) == _uid(found[key])
    }


def _key_of(edit: QueueEdit) -> ObjectKey:
    return ObjectKey(edit.object, "", edit.name)


def _uid(manifest: Manifest) -> str:
    uid: str = manifest["metadata"]["uid"]
    return uid


def _taken_over(
    cluster_id: int, keys: Collection[ObjectKey], before: int | None = None
) -> dict[ObjectKey, Manifest]:
    """Objects as they were when GPU Ledger took them over from others, before a change set."""
    steps = ChangeStep.objects.filter(change_set__cluster=cluster_id)
    if before is not None:
        steps = steps.filter(change_set__lt=before)
    rows = (
        steps.filter(
            kind__in={key.kind for key in keys},
            namespace__in={key.namespace for key in keys},
            name__in={key.name for key in keys},
        )
        .exclude(before__metadata__managedFields__contains=[{"manager": MANAGER}])
        .order_by(*_KEY, "-change_set")
        .distinct(*_KEY)
    )
    wanted = set(keys)
    return {
        key: before_us
        for *place, before_us in rows.values_list(*_KEY, "before")
        if (key := ObjectKey(*place)) in wanted
        and before_us
        and "managedFields" in before_us["metadata"]
    }
