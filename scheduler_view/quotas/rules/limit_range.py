"""The effect of a LimitRange on a pod that requests no GPU (trap T27).

Kubernetes fills a container's default from `max` if no default is given, so a `max` on GPUs
assigns GPUs to pods that never requested any (pkg/apis/core/v1/defaults.go, plugin limitranger).
The portal warns of it and never changes a LimitRange.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from scheduler_view.clusters.rules.quantity import gpus_or_none
from scheduler_view.clusters.rules.quota_key import NONE_ADDED, Added, resource_of


@dataclass(frozen=True, slots=True)
class Prediction:
    """The effect on a container that requests no GPU.

    Attributes:
        gets: its resulting limit and request in GPUs; 0 if it does not change.
        refused: why its pod is rejected; empty if it is not.
    """

    gets: int = 0
    refused: str = ""


def predict(
    items: Iterable[Mapping[str, Any]], resource: str, added: Added = NONE_ADDED
) -> Prediction:
    """The effect of all LimitRanges of a namespace on a pod without GPUs.

    Args:
        items: their `spec.limits`.
        resource: in Kubernetes' spelling.
        added: resources that an administrator added.
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
    """The GPU resources in the items."""
    return {
        resource
        for item in items
        for part in ("max", "min", "default", "defaultRequest")
        for name in item.get(part) or {}
        if (resource := resource_of(name, added)) is not None
    }


def message(prediction: Prediction, namespace: str, resource: str) -> str:
    """The warning; empty if there is no effect."""
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
