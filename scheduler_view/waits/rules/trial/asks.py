"""Changes of what the containers of a template request, and of the ranges that limit them."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from scheduler_view.clusters.rules.quota_key import LIMITS, REQUESTS
from scheduler_view.waits.rules.cause import WaitCause
from scheduler_view.waits.rules.trial.changed import Changed
from scheduler_view.waits.rules.world.containers import Amounts, ContainerAsk
from scheduler_view.waits.rules.world.lenient import milli
from scheduler_view.waits.rules.world.limits import LimitItem

Details = Mapping[str, Any]
_LEAST = 1  # thousandths: the smallest request, where the change leaves the amount open


def shrink_request(changed: Changed, details: Details) -> None:
    """At most so much of a resource, of GPUs if none is named."""
    gpus = changed.work.verdicts.resources if changed.work.verdicts else {}
    names = [details["resource"]] if "resource" in details else list(gpus)
    most = (milli(details["to"]) or 0) if "to" in details else 1000 * details["units"]

    def smaller(found: Amounts) -> Amounts:
        return tuple((n, min(v, most) if n in names else v) for n, v in found)

    _reask(changed, smaller)
    if not names:
        changed.devices = details["units"]


def change_request(changed: Changed, details: Details) -> None:
    """Another resource in the place of the GPU resource."""
    gpus = changed.work.verdicts.resources if changed.work.verdicts else {}

    def other(found: Amounts) -> Amounts:
        names = ((details["resource"] if n in gpus else n, v) for n, v in found)
        return tuple(sorted(names))

    _reask(changed, other)


def _reask(changed: Changed, of: Callable[[Amounts], Amounts]) -> None:
    """Changes requests and limits alike, of the pod and of its containers."""
    changed.cleared.add(WaitCause.LIMIT_RANGE)
    changed.asks.append(
        lambda one: replace(one, requests=of(one.requests), limits=of(one.limits))
    )
    changed.specs.append(
        lambda spec: replace(spec, requests=of(spec.requests), limits=of(spec.limits))
    )


def grow_request(changed: Changed, details: Details) -> None:
    """At least so much of a resource in each container; limits that are lower follow."""
    name, least = details["resource"], milli(details["to"]) or 0

    def ask(one: ContainerAsk) -> ContainerAsk:
        limits = dict(one.limits)
        if name in limits:
            limits[name] = max(limits[name], least)
        requests = dict(one.requests)
        requests[name] = max(requests.get(name, 0), least)
        return _with(one, requests, limits)

    _of_containers(changed, ask)


def add_request(changed: Changed, details: Details) -> None:
    """Some request, or limit, of a resource in each container that has none."""
    key = details.get("key", details["resource"])
    name = key.removeprefix(LIMITS).removeprefix(REQUESTS)

    def ask(one: ContainerAsk) -> ContainerAsk:
        requests = {name: _LEAST} | dict(one.requests)
        limits = dict(one.limits)
        if key.startswith(LIMITS):
            limits = {name: requests[name]} | limits
        return _with(one, requests, limits)

    _of_containers(changed, ask)


def set_limit(changed: Changed, details: Details) -> None:
    """A limit of at most so much in each container, at least what it requests."""
    name, most = details["resource"], milli(details["to"]) or 0

    def ask(one: ContainerAsk) -> ContainerAsk:
        requests, limits = dict(one.requests), dict(one.limits)
        limits[name] = min(limits.get(name, requests.get(name, _LEAST)), most)
        requests.setdefault(name, limits[name])
        return _with(one, requests, limits)

    _of_containers(changed, ask)


def _with(
    one: ContainerAsk, requests: Mapping[str, int], limits: Mapping[str, int]
) -> ContainerAsk:
    return replace(
        one,
        requests=tuple(sorted(requests.items())),
        limits=tuple(sorted(limits.items())),
    )


def _of_containers(
    changed: Changed, ask: Callable[[ContainerAsk], ContainerAsk]
) -> None:
    changed.cleared.add(WaitCause.LIMIT_RANGE)
    changed.asks.append(ask)


def raise_limit_range(changed: Changed, details: Details) -> None:
    """A bound of a range is another one."""
    changed.cleared.add(WaitCause.LIMIT_RANGE)
    known = changed.work.index.limit_ranges_in.get(changed.work.unit.namespace, ())
    found = next((one for one in known if one.path == details["name"]), None)
    if found is None:
        return
    found = changed.ranges.get(found.path, found)
    to = milli(details["to"]) or 0

    def other(item: LimitItem) -> LimitItem:
        if item.type != details["type"]:
            return item
        bounds = {**item.bound(details["limit"]), details["resource"]: to}
        if details["limit"] == "min":
            return replace(item, least=bounds)
        is_most = details["limit"] == "max"
        return replace(item, most=bounds) if is_most else replace(item, ratio=bounds)

    items = tuple(other(item) for item in found.items)
    changed.ranges[found.path] = replace(found, items=items)
