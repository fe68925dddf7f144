"""Computes a plan: reads the cluster, compares, and checks the steps by a dry run.

Nothing is stored here; `changes.actions.store_plan` stores the result.
"""

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime

from accounting.access.models.teams import Team
from accounting.metering.models.cluster import Cluster
from accounting.metering.reads.resources import added_names
from scheduler_view.changes.client.give_back import give_back
from scheduler_view.changes.client.queues import send_queue
from scheduler_view.changes.rules.edit import (
    Draft,
    Edit,
    QueueEdit,
    QuotaEdit,
    TierEdit,
)
from scheduler_view.changes.rules.steps import (
    Action,
    DesiredObject,
    PlanStep,
    plan_steps,
)
from scheduler_view.changes.tasks.cluster_snapshot import (
    ClusterSnapshot,
    Namespaces,
    foreign_defaults,
    read_classes,
    read_namespaces,
    read_snapshot,
    taken_over,
)
from scheduler_view.changes.tasks.desired_state import (
    Classes,
    DesiredChange,
    DesiredState,
    TargetKey,
    desired_change,
)
from scheduler_view.changes.tasks.queue_plans import (
    QueuePlans,
    plan_queues,
    read_queues,
    values_to_restore,
)
from scheduler_view.clusters.client.client import ClusterClient
from scheduler_view.clusters.client.errors import ClusterError, FieldConflict
from scheduler_view.clusters.rules.live_objects import CLASS, Manifest, is_ours
from scheduler_view.clusters.rules.object_key import ObjectKey
from scheduler_view.clusters.rules.schedulers import QUEUE_FIELDS
from scheduler_view.quotas.reads.namespaces import namespaces_by_team
from scheduler_view.quotas.reads.resource_use import Ask, uses
from scheduler_view.quotas.rules.quota_objects import (
    class_key_of,
    desired_class,
    desired_quotas,
    quota_key_of,
)
from scheduler_view.quotas.rules.split import SplitRule
from scheduler_view.quotas.rules.tiers import TierSpec, version_of

AT_ONCE = 8  # parallel dry runs; the API server's own fairness limits more


Formers = Mapping[ObjectKey, Manifest]  # of an undo: before the change that is undone


@dataclass(frozen=True, slots=True)
class Computed:
    """A plan with the inputs of its text.

    Attributes:
        steps: with the responses to their dry runs.
        namespaces: of each team, by slug, from the current bindings.
        queues: the steps of queues, which are among `steps` too.
    """

    desired: DesiredChange
    steps: Sequence[PlanStep]
    sight: ClusterSnapshot
    namespaces: Mapping[str, Sequence[str]]
    edits: Sequence[Edit] = field(default_factory=tuple)
    queues: QueuePlans = field(default_factory=QueuePlans)


def compute(
    *,
    cluster: Cluster,
    draft: Draft,
    formers: Formers,
    reader: ClusterClient,
    pusher: ClusterClient,
    at: datetime,
) -> Computed:
    """The plan of a draft.

    Args:
        cluster: of the edits.
        draft: the edits, and the objects that a person selected.
        formers: see `formers_of`.
        at: the current time.
        reader, pusher: the two identities; the second sends the dry runs.

    Raises:
        EditsRefused: the edits cannot be fulfilled.
        ClusterError: the cluster cannot be read.
    """
    edits = draft.edits
    places, classes = read_namespaces(reader), read_classes(reader)
    namespaces = _namespaces(places, at)
    live_queues = read_queues(reader, edits)
    desired = desired_change(
        cluster,
        edits,
        namespaces,
        _peaks(cluster, edits, namespaces, at),
        _classes(edits, classes),
        values_to_restore(edits, live_queues),
    )
    queues = plan_queues(edits, desired, live_queues, set(draft.forced), formers)
    wanted = _wanted(draft, formers, desired, classes)
    about = {one.key.namespace for one in wanted if one.key.namespace}
    sight = read_snapshot(reader, places, classes, about, added_names())
    sight = replace(sight, queues=live_queues)
    observed = sight.observed(one.key for one in wanted)
    steps = plan_steps(wanted, observed)
    objects = {**observed.objects, **live_queues}
    tried = _try_all(pusher, [*steps, *queues.steps], objects)
    return Computed(desired, tried, sight, namespaces, edits, queues)


def _namespaces(places: Namespaces, at: datetime) -> dict[str, list[str]]:
    slugs = dict(Team.objects.values_list("pk", "slug"))
    return {
        slugs[team]: names
        for team, names in namespaces_by_team(places.labels, at).items()
    }


def _peaks(
    cluster: Cluster,
    edits: Sequence[Edit],
    namespaces: Mapping[str, Sequence[str]],
    at: datetime,
) -> dict[TargetKey, Mapping[str, int]]:
    chosen = [
        edit
        for edit in edits
        if isinstance(edit, QuotaEdit) and edit.rule == SplitRule.BY_USE
    ]
    asks = [Ask(edit.resource, namespaces.get(edit.team, [])) for edit in chosen]
    if not asks:
        return {}
    found = uses(cluster.pk, asks, at)
    return {edit.key: use.peaks for edit, use in zip(chosen, found, strict=True)}


def _classes(edits: Sequence[Edit], live: Mapping[str, Manifest]) -> Classes:
    same = {}
    for edit in edits:
        if isinstance(edit, TierEdit):
            same[edit.spec.name] = [
                name
                for name, one in live.items()
                if is_ours(one)
                and name.rpartition("-v")[0] == edit.spec.name
                and version_of(name)
                and one.get("value") == edit.spec.value
                and one.get("preemptionPolicy", "PreemptLowerPriority")
                == edit.spec.policy
            ]
    return Classes(tuple(live), same, foreign_defaults(live, taken_over(edits)))


