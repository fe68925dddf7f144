"""Quotas, limit ranges and priority classes as observed."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from scheduler_view.waits.rules.world.lenient import (
    Manifest,
    amounts,
    is_true,
    items,
    part,
    text,
    texts,
    whole,
)
from scheduler_view.waits.rules.world.pod_spec import PodSpec


@dataclass(frozen=True, slots=True)
class QuotaScope:
    """Which pods a quota counts; operators other than In and NotIn are about having a value."""

    name: str
    operator: str = "Exists"
    values: frozenset[str] = frozenset()

    def counts(self, spec: PodSpec, priority_class: str) -> bool:
        """Whether a pod is in the scope."""
        if self.name == "PriorityClass":
            if self.operator in ("In", "NotIn"):
                return (priority_class in self.values) == (self.operator == "In")
            return bool(priority_class) == (self.operator == "Exists")
        if self.name in ("Terminating", "NotTerminating"):
            return (spec.deadline_s is not None) == (self.name == "Terminating")
        if self.name in ("BestEffort", "NotBestEffort"):
            amounts = dict((*spec.requests, *spec.limits))
            is_best_effort = not amounts.keys() & {"cpu", "memory"}
            return is_best_effort == (self.name == "BestEffort")
        if self.name == "CrossNamespacePodAffinity":
            terms = (*spec.affinity, *spec.anti_affinity)
            return any(
                one.namespaces or one.namespace_selector is not None for one in terms
            )
        return False


@dataclass(frozen=True, slots=True)
class QuotaObject:
    """A ResourceQuota.

    Attributes:
        hard, used: thousandths by key.
        scopes: it counts only pods that are in all of them.
    """

    namespace: str
    name: str
    hard: Mapping[str, int]
    used: Mapping[str, int]
    scopes: tuple[QuotaScope, ...] = ()

    @property
    def path(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"

    @property
    def classes(self) -> frozenset[str]:
        """Priority classes of the pods that it counts; empty for any."""
        named = (one.values for one in self.scopes if one.operator == "In")
        return frozenset().union(*named)

    def counts(self, spec: PodSpec, priority_class: str) -> bool:
        """Whether it counts a pod."""
        return all(one.counts(spec, priority_class) for one in self.scopes)


@dataclass(frozen=True, slots=True)
class LimitItem:
    """What a LimitRange says of one type of object: thousandths by resource.

    Attributes:
        ratio: the largest limit / request, in thousandths.
    """

    type: str
    least: Mapping[str, int] = field(default_factory=dict)
    most: Mapping[str, int] = field(default_factory=dict)
    limits: Mapping[str, int] = field(default_factory=dict)
    requests: Mapping[str, int] = field(default_factory=dict)
    ratio: Mapping[str, int] = field(default_factory=dict)

    def bound(self, name: str) -> Mapping[str, int]:
        """`min`, `max` or `ratio`."""
        return {"min": self.least, "max": self.most}.get(name, self.ratio)


@dataclass(frozen=True, slots=True)
class LimitRangeObject:
    """A LimitRange."""

    namespace: str
    name: str
    items: tuple[LimitItem, ...]

    @property
    def path(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"


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
    scopes = [QuotaScope(one) for one in texts(spec, "scopes")]
    scopes += [
        QuotaScope(
            text(one, "scopeName"),
            text(one, "operator"),
            frozenset(texts(one, "values")),
        )
        for one in items(spec, "scopeSelector", "matchExpressions")
    ]
    return QuotaObject(
        text(manifest, "metadata", "namespace"),
        text(manifest, "metadata", "name"),
        amounts(spec, "hard"),
        amounts(manifest, "status", "used"),
        tuple(scopes),
    )


def limit_range_object(manifest: Manifest) -> LimitRangeObject:
    """A LimitRange from the API server's JSON, which has filled in its defaults."""
    return LimitRangeObject(
        text(manifest, "metadata", "namespace"),
        text(manifest, "metadata", "name"),
        tuple(
            LimitItem(
                text(one, "type"),
                amounts(one, "min"),
                amounts(one, "max"),
                amounts(one, "default"),
                amounts(one, "defaultRequest"),
                amounts(one, "maxLimitRequestRatio"),
            )
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
