"""Carries out the first change that lets a recorded case start, as a person would with kubectl.

Changes that GPU Ledger carries out itself are in `owned_objects.py`.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from tests.control_plane.admin import Admin
from tests.control_plane.recorded_case import (
    Manifest,
    RecordedCase,
    bound_pods,
    is_ready,
    offer,
    path_of,
)
from tests.processes import wait_until

MERGE = "application/merge-patch+json"
Change = Mapping[str, Any]


def carry_out(admin: Admin, case: RecordedCase, change: Change) -> bool:
    """Whether it was done; False for changes that this module does not know."""
    done = _CHANGES.get(change["change"])
    if done is None:
        return False
    done(admin, case, change)
    return True


def has_started(admin: Admin, case: RecordedCase) -> bool:
    """Whether more pods of the unit are bound than were recorded, or none waits any more."""
    expected = case.expected
    kind, namespace, name = expected["subject"].split("/")
    prefix = {"Pod": name, "PodGroup": ""}.get(kind, f"{name}-")
    bound = len(list(bound_pods(admin, namespace, prefix)))
    pods = admin.get(path_of("Pod", namespace))["items"]
    own = [one for one in pods if one["metadata"]["name"].startswith(prefix)]
    recorded = expected["pods"]["bound"]
    return bool(bound > recorded or (bound == recorded == len(own) > 0))


def _end(admin: Admin, case: RecordedCase, change: Change) -> None:
    for path in change.get("pods") or [change["pod"]]:
        namespace, _, pattern = path.partition("/")
        prefix = pattern.rstrip("*")
        names = [
            one["metadata"]["name"]
            for one in bound_pods(admin, namespace, prefix)
            if pattern.endswith("*") or one["metadata"]["name"] == pattern
        ]
        for name in names[:1]:
            body = {"gracePeriodSeconds": 0}
            admin.call("DELETE", path_of("Pod", namespace, name), body)


def _end_gang(admin: Admin, case: RecordedCase, change: Change) -> None:
    kind, namespace, name = change["object"].split("/")
    body = {"propagationPolicy": "Background"}
    admin.call("DELETE", path_of(kind, namespace, name), body)


def _wait(admin: Admin, case: RecordedCase, change: Change) -> None:
    """Nothing is to be done: kubelets end the pods."""


def _uncordon(admin: Admin, case: RecordedCase, change: Change) -> None:
    path = path_of("Node", name=change["node"])
    admin.call("PATCH", path, {"spec": {"unschedulable": False}}, MERGE)


def _repair(admin: Admin, case: RecordedCase, change: Change) -> None:
    made = case.find("Node", change["node"])
    assert made is not None
    capacity = made["status"]["capacity"]
    offer(admin, change["node"], {"allocatable": capacity, "capacity": capacity})


def _add_node(admin: Admin, case: RecordedCase, change: Change) -> None:
    like: Manifest = json.loads(json.dumps(case.objects["Node"][0]))
    name = f"new-{case.name}"
    resource = change.get("resource") or case.expected["resource"]
    units = str(change.get("units") or case.expected["units_per_pod"])
    labels = like["metadata"]["labels"] | change.get("labels", {})
    labels |= {"kubernetes.io/hostname": name}
    admin.create(path_of("Node"), {"metadata": {"name": name, "labels": labels}})
    offered = {
        "cpu": "96",
        "memory": "768Gi",
        "pods": "110",
        resource: units,
    }
    status = {"allocatable": offered, "capacity": offered}
    offer(admin, name, status)
    wait_until(lambda: is_ready(admin, name), 90)
    offer(admin, name, status)


def _raise_quota(admin: Admin, case: RecordedCase, change: Change) -> None:
    namespace, _, name = change["quota"].partition("/")
    key = case.expected["quota"]["key"]
    hard = {"spec": {"hard": {key: str(change["to"])}}}
    admin.call("PATCH", path_of("ResourceQuota", namespace, name), hard, MERGE)
    retry(admin, namespace)


def retry(admin: Admin, namespace: str) -> None:
    """Let controllers try again now; ReplicaSets would wait for up to 17 minutes."""
    for kind in ("ReplicaSet", "StatefulSet"):
        for one in admin.get(path_of(kind, namespace))["items"]:
            path = path_of(kind, namespace, one["metadata"]["name"])
            note = {"metadata": {"annotations": {"tests.example/again": "now"}}}
            admin.call("PATCH", path, note, MERGE)


def _ungate(admin: Admin, case: RecordedCase, change: Change) -> None:
    kind, namespace, name = case.expected["subject"].split("/")
    change = {"suspend": False} if kind == "Job" else {"schedulingGates": None}
    admin.call("PATCH", path_of(kind, namespace, name), {"spec": change}, MERGE)


def _tolerate(admin: Admin, case: RecordedCase, change: Change) -> None:
    _, namespace, name = case.expected["subject"].split("/")
    path = path_of("Pod", namespace, name)
    found = admin.get(path)["spec"].get("tolerations", [])
    own = change["taint"] | {"operator": "Equal"}
    admin.call("PATCH", path, {"spec": {"tolerations": [*found, own]}}, MERGE)


def _start(admin: Admin, case: RecordedCase, change: Change) -> None:
    _, namespace, name = case.expected["subject"].split("/")
    node = case.objects["Node"][0]["metadata"]["name"]
    body = {
        "metadata": {"name": f"near-{name}", "labels": change["labels"]},
        "spec": {
            "containers": [{"name": "main", "image": "none"}],
            "nodeSelector": {"kubernetes.io/hostname": node},
        },
    }
    admin.create(path_of("Pod", namespace), body)


def _allow(admin: Admin, case: RecordedCase, change: Change) -> None:
    kind, namespace, name = change["object"].split("/")
    rolling = {"maxUnavailable": change["to"], "maxSurge": 1}
    spec = {"spec": {"strategy": {"rollingUpdate": rolling}}}
    admin.call("PATCH", path_of(kind, namespace, name), spec, MERGE)


_CHANGES: Mapping[str, Callable[[Admin, RecordedCase, Change], None]] = {
    "end_pod": _end,
    "end_pods": _end,
    "end_gang": _end_gang,
    "wait_for_end": _wait,
    "uncordon": _uncordon,
    "repair_gpus": _repair,
    "add_node": _add_node,
    "add_gpus": _add_node,
    "raise_quota": _raise_quota,
    "remove_gate": _ungate,
    "resume": _ungate,
    "queue_admits": _ungate,
    "tolerate": _tolerate,
    "start_pod": _start,
    "allow_unavailable": _allow,
}
