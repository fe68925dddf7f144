"""Live objects as the API server sends them, with their managed fields."""

from collections.abc import Mapping
from typing import Any

from scheduler_view.clusters.rules.live_objects import OWNER, OWNER_LABEL


def quota(
    hard: Mapping[str, str],
    *,
    name: str = "gpu-ledger",
    namespace: str = "vision",
    managers: Mapping[str, tuple[str, ...]] | None = None,
    used: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    uid: str = "u1",
    classes: tuple[str, ...] = (),
) -> dict[str, Any]:
    """A quota; `managers` by name with the keys they set; ours sets all by default."""
    fields = {"gpu-ledger": tuple(hard)} if managers is None else managers
    spec: dict[str, Any] = {"hard": dict(hard)}
    if classes:
        term = {"scopeName": "PriorityClass", "operator": "In", "values": list(classes)}
        spec["scopeSelector"] = {"matchExpressions": [term]}
    return {
        "kind": "ResourceQuota",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": uid,
            "resourceVersion": "7",
            "labels": {OWNER_LABEL: OWNER} if labels is None else dict(labels),
            "managedFields": [
                {
                    "manager": manager,
                    "operation": "Apply",
                    "fieldsV1": {
                        "f:spec": {"f:hard": {f"f:{key}": {} for key in keys}}
                    },
                }
                for manager, keys in fields.items()
            ],
        },
        "spec": spec,
        "status": {"hard": dict(hard), "used": dict(used or {})},
    }


def priority_class(
    name: str, value: int, *, is_default: bool = False, is_ours: bool = True
) -> dict[str, Any]:
    """A PriorityClass."""
    return {
        "kind": "PriorityClass",
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "labels": {OWNER_LABEL: OWNER} if is_ours else {},
            "managedFields": [],
        },
        "value": value,
        "preemptionPolicy": "PreemptLowerPriority",
        "globalDefault": is_default,
        "description": "",
    }
