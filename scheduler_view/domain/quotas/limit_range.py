"""What a LimitRange does to a pod that asks for no GPU (trap T27).

Kubernetes fills a container's default from `max` when no default is given, so a `max` on GPUs
hands GPUs to pods that never asked (pkg/apis/core/v1/defaults.go, plugin limitranger).
The portal warns of it and never changes a LimitRange.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from scheduler_view.domain.quotas.quantity import gpus_or_none
from scheduler_view.domain.quotas.quota_key import NONE_ADDED, Added, resource_of


@dataclass(frozen=True, slots=True)
class Prediction:
    """What happens to a container that names no GPU.

    Attributes:
        gets: GPUs that its limit and request become; 0 when it stays as it is.
        refused: why its pod is refused; empty when it is not.
    """

    gets: int = 0
    refused: str = ""

    @property
    def is_harmless(self) -> bool:
        """True when nothing happens."""
        return not self.gets and not self.refused


def predict(
    items: Iterable[Mapping[str, Any]], resource: str, added: Added = NONE_ADDED
) -> Prediction:
    """What the items of all LimitRanges of a namespace do to a pod without GPUs.

    Args:
        items: `spec.limits` of them.
        resource: in Kubernetes' spelling.
        added: resources that an administrator named.
    """
    worst = Prediction()
    for item in items:
        found = _of_item(item, resource, added)
        if found.refused:
            return found
        worst = max(worst, found, key=lambda one: one.gets)
    return worst


def ranged_resources(
    items: Iterable[Mapping[str, Any]], added: Added = NONE_ADDED
) -> set[str]:
    """GPU resources of the items."""
    return {
        resource
        for item in items
        for part in ("max", "min", "default", "defaultRequest")
        for name in item.get(part) or {}
        if (resource := resource_of(name, added)) is not None
    }


def message(prediction: Prediction, namespace: str, resource: str) -> str:
    """The warning; empty for a harmless one."""
    if prediction.refused:
        return (
            f"A LimitRange in {namespace} rejects pods that request no {resource}: "
            f"{prediction.refused}"
        )
    if prediction.gets:
        return (
            f"A LimitRange in {namespace} has a maximum or default for {resource}: each "
            f"container without a request gets {prediction.gets}, which counts against the "
            "quota. To avoid this, set an explicit default of 0."
        )
    return ""


def _of_item(item: Mapping[str, Any], resource: str, added: Added) -> Prediction:
    def amount(part: str) -> int | None:
        for name, value in (item.get(part) or {}).items():
            if resource_of(name, added) == resource:
                return gpus_or_none(value)
        return None

    kind = item.get("type")
    most, least = amount("max"), amount("min")
    if kind == "Pod":
        if most is not None:
            return Prediction(refused=f"at most {most} per pod, and no limit is set")
        if least is not None:
            return Prediction(
                refused=f"at least {least} per pod, and none is requested"
            )
    if kind != "Container":
        return Prediction()
    limit = amount("default")
    limit = most if limit is None else limit
    request = amount("defaultRequest")
    request = limit if request is None else request
    request = least if request is None else request
    if limit is None and request:
        return Prediction(refused=f"it gets a request of {request} and no limit")
    if least is not None and (limit or 0) < least:
        return Prediction(refused=f"at least {least} per container")
    return Prediction(gets=limit or 0)
