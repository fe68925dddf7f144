"""Small clusters, as the API server would send them."""

from collections.abc import Mapping, Sequence
from typing import Any

from scheduler_view.waits.rules.explain import Explainer
from scheduler_view.waits.rules.explanation import WaitExplanation
from scheduler_view.waits.rules.world.world import World, read_world

GPU = "nvidia.com/gpu"
NOW_MS = 1_795_000_000_000
UNSCHEDULABLE = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."


def node(name: str, gpus: object = 8, **more: Any) -> dict[str, Any]:
    """A node; more of it by `labels`, `taints`, `cordoned`, `ready`, `capacity`, `offers`."""
    offered = {"cpu": "96", "memory": "768Gi", "pods": "110"} | more.get("offers", {})
    if gpus is not None:
        offered[GPU] = str(gpus)
    labels = {"kubernetes.io/hostname": name, "zone": "a"} | more.get("labels", {})
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "unschedulable": more.get("cordoned", False),
            "taints": more.get("taints", []),
        },
        "status": {
            "allocatable": offered,
            "capacity": offered | more.get("capacity", {}),
            "conditions": [
                {
                    "type": "Ready",
                    "status": "True" if more.get("ready", True) else "False",
                }
            ],
        },
    }


def pod(
    name: str, gpus: object = 1, on: str = "", *, namespace: str = "lab", **more: Any
) -> dict[str, Any]:
    """A pod, running on a node or refused by the scheduler; `spec` replaces parts of its spec."""
    requests = {} if gpus is None else {GPU: str(gpus)}
    condition = {
        "type": "PodScheduled",
        "status": "True" if on else "False",
        "reason": "" if on else "Unschedulable",
        "message": "" if on else more.get("message", UNSCHEDULABLE),
    }
    spec = {
        "containers": [{"name": "main", "resources": {"requests": requests}}],
        "schedulerName": "default-scheduler",
        "priority": 0,
    }
    return {
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}"}
        | more.get("meta", {}),
        "spec": spec | ({"nodeName": on} if on else {}) | more.get("spec", {}),
        "status": {
            "phase": "Running" if on else "Pending",
            "conditions": [condition] if more.get("tried", True) else [],
        }
        | more.get("status", {}),
    }


def owned(kind: str, name: str, **labels: str) -> dict[str, Any]:
    """Metadata of a pod with a controller."""
    owner = {"kind": kind, "name": name, "uid": f"uid-{name}", "controller": True}
    return {"ownerReferences": [owner], "labels": labels}


def job(
    name: str, *, namespace: str = "lab", gpus: int = 1, **spec: Any
) -> dict[str, Any]:
    """A Job; `meta` replaces parts of its metadata."""
    meta = spec.pop("meta", {})
    template = pod("template", gpus, namespace=namespace)["spec"]
    return {
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}"} | meta,
        "spec": {"parallelism": 1, "completions": 1, "template": {"spec": template}}
        | spec,
        "status": {},
    }


def refused(
    kind: str, name: str, message: str, namespace: str = "lab"
) -> dict[str, Any]:
    """The event of a controller whose pod was refused."""
    return {
        "reason": "FailedCreate",
        "message": message,
        "lastTimestamp": "2026-11-22T06:00:00Z",
        "involvedObject": {"kind": kind, "name": name, "namespace": namespace},
    }


def world_of(**objects: Sequence[Mapping[str, Any]]) -> World:
    """A world of objects by kind."""
    return read_world(objects, NOW_MS)


def explained(*, unread: tuple[str, ...] = (), **objects: Any) -> WaitExplanation:
    """The explanation of the only unit that waits."""
    (found,) = Explainer(read_world(objects, NOW_MS, unread=unread)).waiting()
    return found


def changes(found: WaitExplanation) -> list[dict[str, object]]:
    """What would let it start, as plain values."""
    return [one.as_value() for one in found.starts_if]


def kinds(found: WaitExplanation) -> set[object]:
    """The kinds of changes."""
    return {one["change"] for one in changes(found)}
