"""Nodes, pods, their controllers and events of the simulated cluster, as Kubernetes objects."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from portal.demo.kube_api.store import Key, Manifest
from portal.demo.metrics.exposition import START_S, phase_at
from portal.demo.metrics.labels import CONTAINER, CORDON_TAINT, DEPARTMENT, pod_labels
from portal.demo.scenario.engine import PREEMPTION_S
from portal.demo.scenario.fleet import NodeObject, resource_of
from portal.demo.scenario.noise import uuid_of
from portal.demo.scenario.pod import QuotaRefusal, Request, SimulatedPod
from scheduler_view.clusters.client.kinds import EVENT, KINDS, NAMESPACE, NODE, POD

POOL_LABEL = "example.com/pool"  # which nodes a pod's affinity names
_MODEL_LABEL = "nvidia.com/gpu.product"
_REPLICAS = {"Job": "parallelism"}  # of other kinds: replicas


def made(
    kind: str, uid: str, name: str, metadata: Mapping[str, Any], **more: Any
) -> Manifest:
    """One object in the version of its API."""
    meta = {"name": name, "uid": uid, "managedFields": [], **metadata}
    version = KINDS[kind].version if kind in KINDS else "v1"
    return {"kind": kind, "apiVersion": version, "metadata": meta, **more}


def instant(at_s: int) -> str:
    """A moment as the API server writes it."""
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def condition(type_: str, at_s: int, *, is_true: bool, **more: str) -> Manifest:
    """One condition of an object's status."""
    status = "True" if is_true else "False"
    return {
        "type": type_,
        "status": status,
        "lastTransitionTime": instant(at_s),
        **more,
    }


def namespace_object(name: str, department: str) -> Manifest:
    """A namespace and its labels."""
    labels = {"kubernetes.io/metadata.name": name}
    if department:
        labels[DEPARTMENT] = department
    return made(
        NAMESPACE,
        uuid_of(0, "namespace", name),
        name,
        {"labels": labels},
        status={"phase": "Active"},
    )


def node_object(node: NodeObject, now_s: int) -> Manifest:
    """A node: its labels, its units, and whether it is cordoned."""
    units = node.shape.capacity(node.pool.gpus, node.pool.model)
    amounts = {resource: str(count) for resource, count in units.items()}
    spec: dict[str, Any] = {}
    if node.is_cordoned(now_s):
        taint = {"key": CORDON_TAINT, "effect": "NoSchedule"}
        spec = {"unschedulable": True, "taints": [taint]}
    ready = condition("Ready", node.joined_s, is_true=True, reason="KubeletReady")
    return made(
        NODE,
        uuid_of(0, "node", node.name, node.joined_s),
        node.name,
        {"labels": node.labels() | {POOL_LABEL: node.pool_name}},
        spec=spec,
        status={"capacity": amounts, "allocatable": amounts, "conditions": [ready]},
    )


def refusal_event(refusal: QuotaRefusal) -> Manifest:
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
    return made(
        EVENT,
        uid,
        f"{owner.name}.{uid[:12]}",
        {"namespace": request.namespace},
        reason="FailedCreate",
        type="Warning",
        message=words,
        count=refusal.count,
        firstTimestamp=instant(refusal.first_s),
        lastTimestamp=instant(refusal.last_s),
        involvedObject={
            "kind": owner.kind,
            "namespace": request.namespace,
            "name": owner.name,
        },
    )


def preemption_event(pod: SimulatedPod) -> Manifest:
    """The `Preempted` event of a pod that ends for another one."""
    request, at_s = pod.request, pod.preempted_s or 0
    uid = uuid_of(0, "preempted", pod.uid)
    by = pod.preemptor.uid if pod.preemptor else ""
    node = pod.node.name if pod.node else ""
    return made(
        EVENT,
        uid,
        f"{request.name}.{uid[:12]}",
        {"namespace": request.namespace},
        reason="Preempted",
        type="Normal",
        message=f"Preempted by pod {by} on node {node}",
        eventTime=instant(at_s),
        firstTimestamp=instant(at_s),
        involvedObject={
            "kind": POD,
            "namespace": request.namespace,
            "name": request.name,
            "uid": pod.uid,
        },
    )


def controller_uid(namespace: str, kind: str, name: str) -> str:
    """The uid of a controller."""
    return uuid_of(0, "controller", namespace, kind, name)


def controllers(
    request: Request, count: int, created_s: int, class_name: str
) -> list[tuple[Key, Manifest]]:
    """The controller of a pod, and the one above it if it is a Deployment.

    Args:
        request: of one of its pods.
        count: pods that it wants.
        created_s: when it was created.
        class_name: PriorityClass of the pods that it makes.
    """
    owner, namespace = request.owner, request.namespace
    found = []
    template = pod_template(request, class_name)
    meta: dict[str, Any] = {
        "namespace": namespace,
        "creationTimestamp": instant(created_s),
    }
    if owner.above is not None:
        kind, name = owner.above
        above = {"kind": kind, "name": name, "controller": True}
        above["uid"] = controller_uid(namespace, kind, name)
        if kind in KINDS:
            found.append(_controller(kind, name, template, count, dict(meta)))
        meta["ownerReferences"] = [above]
    found.append(_controller(owner.kind, owner.name, template, count, meta))
    return found


