"""What other people and programs do to a cluster, over plain HTTP: beside our door."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import requests

from tests.processes import wait_until

Body = Mapping[str, Any]
GPU = "nvidia.com/gpu"
NODES = "/api/v1/nodes"
WORK = (  # what makes pods comes before pods
    "/apis/apps/v1/deployments",
    "/apis/apps/v1/replicasets",
    "/apis/batch/v1/jobs",
    "/api/v1/pods",
)
TIMEOUT_S = 20.0


class RefusedByServer(Exception):
    """The server said no."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code} {message}")
        self.code = code
        self.message = message


@dataclass(frozen=True, slots=True)
class Admin:
    """Somebody with a token, who uses kubectl or another tool.

    Attributes:
        url: of the API server.
        ca_file: its certificate authority; "" over plain HTTP.
    """

    url: str
    token: str
    ca_file: str = ""

    def call(
        self,
        method: str,
        path: str,
        body: Body | None = None,
        content_type: str = "application/json",
        **query: str,
    ) -> dict[str, Any]:
        """The answer as JSON; `RefusedByServer` unless it is a success."""
        send = connections(self.url).request if self.ca_file else requests.request
        answer = send(
            method,
            self.url + path,
            params=query,
            json=body,
            headers={
                "Authorization": f"Bearer {self.token}",
                "Content-Type": content_type,
            },
            verify=self.ca_file or True,
            timeout=TIMEOUT_S,
        )
        found: dict[str, Any] = answer.json()
        if not answer.ok:
            raise RefusedByServer(answer.status_code, found.get("message", ""))
        return found

    def get(self, path: str) -> dict[str, Any]:
        return self.call("GET", path)

    def create(self, path: str, body: Body, **query: str) -> dict[str, Any]:
        return self.call("POST", path, body, **query)

    def delete(self, path: str) -> None:
        self.call("DELETE", path)

    def apply(
        self, path: str, body: Body, manager: str, *, force: bool = False
    ) -> dict[str, Any]:
        """Server-side apply as another manager, e.g. a GitOps tool."""
        return self.call(
            "PATCH",
            path,
            body,
            "application/apply-patch+yaml",
            fieldManager=manager,
            force=str(force).lower(),
        )

    def edit(
        self, path: str, change: Body, manager: str = "kubectl-edit"
    ) -> dict[str, Any]:
        """What `kubectl edit` sends: only what differs."""
        return self.call(
            "PATCH", path, change, "application/merge-patch+json", fieldManager=manager
        )

    def make_namespace(self, name: str, **labels: str) -> str:
        """A namespace; its uid."""
        meta = {"name": name, "labels": labels}
        made = self.create("/api/v1/namespaces", {"metadata": meta})
        uid: str = made["metadata"]["uid"]
        return uid

    def make_quota(self, namespace: str, name: str, hard: Body, **spec: Any) -> None:
        body = {"metadata": {"name": name}, "spec": {"hard": hard, **spec}}
        self.create(quota_path(namespace), body)

    def make_pod(
        self, namespace: str, name: str, gpus: int = 0, **spec: Any
    ) -> dict[str, Any]:
        """A pod of one container, as its owner would send it."""
        container: dict[str, Any] = {"name": "main", "image": "example.com/train:1"}
        if gpus:
            container["resources"] = {"limits": {spec.pop("resource", GPU): str(gpus)}}
        body = {
            "metadata": {"name": name},
            "spec": {
                "containers": [container],
                "tolerations": [{"operator": "Exists"}],
                **spec,
            },
        }
        return self.create(f"/api/v1/namespaces/{namespace}/pods", body)

    def end_work(self, prefix: str) -> None:
        """Delete the work in namespaces of a test, and its nodes; its pods end a moment later."""
        at_once = {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}
        for path in WORK:
            root, _, kind = path.rpartition("/")
            for namespace in {meta["namespace"] for meta in self._found(path)}:
                if namespace.startswith(prefix):
                    self.call(
                        "DELETE", f"{root}/namespaces/{namespace}/{kind}", at_once
                    )
        for meta in self._found(NODES):
            if meta["name"].startswith(prefix):
                self.delete(f"{NODES}/{meta['name']}")

    def wait_alone(self) -> None:
        """Return when no other test's work is left: it would be counted, or take a new node."""
        wait_until(lambda: not any(self._found(path) for path in WORK))

    def _found(self, path: str) -> list[dict[str, Any]]:
        """The metadata of all objects of a kind."""
        return [one["metadata"] for one in self.get(path)["items"]]

    def make_node(self, name: str, **resources: int) -> None:
        """A node that fake kubelets will make ready; `nvidia_com__gpu=8` are its GPUs.

        With the label that a kubelet gives it from the start: a pod that the scheduler has
        refused before it saw the label may wait for minutes.
        """
        amounts = {
            key.replace("__", "/").replace("_", "."): str(value)
            for key, value in resources.items()
        }
        amounts |= {"cpu": "64", "memory": "512Gi", "pods": "110"}
        path = f"/api/v1/nodes/{name}"
        labels = {"kubernetes.io/hostname": name}
        self.create("/api/v1/nodes", {"metadata": {"name": name, "labels": labels}})
        self.call(
            "PATCH",
            f"{path}/status",
            {"status": {"allocatable": amounts, "capacity": amounts}},
            "application/merge-patch+json",
        )

    def wait_node(self, name: str) -> None:
        """Return when fake kubelets have made a node ready, and it still offers its GPUs."""

        def is_ready() -> bool:
            status = self.get(f"/api/v1/nodes/{name}")["status"]
            conditions = {c["type"]: c["status"] for c in status.get("conditions", ())}
            offers = any("/" in resource for resource in status.get("allocatable", {}))
            return conditions.get("Ready") == "True" and offers

        wait_until(is_ready, 60)

    def phase(self, namespace: str, pod: str) -> str:
        """`Pending`, `Running`, ..."""
        found = self.get(f"/api/v1/namespaces/{namespace}/pods/{pod}")
        phase: str = found["status"].get("phase", "")
        return phase

    def used(self, namespace: str, quota: str) -> dict[str, str]:
        """What a quota counts as used."""
        found = self.get(quota_path(namespace, quota))
        return dict((found.get("status") or {}).get("used") or {})

    def wait_used(self, namespace: str, quota: str, key: str, value: str) -> None:
        """Return when a quota counts so many."""
        wait_until(lambda: self.used(namespace, quota).get(key) == value, 30)


@cache
def connections(url: str) -> requests.Session:
    """Of all admins to one API server, until `disconnect`: a handshake takes longer than a call."""
    return requests.Session()


def disconnect(url: str) -> None:
    """Close the connections to a server that ends."""
    connections(url).close()


def quota_path(namespace: str, name: str = "") -> str:
    """Of one quota, or of those of a namespace."""
    root = f"/api/v1/namespaces/{namespace}/resourcequotas"
    return f"{root}/{name}" if name else root


def class_path(name: str = "") -> str:
    """Of one priority class, or of all."""
    root = "/apis/scheduling.k8s.io/v1/priorityclasses"
    return f"{root}/{name}" if name else root
