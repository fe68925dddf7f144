"""Objects of situations, as a person would write them; `$` is the name of the situation."""

from typing import Any

from tests.control_plane.recorded_case import Manifest
from tests.control_plane.server import NO_KUBELET

RESOURCE = "nvidia.com/gpu-$"
GPUS = f"requests.{RESOURCE}"
PRODUCT = "nvidia.com/gpu.product"
HOST = "kubernetes.io/hostname"
DEVICES = "gpu-$.example.com"  # a driver of devices, and their class
ONLY = {"key": "only", "value": "$", "effect": "NoSchedule"}
GROUP = "leaderworkerset.sigs.k8s.io"


def obj(kind: str, name: str, namespace: str = "$", **body: Any) -> Manifest:
    """Any object; `namespace` is empty for one of the cluster."""
    labels = body.pop("labels", {})
    meta: Manifest = {"name": name, "labels": labels, **body.pop("meta", {})}
    if namespace:
        meta["namespace"] = namespace
    return {"kind": kind, "metadata": meta, **body}


def patch(kind: str, name: str, namespace: str = "$", **change: Any) -> Manifest:
    """A merge patch; of the status alone if it has one."""
    return obj(kind, name, namespace, change=change)


def gone(kind: str, name: str, grace_s: int = 0) -> Manifest:
    """It is deleted."""
    return obj(kind, name, is_gone=True, grace_s=grace_s)


def failed_pod(of_job: str = "w", **status: Any) -> Manifest:
    """The kubelet reports that the pod which a Job has on a node failed."""
    about = {"namespace": "$", "labels": {"job-name": of_job}}
    change = {"status": {"phase": "Failed", **status}}
    return {"kind": "Pod", "metadata": about, "change": change}


def node(name: str = "g0", gpus: int = 8, **more: Any) -> Manifest:
    """A node that offers GPUs; `offers` are other resources, `broken` GPUs it does not offer.

    `ready`, `True` or `False`, is what we report of a node without a kubelet: it starts and ends
    no pods.
    """
    known = {"cpu": "64", "memory": "512Gi", "pods": "110"}
    known |= {"ephemeral-storage": "1Ti"} | more.get("offers", {})
    resource = more.get("resource", RESOURCE)
    capacity = known | ({resource: str(gpus)} if gpus else {})
    allocatable = dict(capacity)
    if "broken" in more:
        allocatable[resource] = str(gpus - more["broken"])
    labels = {HOST: f"$-{name}"} | more.get("labels", {})
    labels |= {NO_KUBELET: ""} if "ready" in more else {}
    spec = {"taints": more.get("taints", []), "unschedulable": more.get("off", False)}
    status: Manifest = {"capacity": capacity, "allocatable": allocatable}
    if "ready" in more:
        status["conditions"] = [{"type": "Ready", "status": more["ready"]}]
    return obj("Node", f"$-{name}", "", labels=labels, spec=spec, status=status)


def container(gpus: int = 1, name: str = "main", **more: Any) -> Manifest:
    """One that requests GPUs; `requests` and `limits` are other resources."""
    resource = more.pop("resource", RESOURCE)
    limits = ({resource: str(gpus)} if gpus else {}) | more.pop("limits", {})
    resources = {"limits": limits, "requests": more.pop("requests", {})}
    return {"name": name, "image": "example.com/train:1", "resources": resources} | more


def spec(gpus: int = 1, **more: Any) -> Manifest:
    """Of a pod of one container, unless `containers` are given."""
    ask = {k: more.pop(k) for k in ("requests", "limits", "resource") if k in more}
    return {"containers": [container(gpus, **ask)], **more}


def pod(name: str = "w", gpus: int = 1, namespace: str = "$", **more: Any) -> Manifest:
    labels, meta = more.pop("labels", {}), more.pop("meta", {})
    return obj(
        "Pod", name, namespace, labels=labels, meta=meta, spec=spec(gpus, **more)
    )