def _controller(
    kind: str, name: str, template: Manifest, count: int, meta: dict[str, Any]
) -> tuple[Key, Manifest]:
    namespace = meta["namespace"]
    spec: dict[str, Any] = {_REPLICAS.get(kind, "replicas"): count}
    if kind == "Deployment":
        rolling = {"maxSurge": "25%", "maxUnavailable": "25%"}
        spec["strategy"] = {"type": "RollingUpdate", "rollingUpdate": rolling}
    uid = controller_uid(namespace, kind, name)
    one = made(kind, uid, name, meta, spec={**spec, "template": template})
    return (kind, namespace, name), one


def pod_template(request: Request, class_name: str) -> Manifest:
    """What a controller makes its pods from."""
    spec = pod_spec(request)
    if class_name:
        spec["priorityClassName"] = class_name
    return {"metadata": {"labels": pod_labels(request)}, "spec": spec}


def pod_spec(request: Request) -> dict[str, Any]:
    """What a pod requests, and the nodes that it may run on."""
    amount = {resource_of(request.pools[0]): str(request.gpus)}
    image = request.image or f"registry.example.com/{request.namespace}:stable"
    container = {
        "name": CONTAINER[request.kind],
        "image": image,
        "resources": {"limits": amount, "requests": amount},
    }
    spec: dict[str, Any] = {"containers": [container]}
    if request.model:
        return {**spec, "nodeSelector": {_MODEL_LABEL: request.model}}
    pools = sorted({pool.partition("/")[0] for pool in request.pools})
    term = {"key": POOL_LABEL, "operator": "In", "values": pools}
    required = {"nodeSelectorTerms": [{"matchExpressions": [term]}]}
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": required}
    return {**spec, "affinity": {"nodeAffinity": affinity}}


def pod_object(
    pod: SimulatedPod, now_s: int, words: str, priority: int, *, is_never: bool
) -> Manifest:
    """A pod at a moment.

    Args:
        words: of the scheduler, for a pod that it cannot place.
        priority: of its PriorityClass.
        is_never: that class does not preempt.
    """
    request, owner = pod.request, pod.request.owner
    spec = pod_spec(request) | {"priority": priority}
    spec["preemptionPolicy"] = "Never" if is_never else "PreemptLowerPriority"
    if pod.class_name:
        spec["priorityClassName"] = pod.class_name
    uid = controller_uid(request.namespace, owner.kind, owner.name)
    reference = {"kind": owner.kind, "name": owner.name, "uid": uid, "controller": True}
    meta: dict[str, Any] = {
        "namespace": request.namespace,
        "labels": pod_labels(request),
        "creationTimestamp": instant(pod.created_s),
        "ownerReferences": [reference],
    }
    if pod.is_ending(now_s):
        meta["deletionTimestamp"] = instant((pod.preempted_s or 0) + PREEMPTION_S)
        meta["deletionGracePeriodSeconds"] = PREEMPTION_S
    if pod.node is not None and pod.is_bound(now_s):
        spec["nodeName"] = pod.node.name
    status = _pod_status(pod, now_s, words)
    return made(POD, pod.uid, request.name, meta, spec=spec, status=status)


def _pod_status(pod: SimulatedPod, now_s: int, words: str) -> dict[str, Any]:
    conditions: list[Manifest] = []
    status: dict[str, Any] = {"phase": phase_at(pod, now_s), "conditions": conditions}
    if pod.is_bound(now_s):
        at_s = pod.bound_s or 0
        conditions.append(condition("PodScheduled", at_s, is_true=True))
        status["containerStatuses"] = [_container(pod, now_s)]
    elif words:
        no = {"reason": "Unschedulable", "message": words}
        conditions.append(condition("PodScheduled", pod.created_s, is_true=False, **no))
        if pod.nominated is not None:
            status["nominatedNodeName"] = pod.nominated.name
    if pod.is_ending(now_s):
        why = {"reason": "PreemptionByScheduler", "message": "preempting"}
        at_s = pod.preempted_s or 0
        conditions.append(condition("DisruptionTarget", at_s, is_true=True, **why))
    return status


def _container(pod: SimulatedPod, now_s: int) -> Manifest:
    request = pod.request
    state: dict[str, Any] = {"waiting": {"reason": "ContainerCreating"}}
    if request.image:
        state = {"waiting": {"reason": "ImagePullBackOff"}}
    elif pod.has_finished(now_s):
        state = {"terminated": {"startedAt": instant((pod.bound_s or 0) + START_S)}}
    elif phase_at(pod, now_s) == "Running":
        state = {"running": {"startedAt": instant((pod.bound_s or 0) + START_S)}}
    return {"name": CONTAINER[request.kind], "state": state}
