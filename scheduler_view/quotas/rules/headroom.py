"""The remaining quota: use as Kubernetes counts it, not as held (T26).

`used` counts pods that are not finished, including unscheduled ones; `held` counts bound pods.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scheduler_view.clusters.rules.quantity import gpus_or_none
from scheduler_view.clusters.rules.quota_key import (
    NONE_ADDED,
    Added,
    key_of,
    resource_of,
)

PRIORITY_CLASS = "PriorityClass"


@dataclass(frozen=True, slots=True)
class LimitedBy:
    """One quota's keys, and the pods that it counts."""

    name: str
    selector: Sequence[Mapping[str, Any]]
    hard: Mapping[str, int]  # by resource
    used: Mapping[str, int]

    def counts(self, priority_class: str) -> bool:
        """True if it counts pods of a class; scopes other than PriorityClass count."""
        return all(_selects(term, priority_class) for term in self.selector)


def limited_by(quota: Mapping[str, Any], added: Added = NONE_ADDED) -> LimitedBy:
    """The limits of a live ResourceQuota."""
    spec, status = quota.get("spec") or {}, quota.get("status") or {}
    terms = list((spec.get("scopeSelector") or {}).get("matchExpressions") or [])
    return LimitedBy(
        name=quota["metadata"]["name"],
        selector=terms,
        hard=_by_resource(spec.get("hard") or {}, added),
        used=_by_resource(status.get("used") or {}, added),
    )


def room(quotas: Iterable[LimitedBy], resource: str, priority_class: str) -> int | None:
    """GPUs that a new pod may request: the minimum over all quotas that count it.

    None if none of them limits the resource.
    """
    left = [
        max(0, quota.hard[resource] - quota.used.get(resource, 0))
        for quota in quotas
        if resource in quota.hard and quota.counts(priority_class)
    ]
    return min(left, default=None)


def _selects(term: Mapping[str, Any], priority_class: str) -> bool:
    if term.get("scopeName") != PRIORITY_CLASS:
        return True
    values = term.get("values") or []
    match term.get("operator"):
        case "In":
            return priority_class in values
        case "NotIn":
            return priority_class not in values
        case "Exists":
            return bool(priority_class)
        case "DoesNotExist":
            return not priority_class
    return True


def _by_resource(keys: Mapping[str, Any], added: Added) -> dict[str, int]:
    found: dict[str, int] = {}
    for key, value in keys.items():
        resource = resource_of(key, added)
        number = gpus_or_none(value)
        is_counted = resource is not None and key == key_of(resource)
        if resource and number is not None and is_counted:
            found[resource] = number
    return found
