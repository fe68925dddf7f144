"""What would let pods in that the API server refuses: quotas and limit ranges (S13)."""

from collections.abc import Iterator, Sequence

from scheduler_view.clusters.rules.quota_key import LIMITS, REQUESTS, resource_of
from scheduler_view.waits.rules.cause import Overlay, WaitCause
from scheduler_view.waits.rules.explanation import Remedy, WaitChange, remedy
from scheduler_view.waits.rules.placement.index import WorldIndex
from scheduler_view.waits.rules.refusals import AdmissionRefusal, find_quota
from scheduler_view.waits.rules.remedies.case import WaitCase
from scheduler_view.waits.rules.remedies.ends import ended_sets, scaled
from scheduler_view.waits.rules.trial.obstacle import (
    Obstacle,
    Shortage,
    Unset,
    Violation,
    amount,
)
from scheduler_view.waits.rules.world.lenient import quantity


def quota_remedies(case: WaitCase, found: Sequence[Obstacle]) -> Iterator[Remedy]:
    """What quotas demand, else larger ones for all pods that are missing, or fewer pods."""
    details = [one.detail for one in found]
    unset = [one for one in details if isinstance(one, Unset)]
    short = [one for one in details if isinstance(one, Shortage)]
    if unset:
        yield Remedy(tuple(_requests(unset)))
        return
    if Overlay.OWN_ROLLOUT in case.overlays:
        yield remedy("allow_unavailable", object=case.unit.subject, to=1)
    yield Remedy(tuple(_raised(case, one) for one in short))
    yield from ended_sets(case, case.sets)
    yield from scaled(case)
    yield from _lower_tiers(case, short)


def _requests(unset: list[Unset]) -> Iterator[WaitChange]:
    """Each resource once, whichever quotas demand it."""
    for key in dict.fromkeys(key for one in unset for key in one.keys):
        if key.startswith(LIMITS):
            details = {"resource": key.removeprefix(LIMITS), "key": key}
            yield WaitChange("add_request", details)
        else:
            yield WaitChange("add_request", {"resource": key.removeprefix(REQUESTS)})


def _raised(case: WaitCase, one: Shortage) -> WaitChange:
    pods = 1 if case.unit.gang_size is not None else case.finding.votes
    index, to = case.findings.index, one.used + one.requested * pods
    details = {"quota": one.quota, "key": one.key, "to": amount(index, one.key, to)}
    return WaitChange("raise_quota", details)


def _lower_tiers(case: WaitCase, short: list[Shortage]) -> Iterator[Remedy]:
    """The highest lower class that these quotas do not count, else none at all."""
    index, spec = case.findings.index, case.finding.spec
    quotas = [find_quota(index, *one.quota.split("/", 1)) for one in short]
    if spec is None or not all(one is not None and one.scopes for one in quotas):
        return
    own = index.world.priority_of(spec)
    lower = [c for c in index.world.classes.values() if c.value < own]
    for one in sorted(lower, key=lambda c: (-c.value, c.name)):
        if not any(one.name in q.classes for q in quotas if q is not None):
            yield remedy("lower_tier", name=one.name)
            return
    yield remedy("lower_tier")


def limit_remedies(case: WaitCase, found: Sequence[Obstacle]) -> Iterator[Remedy]:
    """Requests and limits within the ranges, or wider ranges; all that are violated together."""
    broken = [one.detail for one in found if isinstance(one.detail, Violation)]
    index = case.findings.index
    yield _once([_within(index, one) for one in broken])
    wider = [change for one in broken if (change := _wider(index, one))]
    if len(wider) == len(broken):
        yield _once(wider)


def _once(changes: list[WaitChange]) -> Remedy:
    return Remedy(tuple(c for n, c in enumerate(changes) if c not in changes[:n]))


def _within(index: WorldIndex, one: Violation) -> WaitChange:
    bound = quantity(one.bound)
    details = {"resource": one.resource, "to": bound, "type": one.type}
    if one.limit == "min":
        return WaitChange("grow_request", details)
    if one.limit == "ratio":
        return _less_apart(one)
    if one.asked is None:
        return WaitChange("set_limit", details)
    if resource_of(one.resource, index.world.added):
        return WaitChange("shrink_request", {"units": one.bound // 1000})
    return WaitChange("shrink_request", {"resource": one.resource, "to": bound})


def _less_apart(one: Violation) -> WaitChange:
    """A larger request, so that the limit is at most the ratio times as much; or both at all."""
    if one.asked is None:
        key = f"{LIMITS}{one.resource}"
        return WaitChange("add_request", {"resource": one.resource, "key": key})
    least = -(-1000 * one.limit_amount // one.bound)
    details = {"resource": one.resource, "to": quantity(least), "type": one.type}
    return WaitChange("grow_request", details)


def _wider(index: WorldIndex, one: Violation) -> WaitChange | None:
    if not one.asked:
        return None
    is_gpu = resource_of(one.resource, index.world.added) and one.limit != "ratio"
    return WaitChange(
        "raise_limit_range",
        {
            "name": one.range,
            "limit": one.limit,
            "type": one.type,
            "resource": one.resource,
            "to": one.asked // 1000 if is_gpu else quantity(one.asked),
        },
    )


def quota_facts(index: WorldIndex, refusal: AdmissionRefusal) -> dict[str, object]:
    """The quota or limit that refused, in whole units of GPUs."""
    if refusal.cause is WaitCause.LIMIT_RANGE:
        bound = {refusal.key: quantity(refusal.hard)}
        return {
            "limit": {"name": refusal.name, "type": refusal.type, refusal.limit: bound}
        }
    if refusal.must_specify:
        facts: dict[str, object] = {"name": refusal.name, "must_specify": True}
        facts |= {"key": refusal.key, "unset": list(refusal.must_specify)}
        return {"quota": facts}
    if not refusal.key:
        return {"missing": refusal.name} if refusal.name else {}
    found: dict[str, object] = {"name": refusal.name, "key": refusal.key}
    for name in ("hard", "used", "requested"):
        found[name] = amount(index, refusal.key, getattr(refusal, name))
    if refusal.classes:
        found["scope"] = {"PriorityClass": sorted(refusal.classes)}
    return {"quota": found}
