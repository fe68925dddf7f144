"""Quotas and limits as the API server applies them to one pod, read from the manifests."""

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


def keeps(spec: Manifest, item: Manifest) -> bool:
    """Whether each container, or all together, keep a limit."""
    if item["type"] not in ("Container", "Pod"):
        return True
    subjects = (
        [_together(spec)] if item["type"] == "Pod" else spec["containers"]
    )  # fmt: skip
    for one in subjects:
        requests, limits = asked_of(one, "requests"), asked_of(one, "limits")
        for name, most in item.get("max", {}).items():
            if name not in limits or amount(str(limits[name])) > amount(str(most)):
                return False
        for name, least in item.get("min", {}).items():
            if name not in requests or amount(str(requests[name])) < amount(str(least)):
                return False
        for name, ratio in item.get("maxLimitRequestRatio", {}).items():
            if name not in requests or name not in limits:
                return False
            asked, most = amount(str(requests[name])), amount(str(limits[name]))
            if not asked or most / asked > amount(str(ratio)):
                return False
    return True


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
