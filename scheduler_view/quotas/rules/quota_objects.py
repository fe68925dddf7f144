"""The objects of quotas and tiers, as they are sent to the API server."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from scheduler_view.clusters.rules.live_objects import CLASS, OWNER, OWNER_LABEL, QUOTA
from scheduler_view.clusters.rules.object_key import ObjectKey
from scheduler_view.clusters.rules.quota_key import key_of
from scheduler_view.quotas.rules.tiers import TierSpec, TierState

# of the quota for all tiers; the quota of one tier has its name as suffix
OBJECT_NAME = "gpu-ledger"


@dataclass(frozen=True, slots=True)
class DesiredQuota:
    """The quota of one team for one resource.

    Attributes:
        tier: only pods of this tier; empty for all pods.
        gpus: for the team; the sum of `split`.
        split: GPUs by namespace.
    """

    team: str
    resource: str
    tier: str
    gpus: int
    split: Mapping[str, int] = field(default_factory=dict)


def quota_key_of(namespace: str, tier: str) -> ObjectKey:
    """The quota object of a namespace, for all tiers or for one."""
    return ObjectKey(QUOTA, namespace, f"{OBJECT_NAME}-{tier}" if tier else OBJECT_NAME)


def class_key_of(name: str) -> ObjectKey:
    """The object of a PriorityClass."""
    return ObjectKey(CLASS, "", name)


def desired_quotas(
    targets: Iterable[DesiredQuota], tiers: Mapping[str, TierState]
) -> dict[ObjectKey, dict[str, Any]]:
    """Quota objects with the complete set of our keys, by object.

    A tier's quota counts the pods of all its versions, so that a new version does not bypass it.
    A quota of a tier that does not exist has no object: nobody knows the classes that it counts.
    """
    found: dict[ObjectKey, dict[str, Any]] = {}
    for target in targets:
        if target.tier and target.tier not in tiers:
            continue
        for namespace, gpus in target.split.items():
            key = quota_key_of(namespace, target.tier)
            if key not in found:
                found[key] = _quota(key, target.tier, tiers)
            hard = found[key]["spec"]["hard"]
            name = key_of(target.resource)
            hard[name] = str(int(hard.get(name, "0")) + gpus)
    return found


def _quota(key: ObjectKey, tier: str, tiers: Mapping[str, TierState]) -> dict[str, Any]:
    spec: dict[str, Any] = {"hard": {}}
    if tier:
        term = {
            "scopeName": "PriorityClass",
            "operator": "In",
            "values": sorted(tiers[tier].classes),
        }
        spec["scopeSelector"] = {"matchExpressions": [term]}
    return {
        "apiVersion": "v1",
        "kind": QUOTA,
        "metadata": metadata(key),
        "spec": spec,
    }


def desired_class(name: str, spec: TierSpec, *, is_current: bool) -> dict[str, Any]:
    """The object of one version of a tier; an earlier one is never the default."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": CLASS,
        "metadata": metadata(class_key_of(name)),
        "value": spec.value,
        "preemptionPolicy": spec.policy,
        "globalDefault": spec.is_default and is_current,
        "description": spec.description,
    }


def metadata(key: ObjectKey) -> dict[str, Any]:
    """Name, namespace and owner label of an object."""
    found: dict[str, Any] = {"name": key.name, "labels": {OWNER_LABEL: OWNER}}
    return found | ({"namespace": key.namespace} if key.namespace else {})


def committed(targets: Iterable[DesiredQuota], resource: str) -> int:
    """Committed GPUs of all quotas of a resource.

    If a team has quotas for all pods and for tiers, the one for all pods counts: the
    others are part of it. Without it, its tiers' quotas are added up.
    """
    general: dict[str, int] = {}
    tiers: dict[str, int] = {}
    for target in targets:
        if target.resource == resource:
            sums = tiers if target.tier else general
            sums[target.team] = sums.get(target.team, 0) + target.gpus
    return sum(general.values()) + sum(
        gpus for team, gpus in tiers.items() if team not in general
    )
