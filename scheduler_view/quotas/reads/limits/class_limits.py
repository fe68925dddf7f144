"""Priority classes as rows: which pods are scheduled first, and which preempt others."""

from collections.abc import Iterator

from scheduler_view.clusters.reads.last_observation import Manifest
from scheduler_view.clusters.rules.drift_state import DriftState
from scheduler_view.clusters.rules.live_objects import CLASS
from scheduler_view.quotas.reads.desired import queue_targets
from scheduler_view.quotas.reads.limits.limit_row import LimitGroup, LimitRow
from scheduler_view.quotas.reads.limits.observed import ObservedLimits
from scheduler_view.quotas.rules.quota_objects import class_key_of
from scheduler_view.quotas.rules.tiers import PREEMPTS, TierSpec, tier_faults

WORKLOAD_CLASS = "WorkloadPriorityClass"


def class_limits(seen: ObservedLimits) -> Iterator[LimitRow]:
    """Every class of Kubernetes and Kueue, the highest first; readable by everybody in a team."""
    rows = [*_pod_classes(seen), *_workload_classes(seen)]
    yield from sorted(rows, key=lambda row: (-int(row.limit or 0), row.kind, row.name))


def _pod_classes(seen: ObservedLimits) -> Iterator[LimitRow]:
    changes = {
        name: tier.version
        for tier in seen.tiers
        for name in (tier.class_name, *tier.old_classes)
    }
    tiers = {tier.name for tier in seen.tiers}
    for _, name, live in seen.objects.get(CLASS, ()):
        change = changes.get(name, 0)
        sync = seen.sync.get(class_key_of(name))
        why_not = "GPU Ledger manages it." if change else _why_not(name, live, tiers)
        yield LimitRow(
            cluster=seen.cluster.name,
            group=LimitGroup.CLASSES,
            kind=CLASS,
            name=name,
            limit=str(live.get("value", "")),
            preempts=live.get("preemptionPolicy", PREEMPTS) == PREEMPTS,
            is_default=bool(live.get("globalDefault")),
            **seen.made(live, ("value",), change=change),
            state=sync.state if sync else _state(change),
            text=sync.message if sync and sync.changes else "",
            adopts=not why_not,
            why_not=why_not,
            seen_at=seen.seen_at.get(CLASS),
        )


def _workload_classes(seen: ObservedLimits) -> Iterator[LimitRow]:
    changes = {
        row.name: row.version
        for row in queue_targets(seen.cluster)
        if (row.kind, row.field) == (WORKLOAD_CLASS, "value")
    }
    for _, name, live in seen.objects.get(WORKLOAD_CLASS, ()):
        change = changes.get(name, 0)
        yield LimitRow(
            cluster=seen.cluster.name,
            group=LimitGroup.CLASSES,
            kind=WORKLOAD_CLASS,
            name=name,
            limit=str(live.get("value", "")),
            **seen.made(live, ("value",), change=change),
            state=_state(change),
            adopts=not change and "value" in live,
            why_not="GPU Ledger manages it."
            if change
            else ("" if "value" in live else "It has no value."),
            seen_at=seen.seen_at.get(WORKLOAD_CLASS),
        )


def _why_not(name: str, live: Manifest, tiers: set[str]) -> str:
    """Why a class cannot become a tier; empty if it can."""
    if "value" not in live:
        return "It has no value."
    if name.startswith("system-"):
        return "It is Kubernetes' own."
    if name in tiers:
        return f"GPU Ledger has a tier of the name {name}."
    description = str(live.get("description") or "")
    spec = TierSpec(name, live["value"], description=description)
    faults = tier_faults(spec)
    return f"{faults[0][:1].upper()}{faults[0][1:]}." if faults else ""


def _state(change: int) -> str:
    return "not_compared" if change else DriftState.NOT_MANAGED.value
