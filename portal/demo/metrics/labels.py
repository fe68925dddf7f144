"""The labels of every series, as dcgm-exporter and kube-state-metrics write them.

Shared by the live text and the history, so that both show the same cluster. The text of a series is
built once, because that is most of the work of writing a sample.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from portal.demo.scenario.fleet import NodeObject, resource_of
from portal.demo.scenario.gpu_partitioning import PartitionUnit
from portal.demo.scenario.pod import Request, SimulatedPod, WorkloadType

WORKLOAD_TYPE = "ml.example.com/workload-type"
OWNER = "ml.example.com/owner"
DEPARTMENT = "example.com/department"
LIMIT = "max-duration"  # how long a pod may hold its GPUs
JOB_NAME = "batch.kubernetes.io/job-name"
CORDON_TAINT = "node.kubernetes.io/unschedulable"
JOB_INDEX = "batch.kubernetes.io/job-completion-index"
CONTAINER = {
    WorkloadType.TRAINING: "trainer",
    WorkloadType.INFERENCE: "server",
    WorkloadType.NOTEBOOK: "notebook",
    WorkloadType.BATCH: "worker",
}


@dataclass(frozen=True, slots=True)
class Constant:
    """A series whose value does not change while it exists."""

    name: str
    labels: Mapping[str, str]
    value: str

    def head(self, extra: str = "") -> str:
        """The series as text, with preformatted labels after its own."""
        return series(self.name, self.labels, extra)


def series(name: str, labels: Mapping[str, str], extra: str = "") -> str:
    """A series as text. The values here never need escaping."""
    spelt = ",".join(f'{key}="{value}"' for key, value in labels.items())
    return f"{name}{{{spelt}{',' if extra else ''}{extra}}}"


def _sanitised(labels: Mapping[str, str]) -> dict[str, str]:
    """Kubernetes labels as kube-state-metrics writes them."""
    return {f"label_{sanitised_name(key)}": value for key, value in labels.items()}


def sanitised_name(name: str) -> str:
    """A label or resource name as kube-state-metrics writes it."""
    return "".join(c if c.isalnum() else "_" for c in name)


def gpu_labels(
    node: NodeObject, unit: PartitionUnit, uuid: str, pod: SimulatedPod | None
) -> dict[str, str]:
    """The labels of one GPU or part of it, and of the pod that it names."""
    named = _nvidia_labels(node, unit, uuid)
    if node.pool.model.is_amd:
        named = _amd_labels(node, unit, uuid)
    if pod is not None:
        named["container"] = CONTAINER[pod.request.kind]
        named["namespace"] = pod.request.namespace
        named["pod"] = pod.request.name
        if node.shape.replicas > 1:
            named["vgpu"] = str(unit.number)
    return named


def _nvidia_labels(node: NodeObject, unit: PartitionUnit, uuid: str) -> dict[str, str]:
    found = {
        "gpu": str(unit.slot),
        "UUID": uuid,
        "pci_bus_id": f"00000000:{0x10 + unit.slot:02X}:00.0",
        "device": f"nvidia{unit.slot}",
        "modelName": node.pool.model.name,
        node.pool.flavour.host_label: node.name,
    }
    if unit.profile:
        found["GPU_I_PROFILE"] = unit.profile
        found["GPU_I_ID"] = str(unit.number)
    return found


def _amd_labels(node: NodeObject, unit: PartitionUnit, uuid: str) -> dict[str, str]:
    return {
        "gpu_id": str(unit.slot),
        "gpu_uuid": uuid,
        "gpu_partition_id": "0",
        "gpu_compute_partition_type": "spx",
        "card_model": node.pool.model.name,
        node.pool.flavour.host_label: node.name,
    }


def _identity(pod: SimulatedPod) -> dict[str, str]:
    request = pod.request
    return {"namespace": request.namespace, "pod": request.name, "uid": pod.uid}


def pod_facts(pod: SimulatedPod) -> Iterator[Constant]:
    """Labels of a pod that never change: shown while its object exists."""
    request, identity = pod.request, _identity(pod)
    yield Constant("kube_pod_created", identity, str(pod.created_s))
    owner = {
        **identity,
        "owner_kind": request.owner.kind,
        "owner_name": request.owner.name,
        "owner_is_controller": "true",
    }
    yield Constant("kube_pod_owner", owner, "1")
    labels = pod_labels(request)
    yield Constant("kube_pod_labels", {**identity, **_sanitised(labels)}, "1")


def pod_labels(request: Request) -> dict[str, str]:
    """The Kubernetes labels of a pod."""
    labels = {WORKLOAD_TYPE: request.kind.value}
    if request.person:
        labels[OWNER] = request.person
    if request.limit:
        labels[LIMIT] = request.limit
    if request.owner.kind == "Job":
        labels[JOB_NAME] = request.owner.name
    if request.index is not None:
        labels[JOB_INDEX] = str(request.index)
    return labels


def pod_owners(pod: SimulatedPod) -> Iterator[Constant]:
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


def pod_place(pod: SimulatedPod, *, is_bound: bool) -> Iterator[Constant]:
    """The place of a pod, before its bind and after it."""
    request, identity = pod.request, _identity(pod)
    node = pod.node.name if is_bound and pod.node else ""
    info = {**identity, "node": node, "created_by_kind": request.owner.kind}
    info["created_by_name"] = request.owner.name
    info["priority_class"] = pod.class_name
    yield Constant("kube_pod_info", info, "1")
    asked = {
        **identity,
        "container": CONTAINER[request.kind],
        "node": node,
        "resource": sanitised_name(resource_of(request.pools[0])),
        "unit": "integer",
    }
    yield Constant("kube_pod_container_resource_requests", asked, str(request.gpus))
    if is_bound:
        bound = str(pod.bound_s)
        yield Constant("kube_pod_status_scheduled_time", identity, bound)
    else:
        yield Constant("kube_pod_status_unschedulable", identity, "1")
        yield from _tolerations(identity)


def _tolerations(identity: Mapping[str, str]) -> Iterator[Constant]:
    """Those that every pod gets from the API server; shown of pods that wait."""
    for key in ("not-ready", "unreachable"):
        toleration = {
            "key": f"node.kubernetes.io/{key}",
            "operator": "Exists",
            "effect": "NoExecute",
            "toleration_seconds": "300",
        }
        yield Constant("kube_pod_tolerations", {**identity, **toleration}, "1")


def pod_phase(pod: SimulatedPod, phase: str) -> Constant:
    """The row of the phase that a pod is in."""
    return Constant("kube_pod_status_phase", {**_identity(pod), "phase": phase}, "1")


def pod_completion(pod: SimulatedPod) -> Constant:
    """When its container ended."""
    return Constant("kube_pod_completion_time", _identity(pod), str(pod.ended_s))


def provider_id(node: NodeObject) -> str:
    """The id of a node's machine, as the cloud and its bills have it."""
    machine = hashlib.sha256(node.name.encode()).hexdigest()[:17]
    return f"aws:///{node.zone or 'on-premises'}/i-{machine}"


