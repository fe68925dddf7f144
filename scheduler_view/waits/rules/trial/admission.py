"""Whether the API server lets a pod in: limit ranges and every quota that counts it (S13).

As the plugins LimitRanger and ResourceQuota do: defaults first, then minimum, maximum and ratio,
then each key of each quota. Objects decide; a sentence of the API server decides only of a quota
or a limit range that is not known.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter

from scheduler_view.clusters.rules.quota_key import LIMITS, REQUESTS, is_dra
from scheduler_view.waits.rules.placement.index import WorldIndex
from scheduler_view.waits.rules.refusals import AdmissionRefusal, find_quota
from scheduler_view.waits.rules.trial.changed import Changed
from scheduler_view.waits.rules.trial.obstacle import Shortage, Unset, Violation
from scheduler_view.waits.rules.trial.work import Member
from scheduler_view.waits.rules.world.containers import ContainerAsk, reserved
from scheduler_view.waits.rules.world.limits import (
    LimitItem,
    LimitRangeObject,
    QuotaObject,
)
from scheduler_view.waits.rules.world.pod_spec import PodSpec

_PODS = frozenset({"pods", "count/pods"})
_MUST_BE_SET = frozenset(
    f"{prefix}{name}" for prefix in ("", REQUESTS, LIMITS) for name in ("cpu", "memory")
)
"""Keys for which each container needs a value; others count as 0 without one."""


@dataclass(frozen=True, slots=True)
class Entrant:
    """Pods that the API server must let in.

    Attributes:
        before: what they required before the changes.
        spec, asks: what they require now, the defaults of their namespace included.
    """

    member: Member
    before: PodSpec
    spec: PodSpec
    asks: tuple[ContainerAsk, ...]


def entrants_of(changed: Changed) -> list[Entrant]:
    """Pods of the work that are not there yet."""
    ranges = ranges_of(changed)
    found = []
    for member in changed.work.members:
        if member.maker is not None:
            full = [changed.ask(one) for one in member.maker.asks]
            for item in (i for one in ranges for i in one.items):
                if item.type == "Container":
                    full = [_with_defaults(one, item) for one in full]
            spec = _required(changed, member, full)
            found.append(Entrant(member, member.pod.spec, spec, tuple(full)))
    return found


def ranges_of(changed: Changed) -> list[LimitRangeObject]:
    """The limit ranges of the namespace of the work, as changed."""
    known = changed.work.index.limit_ranges_in.get(changed.work.unit.namespace, ())
    return [changed.ranges.get(one.path, one) for one in known]


def _with_defaults(ask: ContainerAsk, item: LimitItem) -> ContainerAsk:
    limits = {**item.limits, **dict(ask.limits)}
    requests = {**item.requests, **dict(ask.requests)}
    return replace(
        ask,
        requests=tuple(sorted(requests.items())),
        limits=tuple(sorted(limits.items())),
    )


def _required(
    changed: Changed, member: Member, full: Iterable[ContainerAsk]
) -> PodSpec:
    """What a pod requires, whose containers are these with their defaults."""
    old, spec = member.pod.spec, changed.spec(member.pod.spec)
    asks = member.maker.asks if member.maker else ()

    def amounts(name: str) -> tuple[tuple[str, int], ...]:
        of = attrgetter(name)
        before, after = reserved(asks, of), reserved(full, of)
        known, less = dict(of(old)), dict(of(spec))
        for resource in {*before, *after}:
            more = after.get(resource, 0) - before.get(resource, 0)
            known[resource] = known.get(resource, 0) + more
            if resource in less and resource in before and not more:
                known[resource] = less[resource]
        return tuple(sorted((n, v) for n, v in known.items() if v > 0))

    if not asks:
        return spec
    return replace(spec, requests=amounts("requests"), limits=amounts("limits"))


def violations(
    asks: Iterable[ContainerAsk], ranges: Iterable[LimitRangeObject]
) -> Iterator[Violation]:
    """Limits that containers with their defaults do not keep."""
    found = list(asks)
    whole = [
        (
            tuple(reserved(found, attrgetter("requests")).items()),
            tuple(reserved(found, attrgetter("limits")).items()),
        )
    ]
    each = [(one.requests, one.limits) for one in found]
    for one in ranges:
        for item in one.items:
            subjects = {"Container": each, "Pod": whole}.get(item.type, [])
            for requests, limits in subjects:
                yield from _violated(one.path, item, dict(requests), dict(limits))


def _violated(
    path: str, item: LimitItem, requests: Mapping[str, int], limits: Mapping[str, int]
) -> Iterator[Violation]:
    def broken(limit: str, name: str, asked: int | None, of: str) -> Violation:
        bound, is_limit = item.bound(limit)[name], of == "limit"
        given = limits.get(name, 0)
        return Violation(path, item.type, limit, name, bound, asked, is_limit, given)

    for name, least in item.least.items():
        if requests.get(name, -1) < least:
            yield broken("min", name, requests.get(name), "request")
        elif limits.get(name, least) < least:
            yield broken("min", name, limits[name], "limit")
    for name, most in item.most.items():
        if name not in limits or limits[name] > most:
            yield broken("max", name, limits.get(name), "limit")
        elif requests.get(name, 0) > most:
            yield broken("max", name, requests[name], "request")
    for name, ratio in item.ratio.items():
        found = _ratio(requests.get(name, 0), limits.get(name, 0))
        if found is None or found > ratio:
            yield broken("ratio", name, found, "limit")


def _ratio(request: int, limit: int) -> int | None:
    """Limit / request in thousandths, rounded up; None if one of them is not set."""
    return -(-1000 * limit // request) if request and limit else None


def said_limit(refusal: AdmissionRefusal, namespace: str) -> Violation:
    """What the API server said of a limit range that is not known, or of an unknown template."""
    name = f"{namespace}/{refusal.name}" if refusal.name else ""
    return Violation(
        name,
        refusal.type,
        refusal.limit,
        refusal.key,
        refusal.hard,
        refusal.requested or None,
        is_limit=refusal.limit != "min",
    )


def used_by(spec: PodSpec, key: str) -> int:
    """What one pod counts for a key of a quota, in thousandths."""
    if key in _PODS:
        return 1000
    if key.startswith(LIMITS):
        return dict(spec.limits).get(key.removeprefix(LIMITS), 0)
    name = key.removeprefix(REQUESTS)
    if key == name and "/" in name:
        return 0  # resources of devices count only with the prefix
    return spec.request(name)


def class_of(index: WorldIndex, spec: PodSpec) -> str:
    """The priority class that the API server gives a pod: its own, else the default."""
    if spec.priority_class:
        return spec.priority_class
    classes = index.world.classes.values()
    return next((one.name for one in classes if one.is_default), "")


def short_quotas(
    changed: Changed, entrants: Iterable[Entrant]
) -> Iterator[Shortage | Unset]:
    """What quotas lack for pods that are not there yet, or for a claim that was refused.

    What they demand comes first, as the API server has it.
    """
    found = list(_short_quotas(changed, entrants))
    yield from sorted(found, key=lambda one: isinstance(one, Shortage))


def _short_quotas(
    changed: Changed, entrants: Iterable[Entrant]
) -> Iterator[Shortage | Unset]:
    index, refusal = changed.work.index, changed.work.finding.refusal
    found, namespace = list(entrants), changed.work.unit.namespace
    for quota in index.quotas_in.get(namespace, ()):
        own = [one for one in found if _counts(changed, quota, one)]
        if own:
            yield from _short(changed, quota, own)
        if refusal is not None and refusal.name == quota.name:
            refusal = None if found else refusal
    if refusal is not None and refusal.name:
        yield from _said(changed, f"{namespace}/{refusal.name}", refusal)


def _counts(changed: Changed, quota: QuotaObject, entrant: Entrant) -> bool:
    """Whether a quota counts pods; one that refused them does, whatever its scopes seem to say."""
    index, refusal = changed.work.index, changed.work.finding.refusal
    if quota.counts(entrant.spec, class_of(index, entrant.spec)):
        return True
    is_said = refusal is not None and refusal.name == quota.name
    before, now = entrant.before, entrant.spec
    return (
        is_said
        and before.priority_class == now.priority_class
        and not quota.counts(before, class_of(index, before))
    )


def _short(
    changed: Changed, quota: QuotaObject, entrants: list[Entrant]
) -> Iterator[Shortage | Unset]:
    unset = _unset(quota, [ask for one in entrants for ask in one.asks])
    if unset:
        yield Unset(quota.path, unset)
    for key, limit in quota.hard.items():
        requested = sum(
            e.member.count * _asked(changed, quota, e, key) for e in entrants
        )
        used = quota.used.get(key, 0) - _freed(changed, quota, key)
        hard = changed.hard.get((quota.path, key), limit)
        if requested and used + requested > hard:
            yield Shortage(quota.path, key, requested, used, hard)


def _asked(changed: Changed, quota: QuotaObject, entrant: Entrant, key: str) -> int:
    """What one pod requests: as the API server counted it, less what changes take away."""
    own, refusal = used_by(entrant.spec, key), changed.work.finding.refusal
    is_said = refusal is not None and refusal.name == quota.name
    if refusal is None or not is_said or key not in refusal.amounts:
        return own
    return refusal.amounts[key][0] + own - used_by(entrant.before, key)


def _freed(changed: Changed, quota: QuotaObject, key: str) -> int:
    """What pods that have ended were counted for."""
    index = changed.work.index
    return sum(
        1000 * index.devices_requested(pod) if is_dra(key) else used_by(pod.spec, key)
        for pod in changed.ended.values()
        if pod.namespace == quota.namespace
        and quota.counts(pod.spec, class_of(index, pod.spec))
    )


def _unset(quota: QuotaObject, asks: list[ContainerAsk]) -> tuple[str, ...]:
    found = []
    for key in sorted(quota.hard.keys() & _MUST_BE_SET):
        name = key.removeprefix(LIMITS).removeprefix(REQUESTS)
        of = attrgetter("limits" if key.startswith(LIMITS) else "requests")
        if any(name not in dict(of(one)) for one in asks):
            found.append(key)
    return tuple(found)


def _said(
    changed: Changed, path: str, refusal: AdmissionRefusal
) -> Iterator[Shortage | Unset]:
    """What the API server said: of a quota that is not known, or of a claim."""
    index, unit = changed.work.index, changed.work.unit
    live = find_quota(index, unit.namespace, refusal.name)
    quota = live or QuotaObject(unit.namespace, refusal.name, {}, {})
    if refusal.must_specify and not changed.asks:
        yield Unset(path, refusal.must_specify)
    for key, (requested, used, limited) in refusal.amounts.items():
        held = quota.used.get(key, used) - _freed(changed, quota, key)
        hard = changed.hard.get((path, key), quota.hard.get(key, limited))
        need = requested * max(1, changed.work.count)
        if held + need > hard:
            yield Shortage(path, key, need, held, hard)
