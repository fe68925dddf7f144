"""Carries out what an explanation says would let work start, as a person would with kubectl.

It does what the remedy says, with the numbers and names that it gives, and nothing else. What only
a kubelet can do is written into the status of pods.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from scheduler_view.waits.rules.cause import QUEUES
from tests.control_plane import node_changes, pod_edits, queue_changes
from tests.control_plane.admin import RefusedByServer
from tests.control_plane.device_changes import DEVICE_CHANGES, has_claim, shrink_claim
from tests.control_plane.first_remedy import retry
from tests.control_plane.hands import Hands
from tests.control_plane.recorded_case import Manifest, path_of
from tests.control_plane.situation import create
from tests.control_plane.situation_objects import HOST
from tests.processes import wait_until

Change = Mapping[str, Any]
OF_OBJECTS = frozenset({"resume", "remove_gate", "scale_down", "allow_unavailable"})
CLAIM_GB = {"requests": {"storage": "1Gi"}}


def carry_out(hands: Hands, change: Change) -> None:
    """All parts of a remedy; of work that is made again, what changes its object comes last."""
    parts = change.get("changes", [change])
    for one in sorted(parts, key=lambda one: one["change"] in OF_OBJECTS):
        if hands.edits and one["change"] in OF_OBJECTS:
            hands.make_again()
        CHANGES[one["change"]](hands, one)
    if hands.edits:
        hands.make_again()
    if hands.told.cause in QUEUES:
        queue_changes.let_in(hands)
    retry(hands.admin, hands.told.namespace)


def _end(hands: Hands, change: Change) -> None:
    for path in change.get("pods") or [change["pod"]]:
        namespace, _, name = path.partition("/")
        place = path_of("Pod", namespace, name)
        if change.get("stuck", {}).get(path):
            hands.patch(place, {"metadata": {"finalizers": None}})
        else:
            hands.admin.call("DELETE", place, {"gracePeriodSeconds": 0})


def _end_gang(hands: Hands, change: Change) -> None:
    _, namespace, name = change["object"].split("/")
    for one in hands.admin.get(path_of("Pod", namespace))["items"]:
        if one["metadata"]["name"].startswith(f"{name}-"):
            _end(hands, {"pod": f"{namespace}/{one['metadata']['name']}"})


def _move(hands: Hands, change: Change) -> None:
    """Made again elsewhere first, so that it cannot come back."""
    namespace, _, name = change["pod"].partition("/")
    old = hands.admin.get(path_of("Pod", namespace, name))
    spec = {k: old["spec"][k] for k in ("containers", "tolerations")}
    rule = {"key": HOST, "operator": "NotIn", "values": [old["spec"]["nodeName"]]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}
    key = "requiredDuringSchedulingIgnoredDuringExecution"
    spec["affinity"] = {"nodeAffinity": {key: terms}}
    path = path_of("Pod", namespace)
    hands.admin.create(path, {"metadata": {"name": "moved"}, "spec": spec})
    moved = path_of("Pod", namespace, "moved")
    wait_until(lambda: "nodeName" in hands.admin.get(moved)["spec"], 60, 0.2)
    _end(hands, change)


def _edit(of: Callable[[Manifest, Change], None]) -> Callable[[Hands, Change], None]:
    """A change of what the pods of the work require."""

    def do(hands: Hands, change: Change) -> None:
        hands.edits.append(lambda spec: of(spec, change))

    return do


def _each(of: Callable[[Manifest, Change], None]) -> Callable[[Hands, Change], None]:
    """A change of the resources of each container, which share the GPUs of their pod."""

    def do(hands: Hands, change: Change) -> None:
        def edit(spec: Manifest) -> None:
            share = change.get("units", 0) // len(spec["containers"])
            named = {"resource": hands.gpus, "to": str(share)} | dict(change)
            for one in spec["containers"]:
                of(one["resources"], named)

        hands.edits.append(edit)

    return do


def _other(hands: Hands, change: Change) -> None:
    def edit(spec: Manifest) -> None:
        for one in spec["containers"]:
            found = one["resources"]["limits"]
            found[change["resource"]] = found.pop(hands.gpus)

    hands.edits.append(edit)


def _raise_quota(hands: Hands, change: Change) -> None:
    hard = {"spec": {"hard": {change["key"]: str(change["to"])}}}
    hands.patch(hands.path(f"ResourceQuota/{change['quota']}"), hard)


def _raise_range(hands: Hands, change: Change) -> None:
    path = hands.path(f"LimitRange/{change['name']}")
    found = hands.admin.get(path)["spec"]["limits"]
    key = "maxLimitRequestRatio" if change["limit"] == "ratio" else change["limit"]
    for item in found:
        if item["type"] == change["type"]:
            item[key][change["resource"]] = str(change["to"])
    hands.patch(path, {"spec": {"limits": found}})


def _spec(change_of: Callable[[Change], Any]) -> Callable[[Hands, Change], None]:
    """A change of the object that the remedy, else the explanation, is about."""

    def do(hands: Hands, change: Change) -> None:
        path = hands.path(change.get("object", hands.told.subject))
        hands.patch(path, {"spec": change_of(change)})

    return do


def _start(hands: Hands, change: Change) -> None:
    meta = {"name": "near", "labels": change["labels"]}
    node = hands.situation.filled("$-g0")
    spec: Manifest = {"containers": [{"name": "main", "image": "none"}]}
    spec |= {"nodeSelector": {HOST: node}}
    path = path_of("Pod", hands.told.namespace)
    hands.admin.create(path, {"metadata": meta, "spec": spec})


def _volume(hands: Hands, change: Change) -> None:
    """The claim if there is none, and a volume that every node can use."""
    namespace, _, name = change["name"].partition("/")
    about = {"name": name, "namespace": namespace}
    kind: Manifest = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": f"c-{namespace}",
    }
    if change["change"] == "create_claim":
        path = path_of("PersistentVolumeClaim", namespace)
        spec = kind | {"resources": CLAIM_GB}
        hands.admin.create(path, {"metadata": {"name": name}, "spec": spec})
    spec = kind | {"capacity": {"storage": "1Gi"}, "hostPath": {"path": "/data"}}
    spec |= {"claimRef": about}
    meta = {"name": f"v-{namespace}-{name}"}
    hands.admin.create(path_of("PersistentVolume"), {"metadata": meta, "spec": spec})


def _class(hands: Hands, change: Change) -> None:
    body = {"metadata": {"name": change["name"]}, "value": 10}
    hands.admin.create(path_of("PriorityClass"), body)


def _running(hands: Hands, change: Change) -> None:
    """A person has mended image, settings or program: the kubelet reports that it runs."""
    for one in hands.admin.get(path_of("Pod", hands.told.namespace))["items"]:
        meta, spec = one["metadata"], one["spec"]
        now = {"startedAt": "2026-11-28T00:00:00Z"}
        done = {"exitCode": 0, "reason": "Completed"}
        states: Manifest = {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [_state(c, running=now) for c in spec["containers"]],
            "initContainerStatuses": [
                _state(c, terminated=done) for c in spec.get("initContainers", [])
            ],
        }
        path = path_of("Pod", meta["namespace"], meta["name"])
        hands.patch(f"{path}/status", {"status": states})


def _state(container: Manifest, **state: Any) -> Manifest:
    found = {"name": container["name"], "image": container["image"], "imageID": ""}
    return found | {"restartCount": 0, "ready": True, "state": state}


def _smaller(hands: Hands, change: Change) -> None:
    if has_claim(hands):
        shrink_claim(hands, change)
    else:
        _each(pod_edits.at_most)(hands, change)


def _freed(hands: Hands, change: Change) -> None:
    """The pods that have the claim end, if those of a node that is gone have not."""
    with suppress(RefusedByServer):
        _end(hands, change)


def _ended(hands: Hands, change: Change) -> None:
    """The kubelet ends the pods that were told to end."""
    for one in hands.admin.get(path_of("Pod", hands.told.namespace))["items"]:
        meta = one["metadata"]
        if "deletionTimestamp" in meta:
            _end(hands, {"pod": f"{meta['namespace']}/{meta['name']}"})


def _may_preempt(hands: Hands, change: Change) -> None:
    """Its class is made again: how it preempts is never changed, and pods keep a copy."""
    name = next(hands.own())["spec"]["priorityClassName"]
    path = path_of("PriorityClass", name=name)
    value = hands.admin.get(path)["value"]
    hands.admin.delete(path)
    body = {"metadata": {"name": name}, "value": value}
    hands.admin.create(path_of("PriorityClass"), body)
    hands.edits.append(lambda spec: None)


def _move_volume(hands: Hands, change: Change) -> None:
    """A copy that every node can use, of the same name: neither object is ever changed."""
    namespace, _, name = change["name"].partition("/")
    claim = path_of("PersistentVolumeClaim", namespace, name)
    volume = path_of(
        "PersistentVolume", name=hands.admin.get(claim)["spec"]["volumeName"]
    )
    hands.remove_work()
    for path in (claim, volume):
        hands.admin.delete(path)
        hands.wait_gone(path)
    for one in hands.situation.filled(hands.situation.steps):
        if one["kind"] in ("PersistentVolume", "PersistentVolumeClaim"):
            one["spec"].pop("nodeAffinity", None)
            create(hands.admin, one)
    hands.create_work()


def _nothing(hands: Hands, change: Change) -> None:
    """Time is enough."""


CHANGES: Mapping[str, Callable[[Hands, Change], None]] = {
    "end_pod": _end,
    "end_pods": _end,
    "end_gang": _end_gang,
    "delete_pod": _end,
    "move_pod": _move,
    **node_changes.NODE_CHANGES,
    **DEVICE_CHANGES,
    "wait_for_end": _ended,
    "free_claim": _freed,
    "allow_preemption": _may_preempt,
    "move_volume": _move_volume,
    "tolerate": _edit(pod_edits.tolerate),
    "drop_selector": _edit(pod_edits.drop_selector),
    "drop_affinity": _edit(pod_edits.drop_affinity),
    "relax_spread": _edit(pod_edits.relax_spread),
    "raise_tier": _edit(lambda s, c: s.update(priorityClassName=c["name"])),
    "lower_tier": _edit(lambda s, c: s.update(priorityClassName=c.get("name", ""))),
    "start_scheduler": _edit(lambda s, _: s.pop("schedulerName")),
    "shrink_request": _smaller,
    "grow_request": _each(pod_edits.at_least),
    "set_limit": _each(pod_edits.set_limit),
    "add_request": _each(pod_edits.add_request),
    "change_request": _other,
    "raise_quota": _raise_quota,
    "raise_limit_range": _raise_range,
    "scale_down": lambda h, c: h.patch(
        h.path(h.told.subject),
        {"spec": {"parallelism" if h.told.kind == "Job" else "replicas": int(c["to"])}},
    ),
    "allow_unavailable": _spec(
        lambda c: {"strategy": {"rollingUpdate": {"maxUnavailable": c["to"]}}}
    ),
    "resume": _spec(lambda _: {"suspend": False}),
    "remove_gate": _spec(lambda _: {"schedulingGates": None}),
    **queue_changes.QUEUE_CHANGES,
    "start_pod": _start,
    "create_claim": _volume,
    "provide_volume": _volume,
    "create_priority_class": _class,
    "repair_image": _running,
    "repair_config": _running,
    "repair_container": _running,
    "wait_for_init": _running,
    "retry_failed": _nothing,
    "wait": _nothing,
}
