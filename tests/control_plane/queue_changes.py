"""Changes of queues of Kueue and Volcano, as their administrator makes them."""

from collections.abc import Mapping
from typing import Any

from tests.control_plane.hands import Hands
from tests.control_plane.situation import create, place_of

Change = Mapping[str, Any]


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


def create_queue(hands: Hands, change: Change) -> None:
    _, namespace, name = change["object"].split("/")
    behind = {"clusterQueue": hands.situation.filled("$")}
    meta = {"name": name, "namespace": namespace}
    create(hands.admin, {"kind": "LocalQueue", "metadata": meta, "spec": behind})


def change_queue(hands: Hands, change: Change) -> None:
    label = {"kueue.x-k8s.io/queue-name": change["queue"]}
    hands.patch(hands.path(hands.told.subject), {"metadata": {"labels": label}})
    entry = place_of("Workload", hands.told.namespace, "w")
    hands.patch(entry, {"spec": {"queueName": change["queue"]}})
