"""A recorded case of pending work, built again on a control plane that other cases share.

Each case has its own namespaces, nodes, classes and GPU resource: a suffix is added to their names,
here and in what is expected. Nodes of other cases have no GPU resource that its pods ask for.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.control_plane.admin import Admin
from tests.processes import wait_until

Manifest = dict[str, Any]

ZONE = (
    "topology.kubernetes.io/zone"  # a spread counts the nodes of all cases that have it
)
PATHS = {
    "Namespace": "/api/v1/namespaces",
    "Node": "/api/v1/nodes",
    "PriorityClass": "/apis/scheduling.k8s.io/v1/priorityclasses",
    "StorageClass": "/apis/storage.k8s.io/v1/storageclasses",
    "PersistentVolume": "/api/v1/persistentvolumes",
    "DeviceClass": "/apis/resource.k8s.io/v1/deviceclasses",
    "ResourceSlice": "/apis/resource.k8s.io/v1/resourceslices",
}
_IN_NAMESPACES = {
    "Pod": "/api/v1/namespaces/{}/pods",
    "ResourceQuota": "/api/v1/namespaces/{}/resourcequotas",
    "LimitRange": "/api/v1/namespaces/{}/limitranges",
    "PersistentVolumeClaim": "/api/v1/namespaces/{}/persistentvolumeclaims",
    "ResourceClaim": "/apis/resource.k8s.io/v1/namespaces/{}/resourceclaims",
    "ResourceClaimTemplate": "/apis/resource.k8s.io/v1/namespaces/{}/resourceclaimtemplates",
    "Job": "/apis/batch/v1/namespaces/{}/jobs",
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "ReplicaSet": "/apis/apps/v1/namespaces/{}/replicasets",
    "StatefulSet": "/apis/apps/v1/namespaces/{}/statefulsets",
    "PodDisruptionBudget": "/apis/policy/v1/namespaces/{}/poddisruptionbudgets",
}
_RESOURCE = re.compile(
    r"\b(?:nvidia|amd)\.com/(?:gpus?(?:\.shared)?|mig-\w+\.\w+)(?![\w.-])"
)
_OF_A_JOB = ("controller-uid", "job-name")
_SET_BY_SERVER = ("nodeName", "priority", "preemptionPolicy")


def path_of(kind: str, namespace: str = "", name: str = "") -> str:
    """Of one object, or of all of a kind."""
    root = PATHS.get(kind) or _IN_NAMESPACES[kind].format(namespace)
    return f"{root}/{name}" if name else root


@dataclass(frozen=True)
class RecordedCase:
    """One case with its names changed.

    Attributes:
        did: what the script did, in order.
        resources: GPU resources by kube-state's spelling, as an administrator would add them.
    """

    name: str
    did: list[Manifest]
    objects: Mapping[str, list[Manifest]]
    expected: Manifest
    resources: Mapping[str, str]

    @property
    def namespaces(self) -> list[str]:
        """All that it uses."""
        found = {one["namespace"] for one in self.did if "namespace" in one}
        return sorted(
            found | {o["metadata"]["name"] for o in self.objects.get("Namespace", ())}
        )

    @property
    def needs_slow_kubelets(self) -> bool:
        """Whether pods that are told to end must not end at once."""
        return bool(self.expected["cause"] == "preempting")

    def find(self, kind: str, name: str, namespace: str = "") -> Manifest | None:
        """An object as it was recorded."""
        for one in self.objects.get(kind, ()):
            meta = one["metadata"]
            if (meta["name"], meta.get("namespace", "")) == (name, namespace):
                return one
        return None


def renamed(
    name: str, recorded: Manifest, expected: Manifest, number: int
) -> RecordedCase:
    """A case whose names nobody else on the control plane has."""
    suffix = f"-c{number}"
    shared = {
        one["metadata"]["name"]
        for kind in PATHS
        if kind != "Namespace"
        for one in recorded["objects"].get(kind, ())
    }
    shared |= {one["name"] for one in recorded["did"] if one["kind"] in PATHS}
    if expected["cause"] in ("priority_class_missing", "device_class_missing"):
        shared.add(expected["missing"])
    resources: dict[str, str] = {}

    def resource(found: re.Match[str]) -> str:
        new = found[0] + suffix
        resources[re.sub(r"\W", "_", new)] = new
        return new

    def with_suffix(value: object) -> Any:
        text = _RESOURCE.sub(resource, json.dumps(value)).replace(ZONE, ZONE + suffix)
        for one in sorted(shared, key=len, reverse=True):
            pattern = rf"(?<![\w.-]){re.escape(one)}(?=$|[^\w.-]|\.deviceclass)"
            text = re.sub(pattern, one + suffix, text)
        return json.loads(text)

    did, objects = with_suffix(recorded["did"]), with_suffix(recorded["objects"])
    for one in did:
        if "namespace" in one:
            one["namespace"] += suffix
    for kind, found in objects.items():
        for one in found:
            key = "name" if kind == "Namespace" else "namespace"
            if key in one["metadata"]:
                one["metadata"][key] += suffix
    names = "|".join(
        re.escape(n["metadata"]["name"].removesuffix(suffix))
        for n in objects["Namespace"]
    )
    text = json.dumps(with_suffix(expected))
    text = re.sub(rf'(?<=["/])({names})(?=/)', rf"\g<1>{suffix}", text)
    return RecordedCase(name, did, objects, json.loads(text), resources)


def build(admin: Admin, case: RecordedCase) -> None:
    """Repeat what the script did; each pod that was bound is bound before the next step.

    Its namespaces exist already. Without the last step of a case where pods are told to end: a
    fake kubelet ends them at once.
    """
    for kind in ("ResourceSlice", "ResourceClaimTemplate", "LimitRange"):
        if not any(one["kind"] == kind for one in case.did):
            for one in case.objects.get(kind, ()):
                _create(admin, kind, one)
    _do(admin, case, case.did[:-1] if case.needs_slow_kubelets else case.did)


def finish(admin: Admin, case: RecordedCase) -> None:
    """The last step of such a case, while no kubelet runs."""
    _do(admin, case, case.did[-1:])


def _do(admin: Admin, case: RecordedCase, steps: list[Manifest]) -> None:
    for step in steps:
        kind, name, namespace = step["kind"], step["name"], step.get("namespace", "")
        if kind == "Namespace":
            continue
        if step["did"] == "create":
            made = case.find(kind, name, namespace)
            if made is not None:
                _create(admin, kind, _first_version(case, step, made))
                _settle(admin, case, kind, made)
        elif step["did"] == "patch":
            _patch(admin, step)
            _settle(admin, case, kind, case.find(kind, name, namespace) or {})


def _first_version(case: RecordedCase, step: Manifest, made: Manifest) -> Manifest:
    """The object before the script's later changes to its spec."""
    found: Manifest = json.loads(json.dumps(made))
    for later in case.did:
        is_same = (later["kind"], later["name"]) == (step["kind"], step["name"])
        spec = later.get("change", {}).get("spec", {}) if is_same else {}
        if "parallelism" in spec:
            found["spec"]["parallelism"] = found["spec"]["completions"] = (
                spec["parallelism"] - 1
            )
        if "template" in spec:
            found["spec"]["template"]["metadata"].pop("annotations", None)
    return found


