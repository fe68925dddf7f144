"""The labels of every series, as dcgm-exporter and kube-state-metrics write them.

Shared by the live text and the history, so that both show the same cluster. A series is
spelt once as text: building it is most of the work of writing a sample.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from portal.demo.fleet import Node
from portal.demo.pod import Kind, Pod

WORKLOAD_TYPE = "ml.example.com/workload-type"
OWNER = "ml.example.com/owner"
DEPARTMENT = "example.com/department"
CONTAINER = {
    Kind.TRAINING: "trainer",
    Kind.INFERENCE: "server",
    Kind.NOTEBOOK: "notebook",
    Kind.BATCH: "worker",
}


@dataclass(frozen=True, slots=True)
class Constant:
    """A series whose value does not change while it is there."""

    name: str
    labels: Mapping[str, str]
    value: str

    def head(self, extra: str = "") -> str:
        """The series as text, with labels that are spelt already behind its own."""
        return series(self.name, self.labels, extra)


def series(name: str, labels: Mapping[str, str], extra: str = "") -> str:
    """A series as text. Values here never need escaping."""
    spelt = ",".join(f'{key}="{value}"' for key, value in labels.items())
    return f"{name}{{{spelt}{',' if extra else ''}{extra}}}"


def _sanitised(labels: Mapping[str, str]) -> dict[str, str]:
    """Kubernetes labels as kube-state-metrics spells them."""
    return {
        "label_" + "".join(c if c.isalnum() else "_" for c in key): value
        for key, value in labels.items()
    }


def gpu_labels(node: Node, slot: int, uuid: str, pod: Pod | None) -> dict[str, str]:
    """What an exporter says of one GPU, and whom it names."""
    found = {
        "gpu": str(slot),
        "UUID": uuid,
        "pci_bus_id": f"00000000:{0x10 + slot:02X}:00.0",
        "device": f"nvidia{slot}",
        "modelName": node.pool.model.name,
        node.pool.flavour.host_label: node.name,
    }
    if pod is not None:
        found["container"] = CONTAINER[pod.request.kind]
        found["namespace"] = pod.request.namespace
        found["pod"] = pod.request.name
    return found


def _identity(pod: Pod) -> dict[str, str]:
    request = pod.request
    return {"namespace": request.namespace, "pod": request.name, "uid": pod.uid}


def pod_facts(pod: Pod) -> Iterator[Constant]:
    """What never changes of a pod: shown as long as its object is."""
    request, identity = pod.request, _identity(pod)
    yield Constant("kube_pod_created", identity, str(pod.created_s))
    owner = {
        **identity,
        "owner_kind": request.owner.kind,
        "owner_name": request.owner.name,
        "owner_is_controller": "true",
    }
    yield Constant("kube_pod_owner", owner, "1")
    labels = {WORKLOAD_TYPE: request.kind.value}
    if request.person:
        labels[OWNER] = request.person
    yield Constant("kube_pod_labels", {**identity, **_sanitised(labels)}, "1")


def pod_owners(pod: Pod) -> Iterator[Constant]:
    """The controller of a pod's controller."""
    owner = pod.request.owner
    if owner.above is None:
        return
    kind, name = owner.above
    above = {"owner_kind": kind, "owner_name": name, "owner_is_controller": "true"}
    metric, own = {
        "ReplicaSet": ("kube_replicaset_owner", "replicaset"),
        "Job": ("kube_job_owner", "job_name"),
    }[owner.kind]
    labels = {"namespace": pod.request.namespace, own: owner.name, **above}
    yield Constant(metric, labels, "1")


def pod_place(pod: Pod, *, is_bound: bool) -> Iterator[Constant]:
    """What a pod shows of its place, before its bind and after it."""
    request, identity = pod.request, _identity(pod)
    node = pod.node.name if is_bound and pod.node else ""
    info = {**identity, "node": node, "created_by_kind": request.owner.kind}
    info["created_by_name"] = request.owner.name
    info["priority_class"] = request.priority_class
    yield Constant("kube_pod_info", info, "1")
    asked = {
        **identity,
        "container": CONTAINER[request.kind],
        "node": node,
        "resource": "nvidia_com_gpu",
        "unit": "integer",
    }
    yield Constant("kube_pod_container_resource_requests", asked, str(request.gpus))
    if is_bound:
        bound = str(pod.bound_s)
        yield Constant("kube_pod_status_scheduled_time", identity, bound)


def pod_phase(pod: Pod, phase: str) -> Constant:
    """The row of the phase that a pod is in."""
    return Constant("kube_pod_status_phase", {**_identity(pod), "phase": phase}, "1")


def pod_completion(pod: Pod) -> Constant:
    """When its container ended."""
    return Constant("kube_pod_completion_time", _identity(pod), str(pod.ended_s))


def node_facts(node: Node) -> Iterator[Constant]:
    """What a node says of itself."""
    resource = {"node": node.name, "resource": "nvidia_com_gpu", "unit": "integer"}
    count = str(node.pool.gpus)
    yield Constant("kube_node_status_capacity", resource, count)
    labels = {"node": node.name, **_sanitised(node.labels())}
    yield Constant("kube_node_labels", labels, "1")


def namespace_facts(namespace: str, department: str) -> Constant:
    """The labels of a namespace."""
    labels = _sanitised({"kubernetes.io/metadata.name": namespace})
    if department:
        labels |= _sanitised({DEPARTMENT: department})
    return Constant("kube_namespace_labels", {"namespace": namespace, **labels}, "1")
