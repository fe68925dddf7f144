"""The stored part of an observed object: only what pages and plans need.

Only pods that request GPUs are stored; environment, images and arbitrary annotations are never
stored, because they may contain confidential data.
"""

from collections.abc import Callable, Mapping
from typing import Any

from scheduler_view.clusters.rules.live_objects import CLASS, QUOTA
from scheduler_view.clusters.rules.object_shapes import well_formed
from scheduler_view.clusters.rules.quota_key import NONE_ADDED, Added, resource_of
from scheduler_view.clusters.rules.schedulers import QUEUE_OBJECTS, queue_objects

FAULTS = "faults"
_META = ("name", "namespace", "uid", "labels", "creationTimestamp", "deletionTimestamp")
_CLASS_FIELDS = ("value", "preemptionPolicy", "globalDefault", "description")
_EVENT_FIELDS = (
    *("reason", "message", "count", "series", "involvedObject"),
    *("eventTime", "firstTimestamp", "lastTimestamp"),
)
_GIT_NOTES = (  # annotations of GitOps tools
    "argocd.argoproj.io/tracking-id",
    "meta.helm.sh/release-name",
    "configmanagement.gke.io/managed",
)

Manifest = Mapping[str, Any]


def kept(
    kind: str, manifest: Manifest, added: Added = NONE_ADDED
) -> dict[str, Any] | None:
    """The part of an object that is stored; None for objects that are not stored.

    Args:
        kind: of the object.
        manifest: as the API server sent it. What has a wrong type is left out, and named in
            `faults`.
        added: resources that an administrator added.
    """
    manifest, faults = well_formed(kind, manifest)
    meta = manifest["metadata"]
    found: dict[str, Any] = {"kind": kind, "metadata": _picked(meta, *_META)}
    found |= {FAULTS: faults} if faults else {}
    if kind in (QUOTA, CLASS, "LimitRange") or kind in QUEUE_OBJECTS:
        notes = _picked(meta.get("annotations") or {}, *_GIT_NOTES)
        found["metadata"] |= {"annotations": notes} if notes else {}
        found["metadata"] |= _picked(meta, "managedFields")
    if kind in (QUOTA, CLASS):
        fields = ("spec", "status") if kind == QUOTA else _CLASS_FIELDS
        return found | _picked(manifest, *fields)
    if kind == "Pod":
        return _pod(found, manifest, added)
    return found | _PARTS.get(kind, _other)(manifest)


def _pod(
    found: dict[str, Any], manifest: Manifest, added: Added
) -> dict[str, Any] | None:
    spec, status = manifest.get("spec") or {}, manifest.get("status") or {}
    containers = [_picked(c, "name", "resources") for c in spec.get("containers") or []]
    first = [
        _picked(c, "name", "resources", "restartPolicy")
        for c in spec.get("initContainers") or []
    ]
    if not spec.get("resourceClaims") and not _asks_gpus([*containers, *first], added):
        return None
    found["metadata"] |= _picked(manifest["metadata"], "ownerReferences")
    found["spec"] = {
        **_picked(spec, "nodeName", "priorityClassName", "priority"),
        **_picked(spec, "preemptionPolicy", "resourceClaims", "schedulingGates"),
        "containers": containers,
        "initContainers": first,
    }
    conditions = [
        _picked(c, "type", "status", "reason", "message")
        for c in status.get("conditions") or []
        if c.get("type") in ("PodScheduled", "DisruptionTarget")
    ]
    found["status"] = _picked(status, "phase") | {"conditions": conditions}
    return found


def _asks_gpus(containers: list[dict[str, Any]], added: Added) -> bool:
    for container in containers:
        resources = container.get("resources") or {}
        for amounts in (resources.get("requests"), resources.get("limits")):
            if any(resource_of(name, added) for name in amounts or {}):
                return True
    return False


def _node(manifest: Manifest) -> dict[str, Any]:
    spec, status = manifest.get("spec") or {}, manifest.get("status") or {}
    ready = [
        _picked(c, "type", "status", "reason")
        for c in status.get("conditions") or []
        if c.get("type") == "Ready"
    ]
    return {
        "spec": _picked(spec, "unschedulable", "taints"),
        "status": _picked(status, "allocatable", "capacity") | {"conditions": ready},
    }


def _picked(values: Manifest, *names: str) -> dict[str, Any]:
    return {name: values[name] for name in names if name in values}


def _event(manifest: Manifest) -> dict[str, Any]:
    return _picked(manifest, *_EVENT_FIELDS)


def _other(manifest: Manifest) -> dict[str, Any]:
    status = manifest.get("status") or {}
    return _picked(manifest, "spec") | {"status": _picked(status, "phase")}


_PARTS: Mapping[str, Callable[[Manifest], dict[str, Any]]] = {
    "Event": _event,
    "Node": _node,
    **{one.kind: one.stored for one in queue_objects()},
}
