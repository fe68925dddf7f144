"""Quotas, limit ranges and priority classes as observed."""

from collections.abc import Mapping
from dataclasses import dataclass

from scheduler_view.domain.waits.world.lenient import (
    Manifest,
    amounts,
    is_true,
    items,
    part,
    text,
    texts,
    whole,
)


@dataclass(frozen=True, slots=True)
class QuotaObject:
    """A ResourceQuota.

    Attributes:
        hard, used: thousandths by key.
        is_scoped: it counts some pods only.
        classes: priority classes of the pods that it counts; empty for any.
    """

    namespace: str
    name: str
    hard: Mapping[str, int]
    used: Mapping[str, int]
    is_scoped: bool = False
    classes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class LimitRangeObject:
    """A LimitRange: the maximum of each resource in thousandths, by type of object."""

    namespace: str
    name: str
    most: tuple[tuple[str, Mapping[str, int]], ...]


@dataclass(frozen=True, slots=True)
class PriorityClassObject:
    """A PriorityClass."""

    name: str
    value: int
    never_preempts: bool = False
    is_default: bool = False


def quota_object(manifest: Manifest) -> QuotaObject:
    """A ResourceQuota from the API server's JSON."""
    spec = part(manifest, "spec")
    scopes = items(spec, "scopeSelector", "matchExpressions")
    classes = {
        value
        for one in scopes
        if text(one, "scopeName") == "PriorityClass" and text(one, "operator") == "In"
        for value in texts(one, "values")
    }
    return QuotaObject(
        text(manifest, "metadata", "namespace"),
        text(manifest, "metadata", "name"),
        amounts(spec, "hard"),
        amounts(manifest, "status", "used"),
        bool(scopes or texts(spec, "scopes")),
        frozenset(classes),
    )


def limit_range_object(manifest: Manifest) -> LimitRangeObject:
    """A LimitRange from the API server's JSON."""
    return LimitRangeObject(
        text(manifest, "metadata", "namespace"),
        text(manifest, "metadata", "name"),
        tuple(
            (text(one, "type"), amounts(one, "max"))
            for one in items(manifest, "spec", "limits")
        ),
    )


def priority_class_object(manifest: Manifest) -> PriorityClassObject:
    """A PriorityClass from the API server's JSON."""
    return PriorityClassObject(
        text(manifest, "metadata", "name"),
        whole(manifest, "value") or 0,
        text(manifest, "preemptionPolicy") == "Never",
        is_true(manifest, "globalDefault"),
    )
