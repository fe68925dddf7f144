"""The simulated cluster in its Kubernetes API, and changes by people there.

Namespaces, nodes and pods follow the engine; the engine follows quotas and priority classes.
Those are stored in the home, with their field managers.
"""

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from portal.demo.kube_api.store import Key, Manifest, Store
from portal.demo.metrics.exposition import phase_at
from portal.demo.metrics.labels import DEPARTMENT
from portal.demo.scenario.edits import Edit, append, load
from portal.demo.scenario.engine import Engine
from portal.demo.scenario.fleet import NodeObject, resource_of
from portal.demo.scenario.noise import uuid_of
from portal.demo.scenario.organization import CLASSES, NAMESPACES
from portal.demo.scenario.pod import QuotaRefusal, Request, SimulatedPod
from scheduler_view.cluster.kinds import EVENT, NAMESPACE, NODE, POD
from scheduler_view.domain.objects.manifest import CLASS, QUOTA
from scheduler_view.domain.quotas.quantity import gpus_or_none
from scheduler_view.domain.quotas.quota_key import resource_of as resource_of_key

EVENT_TTL_S = 3600  # how long an API server keeps an event
FILE = "demo-objects.json"
POOL_LABEL = "example.com/pool"  # which nodes a pod's affinity names


class Mirror:
    """Keeps engine and API objects consistent."""

    def __init__(self, engine: Engine, home: Path) -> None:
        self.engine, self.home, self.store = engine, home, Store()
        edits = load(home)
        self._edit = edits[-1] if edits else None
        self._objects: list[Manifest] = []
        self._read = 0  # pods of the engine before this one are in `_open`, or deleted
        self._open: list[SimulatedPod] = []
        self._shown: dict[str, tuple[Key, object]] = {}
        self._restore()

    def show(self, now_s: int) -> None:
        """Update namespaces, nodes and pods to the state of the engine."""
        wanted: dict[str, tuple[Key, object, Manifest]] = {}
        for node in self.engine.nodes_at(now_s):
            wanted[node.name] = (NODE, "", node.name), None, _node(node)
        self._open += self.engine.pods[self._read :]
        self._read = len(self.engine.pods)
        self._open = [pod for pod in self._open if not _is_gone(pod, now_s)]
        wanted |= self._refused(now_s)
        for pod in self._open:
            if pod.is_seen(now_s):
                words = "" if pod.is_bound(now_s) else self._why(pod)
                state: object = (pod.is_bound(now_s), phase_at(pod, now_s), words)
                wanted[pod.uid] = _key_of(pod), state, _pod(pod, now_s, words)
        for uid in [uid for uid in self._shown if uid not in wanted]:
            self.store.drop(self._shown.pop(uid)[0])
        for uid, (key, state, made) in wanted.items():
            if self._shown.get(uid) != (key, state):
                self.store.put(key, made)
                self._shown[uid] = key, state

    def _refused(self, now_s: int) -> dict[str, tuple[Key, object, Manifest]]:
        """The events of refused pods, and the controllers that they are about."""
        found: dict[str, tuple[Key, object, Manifest]] = {}
        for refusal in self.engine.refusals.values():
            if refusal.last_s > now_s - EVENT_TTL_S:
                event = _event(refusal)
                name = event["metadata"]["name"]
                place = (EVENT, refusal.request.namespace, name)
                found[name] = place, refusal, event
                key, made = self._maker(refusal, now_s)
                found[made["metadata"]["uid"]] = key, made["spec"], made
        return found

    def _maker(self, refusal: QuotaRefusal, now_s: int) -> tuple[Key, Manifest]:
        """The controller of a refused pod: it wants one more than it has."""
        request = refusal.request
        owner, namespace = request.owner, request.namespace
        live = sum(
            pod.is_seen(now_s) and not pod.has_finished(now_s)
            for pod in self._open
            if (pod.request.namespace, pod.request.owner) == (namespace, owner)
        )
        count = "parallelism" if owner.kind == "Job" else "replicas"
        spec = {count: live + 1, "template": {"spec": _pod_spec(request)}}
        uid = uuid_of(0, "controller", namespace, owner.kind, owner.name)
        meta = {"namespace": namespace, "creationTimestamp": _instant(refusal.first_s)}
        made = _object(owner.kind, uid, owner.name, meta, spec=spec)
        return (owner.kind, namespace, owner.name), made

    def _why(self, pod: SimulatedPod) -> str:
        """The scheduler's message for a pod that it cannot place, in its usual form."""
        if pod.node is not None:
            return ""  # it has one, and is bound in a moment
        short, others = self.engine.shortfall(pod)
        resource = resource_of(pod.request.pools[0])
        parts = [f"{short} Insufficient {resource}"] if short else []
        if others:
            parts.append(f"{others} node(s) didn't match Pod's node affinity/selector")
        return f"0/{short + others} nodes are available: {', '.join(parts)}."

    def follow(self, now_s: int) -> None:
        """Apply quotas and priority classes to the engine, and store them."""
        objects = [
            one for kind in (CLASS, QUOTA) for one in self.store.all_of(kind, "")[0]
        ]
        if objects == self._objects:
            return
        self._objects = objects
        edit = self._edit_of(objects, now_s)
        before = self._edit
        if before is None or (edit.limits, edit.priorities) != (
            before.limits,
            before.priorities,
        ):
            append(self.home, edit)
            self.engine.edit(edit)
            self._edit = edit
        self._save()

    def _edit_of(self, objects: list[Manifest], now_s: int) -> Edit:
        known = set(self._edit.limits) if self._edit else set()
        limits: dict[str, dict[str, int]] = {name: {} for name in known}
        classes: dict[str, int] = {}
        for one in objects:
            name, namespace = one["metadata"]["name"], one["metadata"].get("namespace")
            if one["kind"] == CLASS:
                classes[name] = int(one["value"])
            elif not one["spec"].get("scopeSelector"):
                hard = limits.setdefault(str(namespace), {})
                for key, value in (one["spec"].get("hard") or {}).items():
                    resource, units = resource_of_key(key), gpus_or_none(str(value))
                    # other keys have no effect
                    is_counted = key.startswith("requests.")
                    if is_counted and resource is not None and units is not None:
                        hard[resource] = min(units, hard.get(resource, units))
        return Edit(now_s, limits, classes or CLASSES)

    def _save(self) -> None:
        draft = self.home / f"{FILE}.{os.getpid()}"
        draft.write_text(json.dumps(self._objects))
        draft.replace(self.home / FILE)

    def _restore(self) -> None:
        for namespace, department in NAMESPACES.items():
            key = (NAMESPACE, "", namespace)
            self.store.put(key, _namespace(namespace, department))
        try:
            self._objects = json.loads((self.home / FILE).read_text())
        except FileNotFoundError:
            return
        for one in self._objects:
            meta = one["metadata"]
            self.store.put((one["kind"], meta.get("namespace", ""), meta["name"]), one)
        self._objects = []


