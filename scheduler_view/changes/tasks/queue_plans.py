"""The part of a plan that is about queues: reads their objects, checks edits, makes steps."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from scheduler_view.changes.rules.edit import Edit, EditFault, EditsRefused, QueueEdit
from scheduler_view.changes.rules.queue_steps import (
    DesiredQueue,
    faults_of,
    queue_step,
    removed_step,
)
from scheduler_view.changes.rules.steps import PlanStep
from scheduler_view.changes.tasks.desired_state import DesiredChange, QueueKey
from scheduler_view.clusters.client.client import ClusterClient
from scheduler_view.clusters.client.errors import NotFound
from scheduler_view.clusters.rules.live_objects import Manifest
from scheduler_view.clusters.rules.object_key import ObjectKey
from scheduler_view.clusters.rules.schedulers import QUEUE_FIELDS, QUEUE_OBJECTS

Live = Mapping[ObjectKey, Manifest]


@dataclass(frozen=True, slots=True)
class QueuePlans:
    """Steps of queues, with what they were made from.

    Attributes:
        live: every object of the kinds of the edits.
        doubts: what is valid, but may not work as expected: (object, sentence).
    """

    steps: Sequence[PlanStep] = ()
    live: Live = field(default_factory=dict)
    doubts: Sequence[tuple[ObjectKey, str]] = ()


def read_queues(client: ClusterClient, edits: Iterable[Edit]) -> Live:
    """Every object of the kinds that edits are about; none for an API that is missing.

    Raises:
        ClusterError: the cluster cannot be read.
    """
    found: dict[ObjectKey, Manifest] = {}
    for kind in sorted({e.object for e in edits if isinstance(e, QueueEdit)}):
        try:
            listed = client.list(kind).objects
        except NotFound:
            continue
        version = QUEUE_OBJECTS[kind].endpoints[0].version
        for one in listed:
            # Items of a list of custom resources have their own version and kind.
            manifest = {"apiVersion": version} | dict(one.manifest)
            found[ObjectKey(kind, "", one.name)] = manifest
    return found


def values_to_restore(edits: Iterable[Edit], live: Live) -> dict[QueueKey, str | None]:
    """The values in the cluster that an undo sets again, if they were not managed before.

    An applied field has no value to set again: it is left to its other managers, or removed.
    """
    found: dict[QueueKey, str | None] = {}
    for edit in edits:
        if isinstance(edit, QueueEdit) and not QUEUE_FIELDS[edit.object].is_applied:
            one = live.get(ObjectKey(edit.object, "", edit.name))
            fields = QUEUE_FIELDS[edit.object]
            value = None if one is None else fields.value(one, edit.field)
            found[edit.object, edit.name, edit.field] = value
    return found


def plan_queues(
    edits: Sequence[Edit],
    desired: DesiredChange,
    live: Live,
    forced: Collection[str] = (),
    before: Live | None = None,
) -> QueuePlans:
    """The steps of queue edits, object by object.

    Args:
        edits: of all kinds.
        desired: the change.
        live: every object of the kinds of the edits.
        forced: objects in which a person lets fields of others be overwritten.
        before: for an undo, the objects as they were before the change that is undone.

    Raises:
        EditsRefused: an object or a field does not exist, or a rule would be broken.
    """
    wanted = {
        key: replace(
            one,
            made=_fields_of(key, desired.before.queues),
            force=str(key) in forced,
            before=(before or {}).get(key),
        )
        for key, one in _wanted(edits, desired).items()
    }
    faults = _missing(edits, live)
    if faults:
        raise EditsRefused(faults)
    after = {
        key: QUEUE_FIELDS[key.kind].changed(live[key], one.values)
        for key, one in wanted.items()
        if key in live
    }
    doubts: list[tuple[ObjectKey, str]] = []
    for key, changed in after.items():
        others = _of_kind(key.kind, {**live, **after})
        first = next(i for i, e in enumerate(edits) if _key_of(e) == key)
        faults += [
            EditFault(first, "value", f"{key.name}: {text}")
            for text in faults_of(wanted[key], live[key], others)
        ]
        said = QUEUE_FIELDS[key.kind].doubts(changed, list(others.values()))
        doubts += [(key, text) for text in said]
    if faults:
        raise EditsRefused(faults)
    steps = [
        queue_step(one, live[key]) if key in live else removed_step(key)
        for key, one in sorted(wanted.items())
    ]
    return QueuePlans(steps, live, list(dict.fromkeys(doubts)))


def _key_of(edit: Edit) -> ObjectKey | None:
    if isinstance(edit, QueueEdit):
        return ObjectKey(edit.object, "", edit.name)
    return None


def _wanted(
    edits: Sequence[Edit], desired: DesiredChange
) -> dict[ObjectKey, DesiredQueue]:
    """All our fields of each edited object, as a quota has all of our keys."""
    found: dict[ObjectKey, DesiredQueue] = {}
    for edit in edits:
        if not isinstance(edit, QueueEdit):
            continue
        key = ObjectKey(edit.object, "", edit.name)
        if key not in found:
            found[key] = DesiredQueue(key, _fields_of(key, desired.after.queues))
        if edit.release:
            found[key] = _released(found[key], edit)
    return found


def _fields_of(
    key: ObjectKey, queues: Mapping[QueueKey, str | None]
) -> dict[str, str | None]:
    return {
        field: value
        for (kind, name, field), value in queues.items()
        if (kind, name) == (key.kind, key.name)
    }


def _released(wanted: DesiredQueue, edit: QueueEdit) -> DesiredQueue:
    """Without a field that is no longer managed; a patch still sets its last value."""
    found = replace(wanted, given_up=wanted.given_up | {edit.field})
    if QUEUE_FIELDS[edit.object].is_applied:
        return found
    return replace(found, values=dict(wanted.values) | {edit.field: edit.value})


def _missing(edits: Sequence[Edit], live: Live) -> list[EditFault]:
    faults = []
    for index, edit in enumerate(edits):
        if not isinstance(edit, QueueEdit):
            continue
        found = live.get(ObjectKey(edit.object, "", edit.name))
        if found is None:
            if not edit.release:
                text = f"the cluster has no {edit.object} {edit.name!r}"
                faults.append(EditFault(index, "name", text))
            continue
        fields = QUEUE_FIELDS[edit.object]
        if fields.path(edit.field, found) is None and not edit.release:
            names = ", ".join(fields.names(found, ())) or "none"
            text = f"{edit.field} is not a field of {edit.name}; it has {names}"
            faults.append(EditFault(index, "field", text))
    return faults


def _of_kind(kind: str, live: Live) -> dict[str, Manifest]:
    return {key.name: one for key, one in live.items() if key.kind == kind}
