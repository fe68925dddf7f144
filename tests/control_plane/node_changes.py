"""Changes of nodes, as administrators, drivers and kubelets make them."""

from collections.abc import Callable, Mapping
from typing import Any

from tests.control_plane.hands import Hands
from tests.control_plane.recorded_case import Manifest, is_ready, offer, path_of
from tests.control_plane.server import NO_KUBELET
from tests.control_plane.situation import create
from tests.control_plane.situation_objects import HOST
from tests.processes import wait_until

Change = Mapping[str, Any]
PLAIN = {"cpu": "64", "memory": "512Gi", "pods": "110", "ephemeral-storage": "1Ti"}


def _node(change_of: Callable[[Manifest], Any]) -> Callable[[Hands, Change], None]:
    def do(hands: Hands, change: Change) -> None:
        path = path_of("Node", name=change["node"])
        hands.patch(path, {"spec": change_of(hands.admin.get(path) | dict(change))})

    return do


def _repair(hands: Hands, change: Change) -> None:
    path = path_of("Node", name=change["node"])
    capacity = hands.admin.get(path)["status"]["capacity"]
    offer(hands.admin, change["node"], {"allocatable": capacity, "capacity": capacity})


def _report(hands: Hands, change: Change) -> None:
    """The plugin reports what the labels of the node say."""
    path = path_of("Node", name=change["node"])
    found = hands.admin.get(path)
    count = found["metadata"]["labels"].get("nvidia.com/gpu.count", "8")
    offers = found["status"]["allocatable"] | {hands.gpus: count}
    offer(hands.admin, change["node"], {"allocatable": offers, "capacity": offers})


def _add_node(hands: Hands, change: Change) -> None:
    """As large as the largest one of the situation, with what the remedy names."""
    known = [one["status"]["capacity"] for one in _own_nodes(hands)]
    largest = max(known, key=lambda one: int(one.get(hands.gpus, 0)), default=PLAIN)
    for number in range(change.get("nodes", 1)):
        name = f"new-{hands.situation.name}-{number}"
        offers = largest | change.get("also", {})
        if "units" in change:
            offers |= {change.get("resource", hands.gpus): str(change["units"])}
        labels = {HOST: name} | change.get("labels", {})
        status = {"capacity": offers, "allocatable": offers}
        meta = {"name": name, "labels": labels}
        create(hands.admin, {"kind": "Node", "metadata": meta, "status": status})


def _own_nodes(hands: Hands) -> list[Manifest]:
    """The nodes that the situation begins with."""
    steps = hands.situation.filled(hands.situation.steps)
    return [one for one in steps if one["kind"] == "Node" and "status" in one]


def _run_again(hands: Hands, change: Change) -> None:
    """Its kubelet works again: a fake one takes the node, which offers what it did."""
    name = change["node"]
    path = path_of("Node", name=name)
    offers = hands.admin.get(path)["status"]
    hands.patch(path, {"metadata": {"labels": {NO_KUBELET: None}}})
    wait_until(lambda: is_ready(hands.admin, name), 60, 0.2)
    offer(hands.admin, name, offers)


def _add_gpus(hands: Hands, change: Change) -> None:
    """More GPUs on the node with the fewest free ones that takes the pods of the work."""
    work = next(hands.own())["spec"]
    spec = work.get("template", {"spec": work})["spec"]
    tolerated = {one.get("key") for one in spec.get("tolerations", ())}
    wanted = spec.get("nodeSelector", {}).items()
    for one in sorted(_own_nodes(hands), key=lambda one: _free(hands, one)):
        name = one["metadata"]["name"]
        found = hands.admin.get(path_of("Node", name=name))
        is_open = not found["spec"].get("unschedulable") and all(
            taint["key"] in tolerated for taint in found["spec"].get("taints", ())
        )
        if wanted <= found["metadata"]["labels"].items() and is_open:
            key, has = change["resource"], found["status"]["capacity"]
            more = has | {key: str(int(has.get(key, 0)) + change["units"])}
            offer(hands.admin, name, {"allocatable": more, "capacity": more})
            return
    raise AssertionError("no node takes the pods of the work")


def _free(hands: Hands, node: Manifest) -> int:
    """GPUs of a node that no pod of the situation has."""
    pods = hands.admin.get(path_of("Pod", hands.told.namespace))["items"]
    held = sum(
        int(container["resources"].get("limits", {}).get(hands.gpus, 0))
        for one in pods
        if one["spec"].get("nodeName") == node["metadata"]["name"]
        for container in one["spec"]["containers"]
    )
    return int(node["status"]["capacity"].get(hands.gpus, 0)) - held


def _autoscaled(hands: Hands, change: Change) -> None:
    """An autoscaler adds a node like the others."""
    _add_node(hands, {})


def _partition(hands: Hands, change: Change) -> None:
    """The node is partitioned into what is requested, as much as it has."""
    node = _own_nodes(hands)[0]["metadata"]["name"]
    found = hands.admin.get(path_of("Node", name=node))["status"]["capacity"]
    kept = {name: n for name, n in found.items() if "/mig-" not in name}
    gone = {name: "0" for name in found if "/mig-" in name}
    offers = kept | gone | {change["resource"]: "1"}
    offer(hands.admin, node, {"allocatable": offers, "capacity": offers})


NODE_CHANGES: Mapping[str, Callable[[Hands, Change], None]] = {
    "uncordon": _node(lambda _: {"unschedulable": False}),
    "finish_setup": _node(
        lambda one: {
            "taints": [t for t in one["spec"]["taints"] if t["key"] != one["taint"]]
        }
    ),
    "repair_node": _run_again,
    "repair_gpus": _repair,
    "repair_plugin": _report,
    "add_node": _add_node,
    "add_gpus": _add_gpus,
    "wait_for_node": _autoscaled,
    "raise_node_pool": _autoscaled,
    "change_geometry": _partition,
}
