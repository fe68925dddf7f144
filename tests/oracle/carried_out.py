"""Each change of scheduling.md S13 carried out on objects as the API server has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from accounting.metering.rules.units.resources import kubernetes_resource, sanitised
from tests.oracle.waits import amount

if TYPE_CHECKING:
    from tests.oracle.remedies import Trial

Manifest = dict[str, Any]
Change = Mapping[str, Any]


def path_of(one: Manifest) -> str:
    """`namespace/name`."""
    return f"{one['metadata']['namespace']}/{one['metadata']['name']}"


def owners_of(one: Manifest) -> list[Manifest]:
    """Its owner references."""
    found: list[Manifest] = one["metadata"].get("ownerReferences", [])
    return found


def _node(trial: Trial, change: Change) -> Manifest:
    return next(
        n for n in trial.kind("Node") if n["metadata"]["name"] == change["node"]
    )


def _repair(trial: Trial, change: Change) -> None:
    node = _node(trial, change)
    node["spec"]["taints"] = [
        t
        for t in node["spec"].get("taints", [])
        if not t["key"].startswith("node.kubernetes.io/")
    ]
    node["status"]["conditions"] = [{"type": "Ready", "status": "True"}]


def _repair_gpus(trial: Trial, change: Change) -> None:
    status = _node(trial, change)["status"]
    status["allocatable"] = dict(status["capacity"])


def _tolerate(trial: Trial, change: Change) -> None:
    for spec in trial.own_specs():
        taint = change["taint"] | {"operator": "Equal"}
        spec["tolerations"] = [*spec.get("tolerations", []), taint]


def _drop_selector(trial: Trial, change: Change) -> None:
    for spec in trial.own_specs():
        spec.get("nodeSelector", {}).pop(change["key"], None)


def _drop_affinity(trial: Trial, change: Change) -> None:
    for spec in trial.own_specs():
        needed = spec["affinity"]["nodeAffinity"]
        terms = needed["requiredDuringSchedulingIgnoredDuringExecution"]
        for term in terms["nodeSelectorTerms"]:
            term["matchExpressions"] = [
                e for e in term.get("matchExpressions", []) if e["key"] != change["key"]
            ]
        if not any(t["matchExpressions"] for t in terms["nodeSelectorTerms"]):
            del spec["affinity"]["nodeAffinity"]


def _relax(trial: Trial, change: Change) -> None:
    for spec in trial.own_specs():
        spec["topologySpreadConstraints"] = [
            one
            for one in spec.get("topologySpreadConstraints", [])
            if one["topologyKey"] != change["key"]
        ]


def _is_gpu(name: str) -> bool:
    return kubernetes_resource(sanitised(name), {}) == name


def _containers(trial: Trial) -> Iterator[Manifest]:
    for spec in trial.own_specs():
        for one in (*spec["containers"], *spec.get("initContainers", [])):
            yield one.setdefault("resources", {})


def _shrink(trial: Trial, change: Change) -> None:
    for own in _containers(trial):
        for kind in ("requests", "limits"):
            for name, value in own.get(kind, {}).items():
                most = str(change.get("to", change.get("units")))
                is_meant = name == change.get("resource") or (
                    "resource" not in change and _is_gpu(name)
                )
                if is_meant and amount(str(value)) > amount(most):
                    own[kind][name] = most


def _grow(trial: Trial, change: Change) -> None:
    for own in _containers(trial):
        own.setdefault("requests", {})[change["resource"]] = change["to"]
        if change["resource"] in own.get("limits", {}):
            held = amount(str(own["limits"][change["resource"]]))
            if held < amount(change["to"]):
                own["limits"][change["resource"]] = change["to"]


def _set_limit(trial: Trial, change: Change) -> None:
    for own in _containers(trial):
        own.setdefault("limits", {})[change["resource"]] = change["to"]


def _add_request(trial: Trial, change: Change) -> None:
    key, name = change.get("key", ""), change["resource"]
    for own in _containers(trial):
        requests = own.setdefault("requests", {})
        requests.setdefault(name, "1")
        if key.startswith("limits."):
            own.setdefault("limits", {}).setdefault(name, requests[name])


def _rename(trial: Trial, change: Change) -> None:
    for own in _containers(trial):
        for kind in ("requests", "limits"):
            own[kind] = {
                change["resource"] if "/" in name and "hca" not in name else name: value
                for name, value in own.get(kind, {}).items()
            }


def _raise_quota(trial: Trial, change: Change) -> None:
    (quota,) = (q for q in trial.kind("ResourceQuota") if path_of(q) == change["quota"])
    quota["spec"]["hard"][change["key"]] = str(change["to"])


def _raise_range(trial: Trial, change: Change) -> None:
    names = {"min": "min", "max": "max", "ratio": "maxLimitRequestRatio"}
    for one in trial.kind("LimitRange"):
        for item in one["spec"]["limits"] if path_of(one) == change["name"] else ():
            bounds = item.get(names[change["limit"]], {})
            if item["type"] == change["type"] and change["resource"] in bounds:
                bounds[change["resource"]] = str(change["to"])


def _scale(trial: Trial, change: Change) -> None:
    trial.end([
        path_of(p) for p in trial.kind("Pod")
        if trial.is_own(p) and not p["spec"].get("nodeName")
    ])  # fmt: skip
    for kind in ("Deployment", "ReplicaSet", "StatefulSet"):
        for one in trial.kind(kind):
            if trial.is_own(one):
                one["spec"]["replicas"] = change["to"]


def _unavailable(trial: Trial, change: Change) -> None:
    """An old replica set loses a pod, which it does not make again."""
    old = next(
        p for p in trial.kind("Pod") if trial.is_own(p) and p["spec"].get("nodeName")
    )
    trial.end([path_of(old)])
    for one in trial.kind("ReplicaSet"):
        if one["metadata"]["name"] == owners_of(old)[0]["name"]:
            one["spec"]["replicas"] -= 1


def _add_node(trial: Trial, change: Change) -> None:
    """As large as any node that there is, with the GPUs of the change."""
    asked = {n for own in _containers(trial) for n in own.get("requests", {})}
    asked |= {n for own in _containers(trial) for n in own.get("limits", {})}
    largest: dict[str, Any] = {"cpu": "1000", "memory": "10Ti", "pods": "110"}
    for node in trial.kind("Node"):
        for name, value in node["status"]["allocatable"].items():
            if amount(str(value)) > amount(str(largest.get(name, "0"))):
                largest[name] = value
    gpus = {n: str(change["units"]) for n in asked if _is_gpu(n) or n in _RESOURCES}
    offered = largest | gpus | dict(change.get("also", {}))
    for number in range(change.get("nodes", 1)):
        name = f"added-{number}"
        labels = {"kubernetes.io/hostname": name} | change.get("labels", {})
        trial.kind("Node").append(
            {
                "metadata": {"name": name, "labels": labels},
                "spec": {},
                "status": {"allocatable": offered, "capacity": offered},
            }
        )


_RESOURCES = ("nvidia.com/gpus", "nvidia.com/gpu.shared")


def _add_gpus(trial: Trial, change: Change) -> None:
    """On the named node they become free; without one on all nodes."""
    for node in trial.kind("Node"):
        if change["where"] in ("", node["metadata"]["name"]):
            for part in ("allocatable", "capacity"):
                held = node["status"][part].get(change["resource"])
                if held is not None and amount(str(held)):
                    more = amount(str(held)) + change["units"]
                    node["status"][part][change["resource"]] = str(more)


def _move(trial: Trial, change: Change) -> None:
    pod = next(p for p in trial.kind("Pod") if path_of(p) == change["pod"])
    if change["where"]:
        pod["spec"]["nodeName"] = change["where"]


def _resume(trial: Trial, change: Change) -> None:
    for one in trial.kind("Job"):
        if trial.is_own(one):
            one["spec"]["suspend"] = False
    for spec in trial.own_specs():
        spec["schedulingGates"] = []


def _remove_gate(trial: Trial, change: Change) -> None:
    for spec in trial.own_specs():
        spec["schedulingGates"] = [
            g for g in spec.get("schedulingGates", []) if g["name"] != change["gate"]
        ]


def _volume(trial: Trial, change: Change) -> None:
    namespace, name = change["name"].split("/")
    claims = trial.kind("PersistentVolumeClaim")
    found = next((c for c in claims if path_of(c) == change["name"]), None)
    if found is None:
        found = {"metadata": {"name": name, "namespace": namespace}, "spec": {}}
        claims.append(found)
    found["spec"]["volumeName"], found["status"] = "carried-out", {"phase": "Bound"}
    volume = {"metadata": {"name": "carried-out"}, "status": {"phase": "Bound"}}
    trial.kind("PersistentVolume").append({**volume, "spec": {}})


def _start_pod(trial: Trial, change: Change) -> None:
    meta = {"name": "near", "namespace": trial.namespace, "labels": change["labels"]}
    if change["where"]:
        trial.kind("Pod").append(
            {
                "metadata": meta | {"uid": "near"},
                "spec": {"nodeName": change["where"], "containers": []},
                "status": {"phase": "Running"},
            }
        )


def _tier(trial: Trial, change: Change) -> None:
    classes = {c["metadata"]["name"]: c["value"] for c in trial.kind("PriorityClass")}
    name = change.get("name", "")
    for spec in trial.own_specs():
        spec["priorityClassName"], spec["priority"] = name, classes.get(name, 0)


def _allow(trial: Trial, change: Change) -> None:
    for spec in trial.own_specs():
        spec.pop("preemptionPolicy", None)


def _ended_victims(trial: Trial, change: Change) -> None:
    gone = [p for p in trial.kind("Pod") if p["metadata"].get("deletionTimestamp")]
    trial.end([path_of(pod) for pod in gone])


def _end_gang(trial: Trial, change: Change) -> None:
    _, namespace, name = change["object"].split("/")
    trial.end([
        path_of(pod) for pod in trial.kind("Pod")
        if pod["metadata"]["namespace"] == namespace
        and any(o["name"] == name for o in owners_of(pod))
    ])  # fmt: skip


def _create_class(trial: Trial, change: Change) -> None:
    made = {"metadata": {"name": change["name"]}, "value": 0}
    trial.kind("PriorityClass").append(made)


ANYWHERE = ("add_gpus", "move_pod", "start_pod")
APPLY: Mapping[str, Callable[[Trial, Change], None]] = {
    "end_pod": lambda trial, change: trial.end([change["pod"]]),
    "end_pods": lambda trial, change: trial.end(change["pods"]),
    "end_gang": _end_gang,
    "move_pod": _move,
    "wait_for_end": _ended_victims,
    "uncordon": lambda t, c: _node(t, c)["spec"].update(unschedulable=False),
    "repair_node": _repair,
    "repair_gpus": _repair_gpus,
    "tolerate": _tolerate,
    "drop_selector": _drop_selector,
    "drop_affinity": _drop_affinity,
    "relax_spread": _relax,
    "shrink_request": _shrink,
    "grow_request": _grow,
    "set_limit": _set_limit,
    "add_request": _add_request,
    "change_request": _rename,
    "raise_quota": _raise_quota,
    "raise_limit_range": _raise_range,
    "scale_down": _scale,
    "allow_unavailable": _unavailable,
    "allow_preemption": _allow,
    "raise_tier": _tier,
    "lower_tier": _tier,
    "add_node": _add_node,
    "add_gpus": _add_gpus,
    "resume": _resume,
    "queue_admits": _resume,
    "remove_gate": _remove_gate,
    "create_claim": _volume,
    "provide_volume": _volume,
    "move_volume": _volume,
    "start_pod": _start_pod,
    "create_priority_class": _create_class,
    "wait": lambda trial, change: None,
}
