"""How an object of a cluster differs from the desired state, and who changed it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from scheduler_view.changes.rules.steps import (
    Action,
    DesiredObject,
    Observed,
    plan_steps,
)
from scheduler_view.clusters.rules.difference import FieldChange
from scheduler_view.clusters.rules.drift_state import DriftState
from scheduler_view.clusters.rules.live_objects import (
    MANAGER,
    Manifest,
    git_owner,
    is_ours,
)
from scheduler_view.clusters.rules.object_key import ObjectKey
from scheduler_view.clusters.rules.quota_key import NONE_ADDED, Added, resource_of
from scheduler_view.clusters.rules.schedulers import QUEUE_FIELDS
from scheduler_view.clusters.rules.schedulers.queue_fields import Values

Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DriftStatus:
    """The state of one object.

    Attributes:
        changes: fields, from the desired (`before`) to the actual value (`after`).
        who: other managers of those fields, joined; empty if not known.
        when: when they last wrote, in the API server's format; empty if not known.
        message: the same as a sentence.
    """

    state: DriftState
    changes: tuple[FieldChange, ...] = ()
    who: str = ""
    when: str = ""
    message: str = ""


def standing_of(
    key: ObjectKey,
    wanted: Body | None,
    live: Manifest | None,
    added: Added = NONE_ADDED,
) -> DriftStatus | None:
    """The state of an object; None if GPU Ledger does not manage it.

    Args:
        key: of the object.
        wanted: the desired object; None if none is desired.
        live: the object in the cluster; None if it does not exist.
        added: resources that an administrator added.
    """
    if key.kind in QUEUE_FIELDS:
        return None if wanted is None else _queue_status(key, wanted["values"], live)
    if wanted is None:
        return None if live is None else _unasked(live, added)
    if live is None:
        message = "It was removed, or has not been created yet."
        return DriftStatus(DriftState.DIFFERS, _removed(key, wanted), message=message)
    changes = _changes(key, wanted, live)
    if not changes:
        return DriftStatus(DriftState.IN_SYNC)
    who, when = writers(live, [change.field for change in changes])
    if not is_ours(live):
        owner = git_owner(live) or who or "another manager"
        message = f"An object of this name is managed by {owner}."
        return DriftStatus(DriftState.OTHER, changes, owner, when, message)
    return DriftStatus(
        DriftState.DIFFERS, changes, who, when, _said(changes, who, when)
    )


def writers(live: Manifest, fields: Iterable[str]) -> tuple[str, str]:
    """Other managers that set any of some fields, and when they last wrote."""
    names: dict[str, None] = {}
    last = ""
    asked = set(fields)
    for entry in live["metadata"].get("managedFields") or []:
        manager = entry.get("manager", "")
        if manager == MANAGER or entry.get("subresource"):
            continue
        if asked & set(_names(entry.get("fieldsV1") or {})):
            names[manager] = None
            last = max(last, entry.get("time") or "")
    return ", ".join(names), last


def _queue_status(key: ObjectKey, values: Values, live: Manifest | None) -> DriftStatus:
    """Only the fields that GPU Ledger set are compared; the object is another manager's."""
    fields = QUEUE_FIELDS[key.kind]
    if live is None:
        gone = tuple(FieldChange(field, value, None) for field, value in values.items())
        return DriftStatus(DriftState.DIFFERS, gone, message="It was removed.")
    now = {field: fields.value(live, field) for field in values}
    changes = tuple(
        FieldChange(field, value, now[field])
        for field, value in values.items()
        if not fields.same(field, value, now[field])
    )
    if not changes:
        return DriftStatus(DriftState.IN_SYNC)
    owned = [".".join(fields.owned(change.field)) for change in changes]
    who, when = writers(live, owned)
    return DriftStatus(
        DriftState.DIFFERS, changes, who, when, _said(changes, who, when)
    )


def _unasked(live: Manifest, added: Added) -> DriftStatus | None:
    if is_ours(live):
        message = (
            "It has the label of GPU Ledger but is no longer part of the desired state."
        )
        return DriftStatus(DriftState.DIFFERS, message=message)
    keys = ((live.get("spec") or {}).get("hard") or {}).keys()
    if not any(resource_of(key, added) for key in keys):
        return None
    owner = git_owner(live)
    if owner:
        return DriftStatus(DriftState.OTHER, who=owner, message=f"{owner} manages it.")
    return DriftStatus(DriftState.NOT_MANAGED, message="Not managed by GPU Ledger.")


def _changes(key: ObjectKey, wanted: Body, live: Manifest) -> tuple[FieldChange, ...]:
    """The changes of a plan, in the opposite direction."""
    here = {key.namespace: "uid"} if key.namespace else {}
    step = plan_steps([DesiredObject(key, wanted)], Observed({key: live}, here))[0]
    if step.action == Action.KEEP:
        return ()
    return tuple(FieldChange(c.field, c.after, c.before) for c in step.changes)


def _removed(key: ObjectKey, wanted: Body) -> tuple[FieldChange, ...]:
    here = {key.namespace: "uid"} if key.namespace else {}
    step = plan_steps([DesiredObject(key, wanted)], Observed({key: None}, here))[0]
    return tuple(FieldChange(c.field, c.after, None) for c in step.changes)


def _said(changes: tuple[FieldChange, ...], who: str, when: str) -> str:
    shown = "; ".join(
        f"{c.field.removeprefix('spec.hard.')} is {_value(c.after)}, "
        f"wanted {_value(c.before)}"
        for c in changes
    )
    by = f" Changed by {who}{f' at {when}' if when else ''}." if who else ""
    return f"{shown}.{by}"


def _value(value: str | None) -> str:
    return "not set" if value is None else value


def _names(fields: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[str]:
    """Dotted names of a manager's fields, including their parents."""
    for name, inner in fields.items():
        if name.startswith("f:"):
            path = (*above, name.removeprefix("f:"))
            yield ".".join(path)
            yield from _names(inner, path)