def _create(admin: Admin, kind: str, made: Manifest) -> None:
    meta = made["metadata"]
    kept = {
        k: v
        for k, v in meta.items()
        if k in ("name", "namespace", "labels", "annotations")
    }
    kept["annotations"] = {
        k: v
        for k, v in kept.get("annotations", {}).items()
        if not k.startswith(
            ("pv.kubernetes.io", "deployment.kubernetes.io", "kwok", "node.alpha")
        )
    }
    body: Manifest = {k: v for k, v in made.items() if k not in ("metadata", "status")}
    body["metadata"] = kept
    if kind == "Pod":
        body["spec"] = {
            k: v for k, v in made["spec"].items() if k not in _SET_BY_SERVER
        }
    if kind == "PersistentVolume":
        body["spec"].pop("claimRef", None)
    if kind == "Job":
        body["spec"].pop("selector", None)
        labels = body["spec"]["template"]["metadata"].get("labels", {})
        body["spec"]["template"]["metadata"]["labels"] = {
            k: v for k, v in labels.items() if k.split("/")[-1] not in _OF_A_JOB
        }
    if kind == "Node":
        taints = body.get("spec", {}).get("taints", [])
        own = [t for t in taints if not t["key"].startswith("node.kubernetes.io/")]
        body["spec"] = {
            "taints": own,
            "unschedulable": body["spec"].get("unschedulable", False),
        }
    admin.create(path_of(kind, meta.get("namespace", "")), body)
    if kind == "Node":
        offer(admin, meta["name"], made["status"])


def offer(admin: Admin, node: str, status: Manifest) -> None:
    """What a node offers and has."""
    change = {"status": {k: status[k] for k in ("allocatable", "capacity")}}
    path = path_of("Node", name=node)
    admin.call("PATCH", f"{path}/status", change, "application/merge-patch+json")


def _patch(admin: Admin, step: Manifest) -> None:
    path = path_of(step["kind"], step.get("namespace", ""), step["name"])
    if "status" in step["change"]:
        path += "/status"
    admin.call("PATCH", path, step["change"], "application/strategic-merge-patch+json")


def _settle(admin: Admin, case: RecordedCase, kind: str, made: Manifest) -> None:
    """Wait until a node is ready, a pod bound or looked at, a controller's pods bound."""
    if kind == "Node":
        name = made["metadata"]["name"]
        wait_until(lambda: is_ready(admin, name), 90)
        offer(
            admin, name, made["status"]
        )  # fake kubelets have written their own numbers
    if kind == "Pod" and made["spec"].get("nodeName"):
        wait_until(lambda: bool(_node_of(admin, made["metadata"])), 60)
    if kind in ("Job", "Deployment", "StatefulSet"):
        namespace, name = made["metadata"]["namespace"], made["metadata"]["name"]
        bound = [
            one
            for one in case.objects.get("Pod", ())
            if one["metadata"]["namespace"] == namespace
            and one["metadata"]["name"].startswith(f"{name}-")
            and one["spec"].get("nodeName")
        ]
        wait_until(
            lambda: len(list(bound_pods(admin, namespace, name))) >= len(bound), 60
        )


def is_ready(admin: Admin, node: str) -> bool:
    """Whether a node is ready and has no taint that says otherwise."""
    found = admin.get(path_of("Node", name=node))
    conditions = {c["type"]: c["status"] for c in found["status"].get("conditions", ())}
    taints = {one["key"] for one in found["spec"].get("taints", ())}
    return (
        conditions.get("Ready") == "True"
        and "node.kubernetes.io/not-ready" not in taints
    )


def bound_pods(admin: Admin, namespace: str, prefix: str) -> Iterator[Manifest]:
    """Pods of a namespace on nodes, whose names begin so."""
    for one in admin.get(path_of("Pod", namespace))["items"]:
        if one["metadata"]["name"].startswith(prefix) and one["spec"].get("nodeName"):
            yield one


def _node_of(admin: Admin, meta: Manifest) -> str:
    found = admin.get(path_of("Pod", meta["namespace"], meta["name"]))
    node: str = found["spec"].get("nodeName", "")
    return node
