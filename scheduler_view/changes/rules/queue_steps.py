"""The steps of queues: which fields of an object change, and how they are sent.

Objects of queues belong to other people: nothing is created or deleted, and a number that another
manager set is taken over only if a person selects the object; an undo gives it back.
`spec.resourceGroups` of a ClusterQueue changes hands as a whole with one number (measured on
Kubernetes 1.34.4), so it is refused if another manager applies it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from scheduler_view.changes.rules.give_back import (
    conflict_message,
    shared_since,
    written_since,
)
from scheduler_view.changes.rules.steps import Action, PlanStep
from scheduler_view.clusters.rules.difference import FieldChange
from scheduler_view.clusters.rules.former import Former, is_given_back
from scheduler_view.clusters.rules.json_operations import (
    at_path,
    operation,
    set_path,
    write,
)
from scheduler_view.clusters.rules.live_objects import (
    MANAGER,
    Manifest,
    appliers,
    owners,
    pin_of,
)
from scheduler_view.clusters.rules.object_key import ObjectKey
from scheduler_view.clusters.rules.schedulers import QUEUE_FIELDS
from scheduler_view.clusters.rules.schedulers.queue_fields import (
    QueueFields,
    Values,
    shown,
)


@dataclass(frozen=True, slots=True)
class DesiredQueue:
    """The fields of one object after a change.

    Attributes:
        key: its kind is in `QUEUE_FIELDS`.
        values: every field that is set; None for one that must not be set.
        given_up: fields that are no longer managed: they are left out of what we apply.
        made: our fields as they are desired now.
        force: overwrite what others have set, as selected by a person.
        before: for an undo, the object as it was before the change that is undone.
    """

    key: ObjectKey
    values: Values
    given_up: frozenset[str] = frozenset()
    made: Values | None = None
    force: bool = False
    before: Manifest | None = None


class StalePatch(Exception):
    """An object is not as planned any more; the message says what differs."""


def queue_step(wanted: DesiredQueue, live: Manifest) -> PlanStep:
    """The step of one object that exists."""
    fields = QUEUE_FIELDS[wanted.key.kind]
    step = _applied if fields.is_applied else _patched
    found = replace(step(wanted, live, fields), force=wanted.force)
    former = _former(wanted, live, fields)
    return found if former is None else _given_back(found, former, live, fields)


def removed_step(key: ObjectKey) -> PlanStep:
    """The step of an object that does not exist and of which nothing is desired."""
    return PlanStep(key, Action.KEEP, None, pin_of(None))


def _patched(wanted: DesiredQueue, live: Manifest, fields: QueueFields) -> PlanStep:
    changed = fields.changed(live, wanted.values)
    changes = _changes(wanted.values, live, fields)
    body = _head(live) | {"spec": {"resourceGroups": at_path(changed, _GROUPS)}}
    theirs = sorted(appliers(live, _GROUPS) - {MANAGER})
    action = Action.CHANGE if changes else Action.KEEP
    since = _written_since(wanted, changes, live, fields)
    blocked = "" if wanted.force else conflict_message(changes, since)
    others = dict(since)
    if theirs:
        others = {".".join(_GROUPS): tuple(theirs)}
    if changes and theirs:
        blocked = (
            f"{', '.join(theirs)} applies spec.resourceGroups as a whole; a changed number would "
            "take all of it over. Change it there."
        )
    return PlanStep(
        wanted.key,
        action,
        body,
        pin_of(live),
        changes,
        others=others,
        blocked=blocked,
    )


def _written_since(
    wanted: DesiredQueue,
    changes: Iterable[FieldChange],
    live: Manifest,
    fields: QueueFields,
) -> dict[str, tuple[str, ...]]:
    """Fields that a patch would overwrite although others set them after us; by whom."""
    managers, made = owners(live), wanted.made or {}
    return {
        change.field: tuple(sorted(managers.get(fields.owned(change.field), set())))
        for change in changes
        if change.field in made
        and not fields.same(change.field, made[change.field], change.before)
    }


def _former(wanted: DesiredQueue, live: Manifest, fields: QueueFields) -> Former | None:
    """What the object gets back; None if nothing that was there comes back."""
    before = wanted.before
    if before is None or before["metadata"]["uid"] != live["metadata"]["uid"]:
        return None  # of an object that was made again, nothing is ours
    managers = owners(live)
    if not fields.is_applied:
        is_over = not (wanted.made or {}).keys() - wanted.given_up
        is_ours = wanted.force or managers.get(_GROUPS) == {MANAGER}
        return Former(before, (), (_GROUPS,)) if is_over and is_ours else None
    paths = [
        path
        for path in map(fields.owned, sorted(wanted.given_up))
        if MANAGER in managers.get(path, ()) or at_path(before, path) is not None
    ]
    if not paths:
        return None
    shared = shared_since(paths, before, live)
    return Former(before, tuple(p for p in paths if p not in shared), tuple(paths))


def _given_back(
    step: PlanStep, former: Former, live: Manifest, fields: QueueFields
) -> PlanStep:
    """The step of an undo: values as they were, then the managers of the fields."""
    back = [f for f in fields.names(live, ()) if fields.owned(f) in former.paths]
    then: Values = {field: fields.value(former.manifest, field) for field in back}
    kept = tuple(change for change in step.changes if change.field not in back)
    changes = (*kept, *_changes(then, live, fields))
    written = written_since(former, live)
    names = {field: ".".join(fields.owned(field)) for field in back}
    since = {field: written[name] for field, name in names.items() if name in written}
    blocked = "" if step.force else conflict_message(changes, since)
    is_done = is_given_back(former, live) and not changes
    return replace(
        step,
        action=Action.KEEP if is_done else Action.RESTORE,
        changes=changes,
        others={**step.others, **since},
        blocked=step.blocked or blocked,
        former=former,
    )


def _applied(wanted: DesiredQueue, live: Manifest, fields: QueueFields) -> PlanStep:
    managers = owners(live)
    set_now = {f: v for f, v in wanted.values.items() if v is not None}
    body = _head(live)
    for field, value in set_now.items():
        set_path(body, fields.owned(field), fields.raw(field, value))
    left_out = [
        *(field for field, value in wanted.values.items() if value is None),
        *wanted.given_up,
    ]
    # A field that others set too keeps its value when we leave it out.
    ours_alone = [f for f in left_out if managers.get(fields.owned(f)) == {MANAGER}]
    after: Values = set_now | dict.fromkeys(ours_alone)
    changes = _changes(after, live, fields)
    is_released = any(MANAGER in managers.get(fields.owned(f), ()) for f in left_out)
    others = {
        field: tuple(sorted(theirs))
        for field in set_now
        if (theirs := managers.get(fields.owned(field), set()) - {MANAGER})
    }
    return PlanStep(
        wanted.key,
        Action.CHANGE if changes or is_released else Action.KEEP,
        body,
        pin_of(live),
        changes,
        others=others,
        blocked=_kept_by_others(wanted.values, live, fields),
    )


def _kept_by_others(values: Values, live: Manifest, fields: QueueFields) -> str:
    """Why a field cannot be removed: other managers set it."""
    managers = owners(live)
    for field, value in values.items():
        theirs = managers.get(fields.owned(field), set()) - {MANAGER}
        if value is None and theirs and fields.value(live, field) is not None:
            return f"{field} is set by {', '.join(sorted(theirs))}; it must be removed there"
    return ""


def is_done(step: PlanStep, live: Manifest | None) -> bool:
    """True if an object has the result of its step."""
    fields = QUEUE_FIELDS[step.key.kind]
    if live is None or step.body is None:
        return False
    return all(
        fields.same(c.field, fields.value(live, c.field), c.after) for c in step.changes
    )


def patch_of(step: PlanStep, live: Manifest) -> list[dict[str, Any]]:
    """The JSON patch of a step: `test` operations on identity, names and numbers, then values.

    Args:
        step: of a kind that is sent as a patch.
        live: the object as just read.

    Raises:
        StalePatch: another object, or names or numbers that are not as planned.
    """
    fields = QUEUE_FIELDS[step.key.kind]
    if live["metadata"]["uid"] != step.pin.uid:
        raise StalePatch("the object was removed and created again since this plan")
    marks = fields.marks(live)
    if marks != fields.marks(step.body or {}):
        raise StalePatch("its flavors or resources were changed since this plan")
    tests = [operation("test", ("metadata", "uid"), step.pin.uid)]
    tests += [operation("test", path, name) for path, name in marks]
    writes = []
    for change in step.changes:
        path = fields.path(change.field, live)
        if path is None:
            raise StalePatch(f"{change.field} was removed since this plan")
        now = fields.value(live, change.field)
        if not fields.same(change.field, now, change.before):
            raise StalePatch(
                f"{change.field} is {now}, not {change.before} as in this plan"
            )
        tests.append(operation("test", path, at_path(live, path)))
        writes.append(write(path, change.before, _raw(step, fields, change)))
    return [*tests, *writes]


def _raw(step: PlanStep, fields: QueueFields, change: FieldChange) -> Any:
    """The value of a field as JSON; one that is given back has its former type."""
    if change.after is None:
        return None
    former = step.former.manifest if step.former else {}
    path = fields.path(change.field, former)
    then = None if path is None else at_path(former, path)
    is_same = then is not None and shown(then) == change.after
    return then if is_same else fields.raw(change.field, change.after)


def _changes(
    after: Values, live: Manifest, fields: QueueFields
) -> tuple[FieldChange, ...]:
    before = {field: fields.value(live, field) for field in after}
    return tuple(
        FieldChange(field, before[field], value)
        for field, value in after.items()
        if not fields.same(field, before[field], value)
    )


def _head(live: Manifest) -> dict[str, Any]:
    """What identifies an object in a body; no labels, which belong to others."""
    return {
        "apiVersion": live["apiVersion"],
        "kind": live["kind"],
        "metadata": {"name": live["metadata"]["name"]},
    }


def faults_of(
    wanted: DesiredQueue, live: Manifest, others: Mapping[str, Manifest]
) -> list[str]:
    """Rules of the scheduler's webhook that an object breaks only after a change.

    Args:
        wanted: after the change.
        live: the object.
        others: all objects of the kind after the change, by name.
    """
    rules = QUEUE_FIELDS[wanted.key.kind].rules
    name = wanted.key.name
    before = rules(live, list((dict(others) | {name: live}).values()))
    after = rules(others[name], list(others.values()))
    return [fault for fault in after if fault not in before]


_GROUPS = ("spec", "resourceGroups")
