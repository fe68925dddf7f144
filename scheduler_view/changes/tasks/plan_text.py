"""The text of a plan: effects from the ledger and prices, warnings from the cluster."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from accounting.access.models.teams import Team
from accounting.access.reads.billing_settings import billing_at
from accounting.metering.models.cluster import Cluster
from scheduler_view.changes.rules.edit import QuotaEdit, TierEdit
from scheduler_view.changes.rules.effects import (
    ClassFacts,
    Effect,
    EffectCode,
    QuotaFacts,
    ResourceFacts,
    class_effects,
    quota_effects,
    resource_effect,
)
from scheduler_view.changes.rules.headline import move_of, summary
from scheduler_view.changes.rules.warnings import (
    PlanWarning,
    limit_range_warnings,
    namespace_warnings,
    object_warnings,
    second_default,
)
from scheduler_view.changes.tasks.cluster_snapshot import taken_over
from scheduler_view.changes.tasks.planner import Computed
from scheduler_view.changes.tasks.queue_text import (
    effects_of_queues,
    warnings_of_queues,
)
from scheduler_view.clusters.rules.live_objects import Manifest
from scheduler_view.clusters.rules.quantity import gpus_or_none
from scheduler_view.clusters.rules.quota_key import key_of
from scheduler_view.clusters.rules.wording import counted
from scheduler_view.quotas.reads.resource_use import (
    Ask,
    Use,
    idle_percents,
    pods_by_class,
    uses,
)
from scheduler_view.quotas.reads.supply import rates_of, supply_of
from scheduler_view.quotas.rules.headroom import limited_by
from scheduler_view.quotas.rules.quota_objects import (
    DesiredQuota,
    committed,
    quota_key_of,
)
from scheduler_view.quotas.rules.spend import UnitRates


def plan_text_of(cluster: Cluster, plan: Computed, at: datetime) -> dict[str, Any]:
    """Summary, effects and warnings, as stored with a change set."""
    effects = [
        *_quota_effects(cluster, plan, at),
        *_tier_effects(cluster, plan),
        *effects_of_queues(plan),
    ]
    moves = [
        move_of(edit, back, {})
        for edit, back in zip(plan.edits, plan.desired.reverse, strict=True)
    ]
    return {
        "summary": summary(moves, (step.action for step in plan.steps)),
        "effects": [asdict(effect) for effect in effects],
        "warnings": [
            asdict(warning)
            for warning in (*_warnings(plan), *warnings_of_queues(cluster, plan))
        ],
        "teams": _teams(plan),
        "read_at": at.isoformat(),
    }


def _teams(plan: Computed) -> dict[str, str]:
    """The team of each namespace in a step: its members may read the step.

    A namespace that has moved to another team since its quota was created belongs to none here.
    """
    now = {name: team for team, own in plan.namespaces.items() for name in own}
    before: dict[str, set[str]] = {}
    for target in plan.desired.before.targets.values():
        for namespace in target.split:
            before.setdefault(namespace, set()).add(target.team)
    found = {}
    for name in {step.key.namespace for step in plan.steps}:
        teams = before.get(name, set()) | ({now[name]} if name in now else set())
        if len(teams) == 1:
            found[name] = teams.pop()
    return dict(sorted(found.items()))


def _quota_effects(cluster: Cluster, plan: Computed, at: datetime) -> list[Effect]:
    edits = [edit for edit in plan.edits if isinstance(edit, QuotaEdit)]
    if not edits:
        return []
    billing = billing_at(at)
    resources = sorted({edit.resource for edit in edits})
    asks = [_ask(edit, plan) for edit in edits] + [
        Ask(resource, None) for resource in resources
    ]
    found = uses(cluster.pk, asks, at, billing.timezone)
    slugs = {edit.team for edit in edits}
    teams = {team.slug: team for team in Team.objects.filter(slug__in=slugs)}
    idle = idle_percents(cluster.pk, [team.pk for team in teams.values()], at)
    supply = supply_of(cluster)
    keys = [(edit.resource, _classes(edit.tier, plan)) for edit in edits]
    rates = rates_of(cluster, supply, keys, at)
    effects: list[Effect] = []
    for edit, key, use in zip(edits, keys, found, strict=False):
        facts = _facts(edit, plan, use, rates[key], billing.currency)
        team = teams.get(edit.team)
        if team is not None:
            facts = replace(facts, name=team.name, idle_percent=idle.get(team.pk))
        effects += quota_effects(facts)
    capacity = plan.sight.offered if plan.sight.offered is not None else supply.capacity
    for resource, use in zip(resources, found[len(edits) :], strict=True):
        effects.append(_committed(resource, plan, use, capacity))
    return effects


def _ask(edit: QuotaEdit, plan: Computed) -> Ask:
    places = plan.namespaces.get(edit.team, [])
    return Ask(edit.resource, places, _classes(edit.tier, plan), edit.gpus)


def _classes(tier: str, plan: Computed) -> tuple[str, ...]:
    for desired in (plan.desired.after, plan.desired.before):
        if tier in desired.tiers:
            return tuple(desired.tiers[tier].classes)
    return ()


def _facts(
    edit: QuotaEdit, plan: Computed, use: Use, rates: UnitRates, currency: str
) -> QuotaFacts:
    before = plan.desired.before.targets.get(edit.key)
    after = plan.desired.after.targets.get(edit.key)
    return QuotaFacts(
        team=edit.team,
        name=edit.team,
        resource=edit.resource,
        tier=edit.tier,
        before=before.gpus if before else None,
        after=edit.gpus,
        in_use=use.now,
        peak=use.peak or None,
        days_over=use.days_over,
        idle_percent=None,
        rates=rates,
        currency=currency,
        split=plan.desired.rules.get(edit.key, ""),
        parts=after.split if after else {},
        found=_units_of_others(edit, plan) if None in (before, after) else {},
        given_back=_units_given_back(edit, plan) if after is None else {},
    )


def _units_of_others(edit: QuotaEdit, plan: Computed) -> dict[str, int]:
    """What quotas of others allow in the namespaces of a quota: the lowest applies.

    Of a quota that is removed, its own objects are left out: they go, or are given back.
    """
    state = plan.desired.before if edit.gpus is None else plan.desired.after
    target = state.targets.get(edit.key)
    found = {}
    for place in target.split if target else ():
        own = quota_key_of(place, edit.tier).name
        quotas = [
            limited_by(one, plan.sight.added)
            for one in plan.sight.quotas.get(place, ())
        ]
        units = [
            one.hard[edit.resource]
            for one in quotas
            if edit.resource in one.hard
            and bool(one.selector) == bool(edit.tier)
            and (edit.gpus is not None or one.name != own)
            and all(map(one.counts, _classes(edit.tier, plan)))
        ]
        if units:
            found[place] = min(units)
    return found


def _units_given_back(edit: QuotaEdit, plan: Computed) -> dict[str, int]:
    before = plan.desired.before.targets.get(edit.key)
    keys = {
        quota_key_of(place, edit.tier) for place in (before.split if before else ())
    }
    formers = {
        step.key.namespace: step.former
        for step in plan.steps
        if step.former and step.key in keys
    }
    return _units({place: one.manifest for place, one in formers.items()}, edit)


def _units(quotas: Mapping[str, Manifest | None], edit: QuotaEdit) -> dict[str, int]:
    found = {}
    for place, one in quotas.items():
        hard = ((one or {}).get("spec") or {}).get("hard") or {}
        units = gpus_or_none(hard.get(key_of(edit.resource)))
        if units is not None:
            found[place] = units
    return found


def _committed(
    resource: str, plan: Computed, use: Use, capacity: Mapping[str, int]
) -> Effect:
    return resource_effect(
        ResourceFacts(
            resource=resource,
            committed_before=committed(plan.desired.before.targets.values(), resource),
            committed_after=committed(plan.desired.after.targets.values(), resource),
            capacity=capacity.get(resource),
            peak=use.peak or None,
        )
    )


def _tier_effects(cluster: Cluster, plan: Computed) -> list[Effect]:
    pods = pods_by_class(cluster.pk)
    effects: list[Effect] = []
    for edit in plan.edits:
        if not isinstance(edit, TierEdit):
            continue
        old = plan.desired.before.tiers.get(edit.spec.name)
        new = plan.desired.after.tiers.get(edit.spec.name)
        if new is None:
            classes = old.classes if old else ()
            held = sum(pods.get(name, 0) for name in classes)
            effects += _removed(edit, held)
            continue
        if old is not None and old.spec == new.spec:
            continue
        effects += class_effects(
            ClassFacts(
                tier=edit.spec.name,
                old_class=old.class_name if old else "",
                new_class=new.class_name,
                old_value=old.spec.value if old else 0,
                new_value=new.spec.value,
                preempts=new.spec.preempts,
                pods=pods.get(old.class_name, 0) if old else 0,
            )
        )
    return effects


def _removed(edit: TierEdit, pods: int) -> list[Effect]:
    verb = "keeps its" if pods == 1 else "keep their"
    text = (
        f"{counted(pods, 'running GPU pod')} of tier {edit.spec.name} {verb} priority. "
        "New pods that use its class are rejected."
    )
    return [Effect(EffectCode.PRIORITY_KEPT, text)]


def _warnings(plan: Computed) -> list[PlanWarning]:
    sight = plan.sight
    observed = sight.observed(step.key for step in plan.steps)
    found = object_warnings(plan.steps, observed)
    targets = plan.desired.after.targets.values()
    for namespace, quotas in sorted(sight.quotas.items()):
        limited = _limits(targets, namespace)
        offered: Sequence[str] = list(sight.offered or ())
        found += namespace_warnings(namespace, limited, quotas, offered, sight.added)
        found += limit_range_warnings(
            namespace, sight.ranges.get(namespace, ()), sight.added
        )
    if any(isinstance(edit, TierEdit) and edit.spec.is_default for edit in plan.edits):
        taken = taken_over(plan.edits)
        others = (one for name, one in sight.classes.items() if name not in taken)
        found += second_default(others)
    return found


def _limits(targets: Iterable[DesiredQuota], namespace: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for target in targets:
        if not target.tier and namespace in target.split:
            found[target.resource] = (
                found.get(target.resource, 0) + target.split[namespace]
            )
    return found