def _is_gone(pod: SimulatedPod, now_s: int) -> bool:
    return pod.gone_s is not None and pod.gone_s <= now_s


def _key_of(pod: SimulatedPod) -> Key:
    return POD, pod.request.namespace, pod.request.name


def _object(
    kind: str, uid: str, name: str, metadata: Mapping[str, Any], **more: Any
) -> Manifest:
    meta = {"name": name, "uid": uid, "managedFields": [], **metadata}
    return {"kind": kind, "apiVersion": "v1", "metadata": meta, **more}


def _namespace(name: str, department: str) -> Manifest:
    labels = {"kubernetes.io/metadata.name": name}
    if department:
        labels[DEPARTMENT] = department
    return _object(
        NAMESPACE,
        uuid_of(0, "namespace", name),
        name,
        metadata={"labels": labels},
        status={"phase": "Active"},
    )


def _node(node: NodeObject) -> Manifest:
    units = node.shape.capacity(node.pool.gpus, node.pool.model)
    amounts = {resource: str(count) for resource, count in units.items()}
    return _object(
        NODE,
        uuid_of(0, "node", node.name, node.joined_s),
        node.name,
        metadata={"labels": node.labels() | {POOL_LABEL: node.pool_name}},
        spec={},
        status={"capacity": amounts, "allocatable": amounts},
    )


def _event(refusal: QuotaRefusal) -> Manifest:
    """The `FailedCreate` event of a controller whose pod was refused."""
    request = refusal.request
    key = f"requests.{resource_of(request.pools[0])}"
    owner = request.owner
    uid = uuid_of(0, "event", request.namespace, owner.name)
    words = (
        f'Error creating: pods "{request.name}" is forbidden: exceeded quota: gpu-ledger, '
        f"requested: {key}={request.gpus}, used: {key}={refusal.used}, "
        f"limited: {key}={refusal.hard}"
    )
    return _object(
        EVENT,
        uid,
        f"{owner.name}.{uid[:12]}",
        metadata={"namespace": request.namespace},
        reason="FailedCreate",
        type="Warning",
        message=words,
        count=refusal.count,
        firstTimestamp=_instant(refusal.first_s),
        lastTimestamp=_instant(refusal.last_s),
        involvedObject={
            "kind": owner.kind,
            "namespace": request.namespace,
            "name": owner.name,
        },
    )


def _instant(at_s: int) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _owner(request: Request) -> Manifest:
    owner = request.owner
    uid = uuid_of(0, "controller", request.namespace, owner.kind, owner.name)
    return {"kind": owner.kind, "name": owner.name, "uid": uid, "controller": True}


def _pod_spec(request: Request) -> dict[str, Any]:
    """What a pod requests, and the pools of nodes that it may run in."""
    amount = {resource_of(request.pools[0]): str(request.gpus)}
    pools = sorted({pool.partition("/")[0] for pool in request.pools})
    term = {"key": POOL_LABEL, "operator": "In", "values": pools}
    required = {"nodeSelectorTerms": [{"matchExpressions": [term]}]}
    return {
        "containers": [{"name": "main", "resources": {"limits": amount}}],
        "affinity": {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}
        },
    }


def _pod(pod: SimulatedPod, now_s: int, words: str) -> Manifest:
    request = pod.request
    spec = _pod_spec(request)
    if pod.class_name:
        spec["priorityClassName"] = pod.class_name
    if pod.node is not None and pod.is_bound(now_s):
        spec["nodeName"] = pod.node.name
    status: dict[str, Any] = {"phase": phase_at(pod, now_s)}
    if words:
        no = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
        status["conditions"] = [no | {"message": words}]
    return _object(
        POD,
        pod.uid,
        request.name,
        metadata={
            "namespace": request.namespace,
            "creationTimestamp": _instant(pod.created_s),
            "ownerReferences": [_owner(request)],
        },
        spec=spec,
        status=status,
    )
