"""A situation that people meet on a cluster: objects, and what is true of the work that waits.

Each has a namespace of its name and its own GPU resource, so that many share a control plane: `$`
in a text is the name. `situation_objects.py` has builders of objects.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from tests.control_plane.admin import Admin, RefusedByServer
from tests.control_plane.recorded_case import Manifest, is_ready, offer, path_of
from tests.control_plane.server import NO_KUBELET
from tests.processes import wait_until

ENDS_THE_WAIT = {"scale_down", "allow_unavailable"}
MERGE = "application/merge-patch+json"
_MORE = {
    "Event": "/api/v1/namespaces/{}/events",
    "ClusterQueue": "/apis/kueue.x-k8s.io/v1beta2/clusterqueues",
    "LocalQueue": "/apis/kueue.x-k8s.io/v1beta2/namespaces/{}/localqueues",
    "Workload": "/apis/kueue.x-k8s.io/v1beta2/namespaces/{}/workloads",
    "VolcanoQueue": "/apis/scheduling.volcano.sh/v1beta1/queues",
    "VolcanoPodGroup": "/apis/scheduling.volcano.sh/v1beta1/namespaces/{}/podgroups",
    "ValidatingAdmissionPolicy": "/apis/admissionregistration.k8s.io/v1/"
    "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "/apis/admissionregistration.k8s.io/v1/"
    "validatingadmissionpolicybindings",
}


@dataclass(frozen=True)
class Situation:
    """What is made, and what is right to say of it.

    Attributes:
        steps: objects and changes, in order.
        cause: of `subject`, which is a pod `w` unless it says otherwise.
        remedy: part of the first remedy, which is then carried out; None if none is known.
        is_first: False if the remedy may stand anywhere, as other situations' nodes are named too.
        says: parts of the other values of the explanation.
        never: kinds of changes that do not help here.
        after: what is true when the remedy was carried out: `bound`, `over` (it waits no more),
            or the cause that is next.
        ahead: how far the clock of the observation is ahead.
        is_alone: the others are made after it.
        frozen: a process that stands still from before the last step until it is carried out.
    """

    name: str
    cause: str
    remedy: Mapping[str, Any] | None
    steps: list[Manifest]
    subject: str = "Pod/$/w"
    says: Mapping[str, Any] = field(default_factory=dict)
    never: tuple[str, ...] = ()
    after: str = "bound"
    is_first: bool = True
    ahead: timedelta = timedelta()
    is_alone: bool = False
    frozen: str = ""

    def filled(self, value: Any) -> Any:
        """With its name in the place of `$`."""
        return json.loads(json.dumps(value).replace("$", self.name))

    def instead(self, change: Mapping[str, Any], number: int) -> "Situation":
        """The same once more, for another remedy that was named."""
        wanted = json.loads(json.dumps(change).replace(self.name, "$"))
        for one in wanted.get("changes", [wanted]):
            if one["change"] == "raise_tier":
                del one["name"]  # of whichever situation has the lowest one by then
            if one.get("pod", "").startswith("$/w-"):
                one["pod"] = "$/w-*"  # which its controller named
        kinds = {one["change"] for one in wanted.get("changes", [wanted])}
        return replace(
            self,
            name=f"{self.name}-r{number}",
            remedy=wanted,
            is_first=False,
            never=(),
            after="over" if kinds & ENDS_THE_WAIT else self.after,
        )

    @property
    def namespaces(self) -> list[str]:
        found = (one["metadata"].get("namespace") for one in self.filled(self.steps))
        return sorted({self.name, *filter(None, found)})

    @property
    def resources(self) -> set[str]:
        """GPU resources that no rule of Kubernetes knows."""
        words = json.dumps(self.filled(self.steps)).replace("requests.", "").split('"')
        known = ("nvidia.com/gpu-", "nvidia.com/mig-")
        return {one for one in words if one.startswith(known)}


def place_of(kind: str, namespace: str = "", name: str = "") -> str:
    """Of one object, or of all of a kind."""
    root = _MORE.get(kind)
    if root is None:
        return path_of(kind, namespace, name)
    return root.format(namespace) + (f"/{name}" if name else "")


def keep_states(admin: Admin, one: Situation) -> None:
    """Write its statuses of pods again: on a busy machine the fake kubelet can write after us."""
    for step in one.filled(one.steps):
        if step["kind"] == "Pod" and "status" in step.get("change", {}):
            for path in _changed_by(admin, step):
                admin.call("PATCH", f"{path}/status", step["change"], MERGE)


def build(admin: Admin, one: Situation) -> None:
    """All steps; those that later ones need are waited for."""
    steps = one.filled(one.steps)
    for step in steps[:-1] if one.frozen else steps:
        make(admin, step)


def last_step(admin: Admin, one: Situation) -> None:
    """Of one with a process that stands still."""
    make(admin, one.filled(one.steps[-1]))


def make(admin: Admin, step: Manifest) -> None:
    """One step, and what later ones need of it."""
    kind, meta = step["kind"], step["metadata"]
    namespace, name = meta.get("namespace", ""), meta.get("name", "")
    if "change" in step:
        wait_until(lambda: any(True for _ in _changed_by(admin, step)), 60, 0.3)
        for path in _changed_by(admin, step):
            where = path + ("/status" if "status" in step["change"] else "")
            admin.call("PATCH", where, step["change"], MERGE)
    elif step.get("is_gone"):
        body = {"gracePeriodSeconds": step["grace_s"]}
        body |= {"propagationPolicy": "Background"}
        admin.call("DELETE", place_of(kind, namespace, name), body)
    else:
        create(admin, step)
    _settle(admin, step, namespace, name)


def _changed_by(admin: Admin, step: Manifest) -> Iterator[str]:
    """What a step changes: one object, or the pod of a Job that is on a node."""
    kind, meta = step["kind"], step["metadata"]
    namespace, labels = meta.get("namespace", ""), meta.get("labels", {})
    if "name" in meta:
        yield place_of(kind, namespace, meta["name"])
        return
    for one in admin.get(path_of(kind, namespace))["items"]:
        own = one["metadata"]
        is_on = "nodeName" in one["spec"] and one["status"].get("phase") == "Pending"
        if is_on and labels.items() <= own.get("labels", {}).items():
            yield path_of(kind, namespace, own["name"])


def create(admin: Admin, made: Manifest) -> Manifest:
    """As `kubectl create` does; the numbers of a node are written again when it is ready."""
    body = dict(made)
    kind, namespace = body.pop("kind"), body["metadata"].get("namespace", "")
    status = body.pop("status", None)
    path = place_of(kind, namespace)
    if not path.startswith("/api/"):
        _, _, group, version, *_ = path.split("/")
        body |= {"apiVersion": f"{group}/{version}"}
        body |= {"kind": kind.removeprefix("Volcano")}
    if "owner" in body:
        kind_of, named = body.pop("owner").split("/")
        of = admin.get(place_of(kind_of, namespace, named))
        about = {"apiVersion": "batch/v1", "kind": kind_of, "name": named}
        about |= {"uid": of["metadata"]["uid"], "controller": True}
        body["metadata"] = body["metadata"] | {"ownerReferences": [about]}
    if body.get("lastTimestamp") == "now":
        body["lastTimestamp"] = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    if "involvedObject" in body:
        about = body["involvedObject"]
        of = admin.get(path_of(about["kind"], about["namespace"], about["name"]))
        about["uid"] = of["metadata"]["uid"]
    answer = admin.create(path, body)
    name = answer["metadata"]["name"]
    if kind == "Node":
        offer(admin, name, status or {})
        if NO_KUBELET in body["metadata"]["labels"]:
            report_ready(admin, name, (status or {})["conditions"])
        told = (status or {}).get("conditions", [{}])[0].get("status")
        is_seen = _is_known_lost if told == "False" else is_ready
        wait_until(partial(is_seen, admin, name), 120, 0.3)
        offer(admin, name, status or {})
    elif status is not None:
        where = place_of(kind, namespace, name)
        admin.call("PATCH", f"{where}/status", {"status": status}, MERGE)
    return answer


def _is_known_lost(admin: Admin, node: str) -> bool:
    """Whether both taints are there: a new node loses the first one until it reports something."""
    found = admin.get(path_of("Node", name=node))["spec"].get("taints", ())
    key = "node.kubernetes.io/not-ready"
    effects = {one["effect"] for one in found if one["key"] == key}
    return effects == {"NoSchedule", "NoExecute"}


def report_ready(admin: Admin, node: str, conditions: list[Manifest]) -> None:
    """What a kubelet reports of a node that has none."""
    now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    named = [{"reason": "Told", "lastHeartbeatTime": now} | one for one in conditions]
    path = f"{path_of('Node', name=node)}/status"
    admin.call("PATCH", path, {"status": {"conditions": named}}, MERGE)


def _settle(admin: Admin, step: Manifest, namespace: str, name: str) -> None:
    """Until pods named `hold...` run, there are as many pods as told, and quotas are counted."""
    is_pod = step["kind"] == "Pod" and "change" not in step and "is_gone" not in step
    if is_pod and name.startswith("hold"):
        wait_until(lambda: _runs(admin, namespace, name), 120, 0.3)
    if step["kind"] == "ResourceQuota" and "change" not in step:
        keys = step["spec"]["hard"].keys()
        wait_until(lambda: keys <= admin.used(namespace, name).keys(), 60, 0.3)
    if step["kind"] == "ValidatingAdmissionPolicyBinding":
        wait_until(lambda: _is_refused(admin, name), 60, 0.3)
    if "wait_bound" in step:
        wait_until(
            lambda: any(
                "nodeName" in one["spec"]
                for one in admin.get(path_of("Pod", namespace))["items"]
            ),
            60,
            0.3,
        )
    if "wait_tried" in step:
        path = path_of("Pod", namespace, name)
        wait_until(lambda: "conditions" in admin.get(path)["status"], 60, 0.3)
    if "wait_pods" in step:
        wait_until(
            lambda: (
                len(admin.get(path_of("Pod", namespace))["items"]) >= step["wait_pods"]
            ),
            60,
            0.3,
        )


def _runs(admin: Admin, namespace: str, name: str) -> bool:
    """Whether a pod runs; on a node without a kubelet it does as soon as it is there."""
    path = path_of("Pod", namespace, name)
    pod = admin.get(path)
    node = pod["spec"].get("nodeName")
    if node is None or pod["status"].get("phase") == "Running":
        return node is not None
    if NO_KUBELET in admin.get(path_of("Node", name=node))["metadata"]["labels"]:
        admin.call("PATCH", f"{path}/status", {"status": {"phase": "Running"}}, MERGE)
    return False


def _is_refused(admin: Admin, namespace: str) -> bool:
    """Whether a policy of the namespace is in force: the API server reads it a moment later."""
    container = {"name": "a", "image": "a"}
    body = {"metadata": {"name": "probe"}, "spec": {"containers": [container]}}
    try:
        admin.create(path_of("Pod", namespace), body, dryRun="All")
    except RefusedByServer:
        return True
    return False
