"""The effects of a changed queue in text, and warnings about limits that apply twice."""

from collections.abc import Collection, Mapping

from scheduler_view.changes.rules.effects import Effect, EffectCode
from scheduler_view.changes.rules.steps import Action, PlanStep
from scheduler_view.changes.rules.warnings import PlanWarning, WarningCode
from scheduler_view.clusters.rules.live_objects import Manifest
from scheduler_view.clusters.rules.schedulers import QUEUE_FIELDS, scheduler_of
from scheduler_view.clusters.rules.schedulers.kueue import PRIORITY
from scheduler_view.clusters.rules.schedulers.queue_fields import (
    name_of,
    number_of,
    part_of,
)
from scheduler_view.clusters.rules.wording import listed

# A lowered limit evicts nothing by the documentation of the schedulers; it was not measured.
_GUARANTEES = frozenset({"nominalQuota", "deserved", "quota"})


def queue_effects(step: PlanStep, live: Manifest) -> list[Effect]:
    """A sentence for each changed field of a queue, and what it means for running work."""
    fields = QUEUE_FIELDS[step.key.kind]
    found = []
    for change in step.changes:
        before = "not set" if change.before is None else change.before
        after = "not set" if change.after is None else change.after
        text = f"{change.field} of {step.key} changes from {before} to {after}."
        text += _running(
            change.field, change.after, fields.used(live, part_of(change.field))
        )
        if step.key.kind == PRIORITY and change.field == "value":
            text += " Existing Workloads keep their priority."
        found.append(Effect(EffectCode.QUEUE, text))
    if step.action == Action.CHANGE and not step.changes:
        text = f"GPU Ledger no longer manages fields of {step.key}; their values stay."
        found.append(Effect(EffectCode.QUEUE, text))
    return found


def _running(field: str, after: str | None, used: str | None) -> str:
    if name_of(field) not in _GUARANTEES or used is None:
        return ""
    number, limit = number_of(used), number_of(after)
    if number is None or limit is None or limit < 0 or number <= limit:
        return f" In use now: {used}."
    return (
        f" In use now: {used}. Running work is not stopped. New work is not admitted "
        "within this quota until less is used."
    )


def limited_twice(
    kind: str, queue: str, resource: str, namespaces: Collection[str]
) -> PlanWarning:
    """Namespaces that a queue and a ResourceQuota limit for one resource."""
    names = listed(sorted(namespaces))
    title = scheduler_of(kind).title
    verb = "is" if len(namespaces) == 1 else "are"
    text = (
        f"{resource} in {names} {verb} limited twice: by {kind} {queue} and by a ResourceQuota. "
        f"{title} admits work first, and the quota can then reject its pods."
    )
    return PlanWarning(WarningCode.LIMITED_TWICE, text, f"{kind} {queue}")


def covered(manifest: Manifest, kind: str) -> set[str]:
    """The resources that a queue limits; empty text for GPUs of any kind."""
    fields = QUEUE_FIELDS[kind]
    named = {name: fields.resource(name) for name in fields.values(manifest)}
    return {
        resource
        for name, resource in named.items()
        if resource is not None and fields.value(manifest, name) is not None
    }


def twice(
    queues: Mapping[str, Collection[str]],
    served: Mapping[str, Collection[str]],
    quotas: Mapping[str, Collection[str]],
    kind: str,
) -> list[PlanWarning]:
    """Warnings for all queues of a kind.

    Args:
        queues: resources that each queue limits.
        served: namespaces whose work goes to each queue.
        quotas: resources that ResourceQuotas of each namespace limit.
        kind: of the queues.
    """
    found = []
    for queue, resources in sorted(queues.items()):
        for resource in sorted(resources):
            places = {
                name
                for name in served.get(queue, ())
                if resource in quotas.get(name, ())
            }
            if places:
                found.append(limited_twice(kind, queue, resource, places))
    return found