def _wanted(
    draft: Draft,
    formers: Formers,
    desired: DesiredChange,
    live: Mapping[str, Manifest],
) -> list[DesiredObject]:
    """Every object of the edits, with the complete set of our keys."""
    forced = set(draft.forced)
    before, after = desired.before, desired.after
    keys = _touched(draft.edits, before, after)
    made = desired_quotas(before.targets.values(), before.tiers)
    quotas = desired_quotas(after.targets.values(), after.tiers)
    found = [
        DesiredObject(
            key,
            quotas.get(key),
            str(key) in forced,
            made=made.get(key),
            before=formers.get(key),
        )
        for key in sorted(keys)
    ]
    for edit in draft.edits:
        if isinstance(edit, TierEdit):
            found += _classes_wanted(edit, desired, forced, formers, live)
    return found


def _touched(
    edits: Sequence[Edit], before: DesiredState, after: DesiredState
) -> set[ObjectKey]:
    keys: set[ObjectKey] = set()
    for edit in edits:
        if isinstance(edit, QuotaEdit):
            for desired in (before, after):
                target = desired.targets.get(edit.key)
                names = target.split if target else ()
                keys |= {quota_key_of(name, edit.tier) for name in names}
            continue
        if isinstance(edit, QueueEdit):
            continue
        name = edit.spec.name
        old, new = before.tiers.get(name), after.tiers.get(name)
        if old and new and sorted(old.classes) == sorted(new.classes):
            continue
        for target in after.targets.values():
            if target.tier == name:
                keys |= {quota_key_of(place, name) for place in target.split}
    return keys


def _classes_wanted(
    edit: TierEdit,
    desired: DesiredChange,
    forced: Collection[str],
    formers: Formers,
    live: Mapping[str, Manifest],
) -> list[DesiredObject]:
    name = edit.spec.name
    old, new = desired.before.tiers.get(name), desired.after.tiers.get(name)
    if new is None:
        return [
            DesiredObject(
                key := class_key_of(one),
                None,
                str(key) in forced,
                made=desired_class(one, old.spec, is_current=one == old.class_name),
                before=formers.get(key),
            )
            for one in (old.classes if old else ())
            if old and (one in live or class_key_of(one) in formers)
        ]
    key = class_key_of(new.class_name)
    body = desired_class(new.class_name, new.spec, is_current=True)
    found = [
        DesiredObject(
            key,
            body,
            str(key) in forced,
            replace=edit.in_place,
            before=formers.get(key),
        )
    ]
    for earlier in new.classes[1:]:
        one = live.get(earlier)
        if one is None and (former := formers.get(class_key_of(earlier))):
            found.append(_made_again(earlier, new.spec, former))
        if one is not None and is_ours(one) and one.get("globalDefault"):
            unset = desired_class(earlier, _spec_of(one, new.spec), is_current=False)
            found.append(DesiredObject(class_key_of(earlier), unset))
    return found


def _made_again(name: str, spec: TierSpec, former: Manifest) -> DesiredObject:
    """An earlier class of a tier whose removal is undone."""
    body = desired_class(name, _spec_of(former, spec), is_current=False)
    return DesiredObject(class_key_of(name), body, before=former)


def _spec_of(one: Manifest, spec: TierSpec) -> TierSpec:
    """A tier with the values of one of its classes."""
    return replace(
        spec,
        value=int(one.get("value", spec.value)),
        preempts=one.get("preemptionPolicy") != "Never",
        description=str(one.get("description", "")),
    )


def _try_all(
    pusher: ClusterClient,
    steps: Sequence[PlanStep],
    objects: Mapping[ObjectKey, Manifest | None],
) -> list[PlanStep]:
    """Send each change as a dry run; several in parallel."""
    unsets = any(_unsets_default(step) for step in steps)

    def attempt(step: PlanStep) -> PlanStep:
        step = replace(step, before=objects.get(step.key))
        return _try(pusher, step, default_is_free=not unsets)

    with ThreadPoolExecutor(AT_ONCE) as executor:
        return list(executor.map(attempt, steps))


def _try(pusher: ClusterClient, step: PlanStep, *, default_is_free: bool) -> PlanStep:
    is_sent = step.action in (Action.CREATE, Action.CHANGE, Action.RESTORE)
    body = step.body or (step.former.manifest if step.former else None)
    if not is_sent or step.blocked or body is None:
        return step
    if body.get("globalDefault") and not default_is_free:
        note = "not checked: another class loses the default in the same change"
        return replace(step, note=note)
    try:
        if step.former is not None:
            give_back(pusher, step, step.before)
        elif step.key.kind in QUEUE_FIELDS:
            send_queue(pusher, step, step.before or {}, dry_run=True)
        else:
            pusher.apply(body, dry_run=True, force=step.force, uid=step.pin.uid)
    except FieldConflict as error:
        text = f"conflict with {error.owner} over {', '.join(error.fields)}"
        return replace(step, blocked=text, message=error.message, code=error.code)
    except ClusterError as error:
        return replace(
            step,
            blocked=error.message,
            message=error.message,
            code=error.code,
            is_temporary=error.is_temporary,
        )
    return step


def _unsets_default(step: PlanStep) -> bool:
    return step.key.kind == CLASS and any(
        change.field == "globalDefault" and change.before == "True"
        for change in step.changes
    )
