"""Changes of queues of Kueue and Volcano, as their administrator makes them.

Kueue does not run: `let_in` does what it would, and only what its rules allow.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.control_plane import pod_edits
from tests.control_plane.hands import Hands
from tests.control_plane.recorded_case import Manifest
from tests.control_plane.situation import MERGE, create, place_of

Change = Mapping[str, Any]
ALL_WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/workloads"
LABEL = "kueue.x-k8s.io/queue-name"


def let_in(hands: Hands) -> None:
    """As Kueue does: the work is let in if its queue takes it and has quota for it."""
    entry = place_of("Workload", hands.told.namespace, "w")
    if hands.told.kind != "Job":
        return  # of Volcano
    found = hands.admin.get(entry)
    spec, status = found["spec"], found.get("status", {})
    reserved = _conditions(status).get("QuotaReserved") == "True"
    assert spec.get("active", True), "it is not active"
    local = hands.admin.get(
        hands.path(f"LocalQueue/{hands.told.namespace}/{spec['queueName']}")
    )
    queue = hands.admin.get(place_of("ClusterQueue", "", local["spec"]["clusterQueue"]))
    for one in (local, queue):
        assert one["spec"].get("stopPolicy", "None") == "None", "it is on hold"
    assert _conditions(queue.get("status", {})).get("Active") != "False"
    assert queue["spec"]["namespaceSelector"] == {}, "it serves other namespaces"
    room = max(_unused([*_sharing(hands, queue)], hands.gpus).values())
    assert reserved or _requested(found, hands.gpus) <= room, f"only {room} are unused"
    checks = status.get("admissionChecks", ())
    assert all(one["state"] == "Ready" for one in checks), f"not checked: {checks}"
    admitted = [
        {"type": kind, "status": "True", "reason": "Admitted"}
        | {"message": "", "lastTransitionTime": "2026-11-28T00:00:00Z"}
        for kind in ("QuotaReserved", "Admitted")
    ]
    more = {
        "conditions": admitted,
        "admission": {"clusterQueue": queue["metadata"]["name"]},
    }
    hands.admin.call("PATCH", f"{entry}/status", {"status": more}, MERGE)
    hands.patch(hands.path(hands.told.subject), {"spec": {"suspend": False}})


def _conditions(status: Manifest) -> dict[str, str]:
    return {one["type"]: one["status"] for one in status.get("conditions", ())}


def _sharing(hands: Hands, queue: Manifest) -> Iterator[Manifest]:
    """A ClusterQueue, and all others of its cohort."""
    cohort = queue["spec"].get("cohortName")
    for one in hands.admin.get(place_of("ClusterQueue"))["items"]:
        is_it = one["metadata"]["name"] == queue["metadata"]["name"]
        if is_it or (cohort and one["spec"].get("cohortName") == cohort):
            yield one


def _unused(queues: list[Manifest], resource: str) -> dict[str, int]:
    """What is left of a resource in some queues together, by flavor."""
    found: dict[str, int] = {}
    for queue in queues:
        groups = queue["spec"]["resourceGroups"]
        used = queue.get("status", {}).get("flavorsReservation", [])
        for field, sign, flavors in (
            ("nominalQuota", 1, [f for group in groups for f in group["flavors"]]),
            ("total", -1, used),
        ):
            for flavor in flavors:
                for one in flavor["resources"]:
                    if one["name"] == resource:
                        more = sign * int(one[field])
                        found[flavor["name"]] = found.get(flavor["name"], 0) + more
    return found


def _requested(entry: Manifest, resource: str) -> int:
    return sum(
        one["count"] * int(container["resources"]["limits"].get(resource, 0))
        for one in entry["spec"]["podSets"]
        for container in one["template"]["spec"]["containers"]
    )


def end_let_in(hands: Hands, change: Change) -> None:
    """Work of the queue, or of all of a cohort, ends until so many units are free."""
    kind, _, name = change["object"].partition("/")
    key = "cohortName" if kind == "Cohort" else ""
    queues = {
        one["metadata"]["name"]
        for one in hands.admin.get(place_of("ClusterQueue"))["items"]
        if (one["spec"].get(key) if key else one["metadata"]["name"]) == name
    }
    left = change.get("units", 1)
    for one in hands.admin.get(ALL_WORKLOADS)["items"]:
        behind = one.get("status", {}).get("admission", {}).get("clusterQueue")
        if left > 0 and behind in queues:
            left -= _end(hands, one, behind)
    assert left <= 0, f"its own work has {left} too few"


def _end(hands: Hands, entry: Manifest, queue: str) -> int:
    """One job ends, and Kueue counts it no more; how much it had."""
    meta, units = entry["metadata"], _requested(entry, hands.gpus)
    path = place_of("Job", meta["namespace"], meta["ownerReferences"][0]["name"])
    body = {"gracePeriodSeconds": 0, "propagationPolicy": "Foreground"}
    for one in hands.admin.get(place_of("Pod", meta["namespace"]))["items"]:
        pod = one["metadata"]
        if pod.get("labels", {}).get("job-name") == path.rpartition("/")[2]:
            hands.admin.call(
                "DELETE", place_of("Pod", pod["namespace"], pod["name"]), body
            )
    hands.admin.call("DELETE", path, body)
    hands.wait_gone(path)
    where = place_of("ClusterQueue", "", queue)
    usage = hands.admin.get(where)["status"]["flavorsReservation"]
    for flavor in usage:
        for one in flavor["resources"]:
            if one["name"] == hands.gpus:
                one["total"] = str(int(one["total"]) - units)
    counted = {"status": {"flavorsReservation": usage}}
    hands.admin.call("PATCH", f"{where}/status", counted, MERGE)
    return units


def shrink_total(hands: Hands, change: Change) -> None:
    """Each pod requests an equal part; the entry of the queue is made again with the work."""
    steps = hands.situation.filled(hands.situation.steps)
    entry = next(one for one in steps if one["kind"] == "Workload")
    pods = sum(one["count"] for one in entry["spec"]["podSets"])
    part = {"resource": change["resource"], "to": str(change["to"] // pods)}

    def edit(spec: Manifest) -> None:
        for one in spec["containers"]:
            pod_edits.at_most(one["resources"], part)

    hands.edits.append(edit)
    hands.make_again()
    hands.wait_gone(place_of("Workload", hands.told.namespace, "w"))
    for one in entry["spec"]["podSets"]:
        edit(one["template"]["spec"])
    create(hands.admin, entry)


def raise_queue_value(hands: Hands, change: Change) -> None:
    """A number of a ClusterQueue, or the capability of a queue of Volcano."""
    kind = change["object"]
    path = place_of(kind, "", change["queue"])
    found = hands.admin.get(path)["spec"]
    if kind == "VolcanoQueue":
        found["capability"][change["resource"]] = str(change["to"])
    else:
        flavor, _, number = change["field"].partition("/")
        resource, _, number = number.rpartition("/")
        for one in found["resourceGroups"][0]["flavors"]:
            for limit in one["resources"]:
                if (one["name"], limit["name"]) == (flavor, resource):
                    limit[number] = str(change["to"])
    hands.patch(path, {"spec": found})


def raise_queue(hands: Hands, change: Change) -> None:
    """The quota of its first flavor is larger by what the work requests."""
    path = place_of("ClusterQueue", "", change["queue"])
    groups = hands.admin.get(path)["spec"]["resourceGroups"]
    entry = hands.admin.get(place_of("Workload", hands.told.namespace, "w"))
    for one in groups[0]["flavors"][0]["resources"]:
        more = _requested(entry, one["name"])
        one["nominalQuota"] = str(int(one["nominalQuota"]) + more)
    hands.patch(path, {"spec": {"resourceGroups": groups}})


def create_queue(hands: Hands, change: Change) -> None:
    _, namespace, name = change["object"].split("/")
    behind = {"clusterQueue": hands.situation.filled("$")}
    meta = {"name": name, "namespace": namespace}
    create(hands.admin, {"kind": "LocalQueue", "metadata": meta, "spec": behind})


def change_queue(hands: Hands, change: Change) -> None:
    label = {LABEL: change["queue"]}
    hands.patch(hands.path(hands.told.subject), {"metadata": {"labels": label}})
    entry = place_of("Workload", hands.told.namespace, "w")
    hands.patch(entry, {"spec": {"queueName": change["queue"]}})


def pass_check(hands: Hands, change: Change) -> None:
    """Its controller reports that it is ready."""
    entry = f"{place_of('Workload', hands.told.namespace, 'w')}/status"
    ready = {"name": change["check"], "state": "Ready", "message": ""}
    hands.admin.call("PATCH", entry, {"status": {"admissionChecks": [ready]}}, MERGE)


def repair_queue(hands: Hands, change: Change) -> None:
    """What it lacked is there, and Kueue reports that it is active."""
    where = f"{hands.path(change['object'])}/status"
    ready = {"type": "Active", "status": "True", "reason": "Ready"}
    hands.admin.call("PATCH", where, {"status": {"conditions": [ready]}}, MERGE)


def _spec(**spec: Any) -> Callable[[Hands, Change], None]:
    """A field of the object that the remedy is about."""
    return lambda hands, change: hands.patch(
        hands.path(change["object"]), {"spec": spec}
    )


QUEUE_CHANGES: Mapping[str, Callable[[Hands, Change], None]] = {
    "end_let_in": end_let_in,
    "shrink_total": shrink_total,
    "raise_queue_value": raise_queue_value,
    "raise_queue": raise_queue,
    "create_queue": create_queue,
    "change_queue": change_queue,
    "pass_check": pass_check,
    "repair_queue": repair_queue,
    "allow_namespace": _spec(namespaceSelector={"matchLabels": None}),
    "resume_queue": _spec(stopPolicy="None"),
    "activate": _spec(active=True),
}
