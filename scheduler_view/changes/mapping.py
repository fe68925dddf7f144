"""Conversion of rows to values and back; only here."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import date
from decimal import Decimal
from typing import Any

from scheduler_view.domain.objects.desired import DesiredQuota, ObjectKey
from scheduler_view.domain.objects.difference import FieldChange
from scheduler_view.domain.objects.former import as_stored, from_stored
from scheduler_view.domain.objects.manifest import Manifest, Pin
from scheduler_view.domain.plan.steps import Action, PlanStep
from scheduler_view.domain.tiers.tier import TierSpec, TierState
from scheduler_view.domain.waits.explanation import WaitExplanation
from scheduler_view.domain.waste.activity import Activity
from scheduler_view.domain.waste.held_time import HeldRun
from scheduler_view.models import ChangeStep, QuotaTarget, Tier

LONGEST_TEXT = 4096  # characters of a message that are stored


def step_row(
    step: PlanStep, before: Manifest | None, message: str, code: int | None
) -> ChangeStep:
    """A step of a plan as its row; the caller sets the change set and the position."""
    return ChangeStep(
        kind=step.key.kind,
        namespace=step.key.namespace,
        name=step.key.name,
        action=step.action.value,
        body=step.body,
        before=before,
        pin=asdict(step.pin),
        changes=[[c.field, c.before, c.after] for c in step.changes],
        others={name: list(managers) for name, managers in step.others.items()},
        blocked=step.blocked,
        note=step.note,
        former=as_stored(step.former),
        force=step.force,
        message=message,
        code=code,
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
    )


def target_of(row: QuotaTarget) -> DesiredQuota:
    """A row as a value."""
    return DesiredQuota(
        row.team.slug, row.resource, row.tier, row.gpus, dict(row.split)
    )


def tier_of(row: Tier) -> TierState:
    """A row as a value."""
    spec = TierSpec(row.name, row.value, row.preempts, row.is_default, row.description)
    return TierState(spec, [row.class_name, *row.old_classes])


def wait_content(one: WaitExplanation) -> dict[str, Any]:
    """The part of an explanation that `UnitWait` has no column for.

    Names of images are left out: they may be confidential. Messages are cut: an event of core/v1
    may have a megabyte, and each page of the unit shows it.
    """
    return {
        "contributing": [cause.value for cause in one.contributing],
        "overlays": [overlay.value for overlay in one.overlays],
        "pods": asdict(one.pods),
        "resource": one.resource,
        "units_per_pod": one.units_per_pod,
        "preemption": one.preemption.value,
        "blockers": [asdict(found) for found in one.blockers],
        "blocker_sets": one.blocker_sets,
        "inverted": [asdict(held) for held in one.inverted.blockers]
        if one.inverted
        else [],
        "cluster_queue": one.cluster_queue,
        "cohort": one.cohort,
        "let_in": [asdict(held) for held in one.let_in],
        "starts_if": [_without_image(found.as_value()) for found in one.starts_if],
        "not_enough": [_without_image(found.as_value()) for found in one.not_enough],
        "evidence": [
            asdict(said) | {"text": said.text[:LONGEST_TEXT]} for said in one.evidence
        ],
        "facts": dict(one.facts),
        "priority": one.priority,
        "priority_class": one.priority_class,
        "from_metrics": one.is_from_metrics,
    }


def _without_image(change: Mapping[str, Any]) -> dict[str, Any]:
    """A change, and its parts if it has several."""
    found = {name: value for name, value in change.items() if name != "image"}
    if "changes" in found:
        found["changes"] = [_without_image(part) for part in found["changes"]]
    return found


def runs_to_json(runs: Iterable[HeldRun]) -> list[list[Any]]:
    """Runs of one pod and day, as `HeldDay.runs`; the day is the row's."""
    return [
        [
            run.start_ms,
            run.end_ms,
            run.part,
            int(run.of_hold),
            int(run.own),
            run.busy_ms,
            run.idle_ms,
            run.unknown_ms,
            run.team,
            None if run.rate is None else str(run.rate),
            run.currency,
        ]
        for run in runs
    ]


def runs_from_json(day: date, stored: Iterable[list[Any]]) -> list[HeldRun]:
    """The runs of a `HeldDay`."""
    return [
        HeldRun(
            start_ms,
            end_ms,
            day.toordinal(),
            part,
            Activity(of_hold),
            Activity(own),
            busy_ms,
            idle_ms,
            unknown_ms,
            team,
            None if rate is None else Decimal(rate),
            currency,
        )
        for (
            start_ms,
            end_ms,
            part,
            of_hold,
            own,
            busy_ms,
            idle_ms,
            unknown_ms,
            team,
            rate,
            currency,
        ) in stored
    ]
