"""The difference between the desired state and a cluster, as steps in their order.

A plan is a value: it can be printed, stored, compared and sent. Nothing here calls a cluster.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from scheduler_view.changes.rules.give_back import (
    changes_back,
    conflict_message,
    former_of,
    written_since,
)
from scheduler_view.clusters.rules.difference import (
    FieldChange,
    field_changes,
    live_fields,
    wanted_fields,
)
from scheduler_view.clusters.rules.former import Former, is_given_back
from scheduler_view.clusters.rules.live_objects import (
    CLASS,
    QUOTA,
    Manifest,
    Pin,
    is_ours,
    other_owners,
    owned_keys,
    pin_of,
)
from scheduler_view.clusters.rules.object_key import ObjectKey
from scheduler_view.quotas.rules.quota_objects import metadata


class Action(StrEnum):
    """The action of a step on its object."""

    CREATE = "create"
    CHANGE = "change"
    REPLACE = "replace"  # deleted and created, because it cannot be changed in place
    REMOVE = "remove"
    RESTORE = "restore"  # it is given back as it was before GPU Ledger changed it
    KEEP = "keep"  # it matches the desired state: nothing is sent


@dataclass(frozen=True, slots=True)
class PlanStep:
    """The step of one object.

    Attributes:
        body: all fields that we apply; None to delete the object.
        pin: of the object when it was read.
        changes: fields that differ.
        others: other managers, by field that we would set.
        blocked: why it cannot be applied; empty if it can.
        force: take over fields from other managers; only if a person has selected it.
        note: further information, as a sentence.
        former: what the object gets back; only with RESTORE.
        before: the object as it was read; None if it did not exist.
        message, code: the API server's response to the dry run; empty if it was accepted.
        is_temporary: the dry run failed temporarily.
    """

    key: ObjectKey
    action: Action
    body: Mapping[str, Any] | None
    pin: Pin
    changes: tuple[FieldChange, ...] = ()
    others: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    blocked: str = ""
    force: bool = False
    note: str = ""
    former: Former | None = None
    before: Manifest | None = None
    message: str = ""
    code: int | None = None
    is_temporary: bool = False


@dataclass(frozen=True, slots=True)
class DesiredObject:
    """One desired object: its body, or None if none is desired.

    Attributes:
        force: take over fields from other managers, as selected by a person.
        replace: may be deleted and created if it cannot be changed in place.
        made: our fields as they are desired now.
        before: for an undo, the object as it was before the change that is undone.
    """

    key: ObjectKey
    body: Mapping[str, Any] | None
    force: bool = False
    replace: bool = False
    made: Mapping[str, Any] | None = None
    before: Manifest | None = None


@dataclass(frozen=True, slots=True)
class Observed:
    """The parts of a cluster's state that a plan needs.

    Attributes:
        objects: by key, as the API server sent them; None for missing ones.
        namespaces: uid by name; without those that are being deleted.
        going: namespaces that are being deleted.
    """

    objects: Mapping[ObjectKey, Manifest | None]
    namespaces: Mapping[str, str]
    going: frozenset[str] = frozenset()


def plan_steps(wanted: Iterable[DesiredObject], observed: Observed) -> list[PlanStep]:
    """One step for each object, in the order in which they are applied.

    Defaults are unset before another class becomes the default, classes are created before quotas
    that name them, and removals come last.
    """
    steps = [_step(one, observed) for one in wanted]
    return sorted(steps, key=_order)


def is_empty(steps: Iterable[PlanStep]) -> bool:
    """True if nothing would be sent."""
    return all(step.action == Action.KEEP for step in steps)


def pin_now(key: ObjectKey, observed: Observed) -> Pin:
    """The current pin of an object."""
    return pin_of(observed.objects.get(key), observed.namespaces.get(key.namespace, ""))


def matches(body: Mapping[str, Any] | None, live: Manifest | None) -> bool:
    """True if an object matches the result of its step."""
    if body is None or live is None:
        return body is None and live is None
    return not field_changes(body, live)


def _step(wanted: DesiredObject, observed: Observed) -> PlanStep:
    key, live = wanted.key, observed.objects.get(wanted.key)
    pin = pin_now(key, observed)
    blocked = _place_fault(key, observed)
    if live is not None and not blocked:
        blocked = _foreign(live, wanted)
    former = former_of(wanted.body, wanted.made, live, wanted.before)
    if former is not None:
        step = _given_back(wanted, live, pin, former)
        blocked = blocked or step.blocked
    elif wanted.body is None:
        step = _removal(wanted, live, pin)
    elif live is None:
        changes = tuple(
            FieldChange(name, None, after)
            for name, after in wanted_fields(wanted.body).items()
        )
        step = PlanStep(key, Action.CREATE, wanted.body, pin, changes)
    else:
        changes = field_changes(wanted.body, live)
        action = Action.CHANGE if changes else Action.KEEP
        fixed = _immutable(key, changes)
        if fixed and wanted.replace:
            action, fixed = Action.REPLACE, ""
        step = PlanStep(key, action, wanted.body, pin, changes)
        blocked = blocked or fixed
        step = replace(step, others=_others(wanted.body, live))
    if step.action == Action.KEEP:
        blocked = ""
    return replace(step, blocked=blocked, force=wanted.force)


def _given_back(
    wanted: DesiredObject, live: Manifest | None, pin: Pin, former: Former
) -> PlanStep:
    """What was there comes back; what others have set since only if a person selects it."""
    changes = changes_back(former, live)
    since: Mapping[str, tuple[str, ...]] = {}
    blocked = ""
    if live is not None:
        since = written_since(former, live)
        blocked = conflict_message(changes, since)
        if wanted.body is not None:
            back = {change.field for change in changes}
            rest = field_changes(wanted.body, live)
            changes += tuple(c for c in rest if c.field not in back)
    elif wanted.body is None and wanted.made is not None:
        blocked = "it was removed since; it is created again only if you select it"
    is_done = is_given_back(former, live) and (wanted.body is None or not changes)
    return PlanStep(
        wanted.key,
        Action.KEEP if is_done else Action.RESTORE,
        wanted.body,
        pin,
        changes,
        others={name: names for name, names in since.items() if names},
        blocked="" if wanted.force else blocked,
        former=former,
    )


def _removal(wanted: DesiredObject, live: Manifest | None, pin: Pin) -> PlanStep:
    """Delete an object that only we manage; from an object with other managers, remove our keys."""
    if live is None:
        return PlanStep(wanted.key, Action.KEEP, None, pin)
    before = live_fields(live)
    theirs = set(other_owners(live)) if wanted.key.kind == QUOTA else set()
    ours = owned_keys(live) if theirs else set()
    kept = {
        f"spec.hard.{key}" for key in (live.get("spec") or {}).get("hard") or {}
    } - {f"spec.hard.{key}" for key in ours}
    if theirs and kept:
        changes = tuple(
            FieldChange(f"spec.hard.{key}", before.get(f"spec.hard.{key}"), None)
            for key in sorted(ours - theirs)
        )
        body = {
            "apiVersion": "v1",
            "kind": QUOTA,
            "metadata": metadata(wanted.key),
            "spec": {"hard": {}},
        }
        action = Action.CHANGE if changes else Action.KEEP
        note = f"{_names(theirs)} unchanged: set by other managers"
        return PlanStep(wanted.key, action, body, pin, changes, note=note)
    changes = tuple(FieldChange(name, value, None) for name, value in before.items())
    return PlanStep(wanted.key, Action.REMOVE, None, pin, changes)


def _place_fault(key: ObjectKey, observed: Observed) -> str:
    if not key.namespace or key.namespace in observed.namespaces:
        return ""
    if key.namespace in observed.going:
        return f"namespace {key.namespace} is being deleted"
    return f"namespace {key.namespace} does not exist in this cluster"


def _foreign(live: Manifest, wanted: DesiredObject) -> str:
    if live["metadata"].get("deletionTimestamp"):
        return "the object is being deleted"
    if is_ours(live) or wanted.force:
        return ""
    return (
        "an object with this name exists and is not managed by GPU Ledger; it changes only if "
        "you select it"
    )


def _immutable(key: ObjectKey, changes: tuple[FieldChange, ...]) -> str:
    fixed = [c.field for c in changes if c.field in ("value", "preemptionPolicy")]
    if key.kind != CLASS or not fixed:
        return ""
    return f"{_names(fixed)} of a PriorityClass cannot be changed; make a new version"


def _others(body: Mapping[str, Any], live: Manifest) -> dict[str, tuple[str, ...]]:
    if "spec" not in body:
        return {}
    theirs = other_owners(live)
    return {
        f"spec.hard.{key}": tuple(sorted(theirs[key]))
        for key in body["spec"]["hard"]
        if key in theirs
    }


def _order(step: PlanStep) -> tuple[int, ObjectKey]:
    is_class = step.key.kind == CLASS
    if step.action == Action.REMOVE:
        return (5 if is_class else 4), step.key
    if not is_class:
        return 3, step.key
    after = step.former.manifest if step.former else step.body or {}
    becomes_default = bool(after.get("globalDefault"))
    return (2 if becomes_default else 1), step.key


def _names(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
