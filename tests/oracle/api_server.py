"""Quotas and limits as the API server applies them to one pod, read from the manifests."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from tests.oracle.waits import amount

Manifest = dict[str, Any]


def asked_of(one: Manifest, of: str) -> dict[str, Any]:
    own = one.get("resources", {})
    limits = own.get("limits", {})
    found = {**limits, **own.get("requests", {})} if of == "requests" else limits
    return dict(found)


def counted_of(spec: Manifest, key: str) -> Fraction:
    """What one pod counts for a key: containers together, or the largest init container."""
    if key in ("pods", "count/pods"):
        return Fraction(1)
    of, _, name = key.rpartition(".") if key.startswith("limits.") else ("", "", key)
    name = key.removeprefix("limits.").removeprefix("requests.")
    if key == name and "/" in name:
        return Fraction(0)
    kind = "limits" if of == "limits" or key.startswith("limits.") else "requests"
    each = [
        amount(str(asked_of(one, kind).get(name, "0"))) for one in spec["containers"]
    ]
    first = [
        amount(str(asked_of(one, kind).get(name, "0")))
        for one in spec.get("initContainers", [])
    ]
    return max(sum(each, Fraction(0)), max(first, default=Fraction(0)))


def must_set(spec: Manifest, key: str) -> bool:
    name = key.removeprefix("limits.").removeprefix("requests.")
    if name not in ("cpu", "memory"):
        return False
    kind = "limits" if key.startswith("limits.") else "requests"
    return any(name not in asked_of(one, kind) for one in spec["containers"])


def broken_limit(spec: Manifest, item: Manifest) -> str:
    """What LimitRanger says of a pod of which a container, or all together, break a limit.

    Source: constraints of plugin/pkg/admission/limitranger/admission.go in Kubernetes.
    """
    if item["type"] not in ("Container", "Pod"):
        return ""
    subjects = [_together(spec)] if item["type"] == "Pod" else spec["containers"]
    return next((said for one in subjects for said in _broken(one, item)), "")


def _broken(one: Manifest, item: Manifest) -> Iterator[str]:
    requests, limits = asked_of(one, "requests"), asked_of(one, "limits")
    for name, most in item.get("max", {}).items():
        said = f"maximum {name} usage per {item['type']} is {most}"
        if name not in limits:
            yield f"{said}.  No limit is specified"
        elif amount(str(limits[name])) > amount(str(most)):
            yield f"{said}, but limit is {limits[name]}"
    for name, least in item.get("min", {}).items():
        said = f"minimum {name} usage per {item['type']} is {least}"
        if name not in requests:
            yield f"{said}.  No request is specified"
        elif amount(str(requests[name])) < amount(str(least)):
            yield f"{said}, but request is {requests[name]}"
    for name, ratio in item.get("maxLimitRequestRatio", {}).items():
        said = f"{name} max limit to request ratio per {item['type']} is {ratio}"
        asked, given = (amount(str(x.get(name, "0"))) for x in (requests, limits))
        if not asked:
            yield f"{said}, but no request is specified or request is 0"
        elif name not in limits:
            yield f"{said}, but no limit is specified or limit is 0"
        elif given / asked > amount(str(ratio)):
            yield f"{said}, but provided ratio is {float(given / asked):f}"


def _together(spec: Manifest) -> Manifest:
    found: dict[str, dict[str, str]] = {"requests": {}, "limits": {}}
    for kind, total in found.items():
        for one in spec["containers"]:
            for name, value in asked_of(one, kind).items():
                sum_ = amount(total.get(name, "0")) + amount(str(value))
                total[name] = written(sum_)
    return {"resources": found}


def written(value: Fraction) -> str:
    return f"{value * 1000}m" if value.denominator != 1 else str(value)


def in_scope(quota: Manifest, spec: Manifest) -> bool:
    named = spec.get("priorityClassName", "")
    selectors = quota["spec"].get("scopeSelector", {}).get("matchExpressions", [])
    return all(
        named in one["values"]
        for one in selectors
        if one["scopeName"] == "PriorityClass" and one["operator"] == "In"
    )