def node_facts(node: NodeObject) -> Iterator[Constant]:
    """The machine and the labels of a node."""
    info = {"node": node.name, "provider_id": provider_id(node)}
    yield Constant("kube_node_info", info, "1")
    for name, count in node.shape.capacity(node.pool.gpus, node.pool.model).items():
        spelt = sanitised_name(name)
        resource = {"node": node.name, "resource": spelt, "unit": "integer"}
        yield Constant("kube_node_status_capacity", resource, str(count))
        yield Constant("kube_node_status_allocatable", resource, str(count))
    labels = {"node": node.name, **_sanitised(node.labels())}
    yield Constant("kube_node_labels", labels, "1")


def node_cordon(node: NodeObject, *, is_cordoned: bool) -> Iterator[Constant]:
    """Whether the scheduler may use a node, and the taint of one that it may not."""
    own = {"node": node.name}
    value = "1" if is_cordoned else "0"
    yield Constant("kube_node_spec_unschedulable", own, value)
    if is_cordoned:
        taint = {"key": CORDON_TAINT, "value": "", "effect": "NoSchedule"}
        yield Constant("kube_node_spec_taint", {**own, **taint}, "1")


def namespace_facts(namespace: str, department: str) -> Constant:
    """The labels of a namespace."""
    labels = _sanitised({"kubernetes.io/metadata.name": namespace})
    if department:
        labels |= _sanitised({DEPARTMENT: department})
    return Constant("kube_namespace_labels", {"namespace": namespace, **labels}, "1")
