"""Conversion of rows to values and back; only here."""

from dataclasses import asdict

from scheduler_view.changes.models import ChangeSet, ChangeStep
from scheduler_view.changes.rules.edit import Draft, stored_edit
from scheduler_view.changes.rules.steps import Action, PlanStep
from scheduler_view.clusters.rules.difference import FieldChange
from scheduler_view.clusters.rules.former import as_stored, from_stored
from scheduler_view.clusters.rules.live_objects import Pin
from scheduler_view.clusters.rules.object_key import ObjectKey


def draft_of(row: ChangeSet) -> Draft:
    """The stored content of a change set."""
    edits = [stored_edit(one) for one in row.edits]
    return Draft(edits, row.reason, tuple(row.forced), row.starts_at, row.ends_at)


def step_row(step: PlanStep) -> ChangeStep:
    """A step of a plan as its row; the caller sets the change set and the position."""
    return ChangeStep(
        kind=step.key.kind,
        namespace=step.key.namespace,
        name=step.key.name,
        action=step.action.value,
        body=step.body,
        before=step.before,
        pin=asdict(step.pin),
        changes=[[c.field, c.before, c.after] for c in step.changes],
        others={name: list(managers) for name, managers in step.others.items()},
        blocked=step.blocked,
        note=step.note,
        former=as_stored(step.former),
        force=step.force,
        message=step.message,
        code=step.code,
    )


def step_of(row: ChangeStep) -> PlanStep:
    """A stored step."""
    return PlanStep(
        key=ObjectKey(row.kind, row.namespace, row.name),
        action=Action(row.action),
        body=row.body,
        pin=Pin(**row.pin),
        changes=tuple(FieldChange(*change) for change in row.changes),
        others={name: tuple(managers) for name, managers in row.others.items()},
        blocked=row.blocked,
        force=row.force,
        note=row.note,
        former=from_stored(row.former),
        before=row.before,
        message=row.message,
        code=row.code,
    )
