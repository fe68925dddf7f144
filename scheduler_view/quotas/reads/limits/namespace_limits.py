"""Quotas and LimitRanges as rows: what the pods of a namespace may request."""

from collections.abc import Iterator, Mapping
from typing import Any

from scheduler_view.clusters.reads.last_observation import RANGE, Manifest
from scheduler_view.clusters.rules.drift_state import DriftState
from scheduler_view.clusters.rules.live_objects import QUOTA, is_ours
from scheduler_view.clusters.rules.object_key import ObjectKey
from scheduler_view.clusters.rules.quantity import gpus_or_none
from scheduler_view.clusters.rules.quota_key import does_nothing, key_of, resource_of
from scheduler_view.quotas.models import QuotaTarget
from scheduler_view.quotas.reads.limits.limit_row import LimitGroup, LimitRow
from scheduler_view.quotas.reads.limits.observed import ObservedLimits
from scheduler_view.quotas.rules import limit_range
from scheduler_view.quotas.rules.quota_objects import quota_key_of

ALL_PODS = ""
OF_RANGE = ("max", "min", "default", "defaultRequest")


def quota_limits(seen: ObservedLimits) -> Iterator[LimitRow]:
    """Every key of a quota that names a GPU resource."""
    for namespace, name, live in seen.objects.get(QUOTA, ()):
        if not seen.sees(namespace):
            continue
        hard = (live.get("spec") or {}).get("hard") or {}
        for key, value in sorted(hard.items()):
            resource = resource_of(key, seen.added)
            if resource is not None:
                yield _quota(seen, ObjectKey(QUOTA, namespace, name), live, key, value)


def range_limits(seen: ObservedLimits) -> Iterator[LimitRow]:
    """Every GPU resource of a LimitRange."""
    for namespace, name, live in seen.objects.get(RANGE, ()):
        if not seen.sees(namespace):
            continue
        for item in (live.get("spec") or {}).get("limits") or []:
            for resource in sorted(limit_range.ranged_resources([item], seen.added)):
                found = limit_range.predict([item], resource, seen.added)
                yield LimitRow(
                    cluster=seen.cluster.name,
                    group=LimitGroup.NAMESPACES,
                    kind=RANGE,
                    name=name,
                    namespace=namespace,
                    **seen.team_of(namespace),
                    resource=resource,
                    part=str(item.get("type") or ""),
                    limit=_range_text(item, resource, seen),
                    **seen.made(live, ("spec",)),
                    text=limit_range.message(found, namespace, resource),
                    why_not="GPU Ledger does not change LimitRanges.",
                    seen_at=seen.seen_at.get(RANGE),
                )


def tier_of_quota(seen: ObservedLimits, live: Manifest) -> str | None:
    """The tier whose pods a quota counts, "" for all pods; None if it counts other pods."""
    spec = live.get("spec") or {}
    terms = (spec.get("scopeSelector") or {}).get("matchExpressions") or []
    if not terms and not spec.get("scopes"):
        return ALL_PODS
    if len(terms) != 1 or spec.get("scopes"):
        return None
    (term,) = terms
    if (term.get("scopeName"), term.get("operator")) != ("PriorityClass", "In"):
        return None
    values = set(term.get("values") or [])
    for tier in seen.tiers:
        if values == {tier.class_name, *tier.old_classes}:
            return tier.name
    return None


def _quota(
    seen: ObservedLimits, key: ObjectKey, live: Manifest, entry: str, value: object
) -> LimitRow:
    resource = resource_of(entry, seen.added) or ""
    tier = tier_of_quota(seen, live)
    target = _target(seen, key, resource, tier)
    is_own = target is not None and quota_key_of(key.namespace, tier or "") == key
    used = (live.get("status") or {}).get("used") or {}
    sync = seen.sync.get(key)
    why_not = _why_not(seen, key, live, entry, value)
    text = _difference(target, key.namespace, value, is_own=is_own)
    if is_own:
        why_not = "GPU Ledger manages it."
        text = sync.message if sync and sync.changes else ""
    elif not why_not and target is not None and not _is_lower(target, key, value):
        why_not = "GPU Ledger's quota is not higher."
    state = DriftState.NOT_MANAGED.value
    if is_own or sync is not None:
        state = sync.state if sync else "not_compared"
    change = target.version if is_own and target and is_ours(live) else 0
    return LimitRow(
        cluster=seen.cluster.name,
        group=LimitGroup.NAMESPACES,
        kind=QUOTA,
        name=key.name,
        namespace=key.namespace,
        **seen.team_of(key.namespace),
        resource=resource,
        part=_pods_text(live),
        limit=str(value),
        used=str(used.get(entry, "")),
        **seen.made(live, ("spec", "hard", entry), change=change),
        state=state,
        text=does_nothing(entry, seen.added) or text,
        adopts=not why_not,
        why_not=why_not,
        seen_at=seen.seen_at.get(QUOTA),
    )


def _target(
    seen: ObservedLimits, key: ObjectKey, resource: str, tier: str | None
) -> QuotaTarget | None:
    for one in seen.targets:
        if (one.resource, one.tier) == (resource, tier) and key.namespace in one.split:
            return one
    return None


def _is_lower(target: QuotaTarget, key: ObjectKey, value: object) -> bool:
    number = gpus_or_none(str(value))
    return number is not None and number < target.split[key.namespace]


def _difference(
    target: QuotaTarget | None, namespace: str, value: object, *, is_own: bool
) -> str:
    """Another quota of a namespace that has one of GPU Ledger: the lower one applies."""
    number = gpus_or_none(str(value))
    if target is None or number is None or is_own:
        return ""
    ours = target.split[namespace]
    if number == ours:
        return f"The same as GPU Ledger's {ours}: it can be deleted."
    if number < ours:
        return f"GPU Ledger allows {ours} here; {number} applies, the lower one."
    return f"GPU Ledger allows {ours} here, which applies: it is lower."


def _why_not(
    seen: ObservedLimits, key: ObjectKey, live: Manifest, entry: str, value: object
) -> str:
    """Why the number of a quota cannot be adopted; empty if it can."""
    resource = resource_of(entry, seen.added)
    if resource is None or entry != key_of(resource):
        return "It limits nothing."
    if gpus_or_none(str(value)) is None:
        return f"{value} is not a whole number of GPUs."
    if key.namespace not in seen.teams:
        return f"Namespace {key.namespace} has no team: add a rule to Attribution."
    if tier_of_quota(seen, live) is None:
        return "It counts pods that are not those of one tier: adopt its classes first."
    return ""


def _pods_text(live: Manifest) -> str:
    """The pods that a quota counts; empty for all."""
    spec = live.get("spec") or {}
    found = [str(one) for one in spec.get("scopes") or []]
    for term in (spec.get("scopeSelector") or {}).get("matchExpressions") or []:
        words = [term.get("scopeName", ""), term.get("operator", "")]
        found.append(" ".join([*words, ", ".join(sorted(term.get("values") or []))]))
    return "; ".join(one.strip() for one in found)


def _range_text(item: Mapping[str, Any], resource: str, seen: ObservedLimits) -> str:
    """`max 4, default 1`."""
    return ", ".join(
        f"{part} {value}"
        for part in OF_RANGE
        for name, value in (item.get(part) or {}).items()
        if resource_of(name, seen.added) == resource
    )