def hold(name: str, gpus: int, on: str = "g0", **more: Any) -> Manifest:
    """A pod that has its node before the next step."""
    more["nodeSelector"] = more.get("nodeSelector", {}) | {HOST: f"$-{on}"}
    return pod(f"hold-{name}", gpus, **more)


def job(gpus: int = 1, pods: int = 1, **more: Any) -> Manifest:
    own: Manifest = {k: more.pop(k) for k in ("suspend", "completionMode") if k in more}
    labels = more.pop("labels", {})
    template = {"spec": spec(gpus, **more) | {"restartPolicy": "Never"}}
    own |= {"parallelism": pods, "completions": pods, "template": template}
    return obj("Job", "w", labels=labels, spec=own)


def served(kind: str, gpus: int = 1, replicas: int = 1, **more: Any) -> Manifest:
    """A Deployment or StatefulSet `w`; `wait` for so many pods."""
    wait, labels = more.pop("wait", 0), {"app": "w"}
    own: Manifest = {k: more.pop(k) for k in ("strategy",) if k in more}
    if kind == "StatefulSet":
        own |= {"serviceName": "w", "podManagementPolicy": "Parallel"}
    template = {"metadata": {"labels": labels}, "spec": spec(gpus, **more)}
    own |= {"replicas": replicas, "selector": {"matchLabels": labels}}
    made = obj(kind, "w", spec=own | {"template": template})
    return made | ({"wait_pods": wait} if wait else {})


def member(group: str, number: int, size: int, gpus: int, **more: Any) -> Manifest:
    """A pod of a LeaderWorkerSet's group, which counts whole."""
    labels = {f"{GROUP}/name": group, f"{GROUP}/group-index": "0"}
    meta = {"annotations": {f"{GROUP}/size": str(size)}}
    name = more.pop("name", f"{group}-0-{number}")
    return pod(name, gpus, labels=labels, meta=meta, **more)


def quota(name: str = "q", **more: Any) -> Manifest:
    hard = more.pop("hard")
    return obj("ResourceQuota", name, spec={"hard": hard, **more})


def limits(**item: Any) -> Manifest:
    """A LimitRange of containers."""
    return obj("LimitRange", "bounds", spec={"limits": [{"type": "Container"} | item]})


def device_class() -> Manifest:
    """Of the devices of one driver, which has its name."""
    rule = {"cel": {"expression": 'device.driver == "gpu-$.example.com"'}}
    return obj("DeviceClass", DEVICES, "", spec={"selectors": [rule]})


def devices_of(on: str, count: int) -> Manifest:
    """What a driver publishes of a node."""
    place = f"$-{on}"
    model = {"model": {"string": "h100"}}
    own = [{"name": f"gpu-{one}", "attributes": model} for one in range(count)]
    pool = {"name": place, "generation": 1, "resourceSliceCount": 1}
    about = {"driver": DEVICES, "nodeName": place, "pool": pool, "devices": own}
    return obj("ResourceSlice", place, "", spec=about)


def device_claim(name: str = "c", count: int = 1, model: str = "") -> Manifest:
    exactly: Manifest = {"deviceClassName": DEVICES, "count": count}
    if model:
        rule = f'device.attributes["{DEVICES}"].model == "{model}"'
        exactly["selectors"] = [{"cel": {"expression": rule}}]
    requests = [{"name": "gpu", "exactly": exactly}]
    return obj("ResourceClaim", name, spec={"devices": {"requests": requests}})


def priority(name: str, value: int, **more: Any) -> Manifest:
    return obj("PriorityClass", f"$-{name}", "", value=value, **more)


def event(reason: str, message: str, about: str = "Pod/w", **more: Any) -> Manifest:
    kind, name = about.split("/")
    subject = {"kind": kind, "namespace": "$", "name": name}
    at = {"lastTimestamp": "2020-01-01T00:00:00Z"} | more
    return obj(
        "Event", f"{name}.1", involvedObject=subject, reason=reason, message=message
    ) | {"type": "Warning", **at}
