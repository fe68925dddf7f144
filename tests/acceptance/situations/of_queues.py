"""Situations of queues: objects and conditions as Kueue and Volcano write them, without either."""

from typing import Any

from tests.control_plane.recorded_case import Manifest
from tests.control_plane.situation import Situation
from tests.control_plane.situation_objects import (
    RESOURCE,
    job,
    node,
    obj,
    pod,
)

JOB = "Job/$/w"
KUEUE = "kueue.x-k8s.io"


def queue(gpus: int, used: int = 0, **more: Any) -> Manifest:
    """A ClusterQueue of one flavor."""
    limit = {"name": RESOURCE, "nominalQuota": str(gpus)}
    group = {
        "coveredResources": [RESOURCE],
        "flavors": [{"name": "h100", "resources": [limit]}],
    }
    own = {"namespaceSelector": {}, "resourceGroups": [group]} | more
    held = [{"name": RESOURCE, "total": str(used), "borrowed": "0"}]
    usage = [{"name": "h100", "resources": held}]
    return obj(
        "ClusterQueue",
        "$",
        "",
        spec=own,
        status={"flavorsReservation": usage, "flavorsUsage": usage},
    )


def local(name: str = "train", **more: Any) -> Manifest:
    return obj("LocalQueue", name, spec={"clusterQueue": "$"} | more)


def queued(
    gpus: int, name: str = "train", said: str = "", **more: Any
) -> list[Manifest]:
    """A suspended Job, and Kueue's Workload for it with what it says of its quota."""
    made = job(gpus, suspend=True, labels={f"{KUEUE}/queue-name": name})
    template = made["spec"]["template"]
    sets = [{"name": "main", "count": 1, "template": template}]
    condition = {"type": "QuotaReserved", "status": "False", "reason": "Pending"}
    condition |= {"message": said, "lastTransitionTime": "2026-11-27T00:00:00Z"}
    entry = obj(
        "Workload",
        "w",
        spec={"queueName": name, "podSets": sets} | more,
        status={"conditions": [condition]} if said else {},
        owner="Job/w",
    )
    return [made, entry]


def grouped(gpus: int, capability: int) -> list[Manifest]:
    """A queue of Volcano, and a pod group of one pod that does not fit in it."""
    told = {
        "type": "Unschedulable",
        "status": "True",
        "reason": "NotEnoughResources",
        "message": "queue resource quota insufficient",
    }
    return [
        node(gpus=16),
        obj(
            "VolcanoQueue",
            "$",
            "",
            spec={"weight": 1, "capability": {RESOURCE: str(capability)}},
            status={"state": "Open"},
        ),
        obj(
            "VolcanoPodGroup",
            "w",
            spec={
                "minMember": 1,
                "queue": "$",
                "minResources": {RESOURCE: str(gpus)},
            },
            status={"phase": "Pending", "conditions": [told]},
        ),
        pod(
            "w-0",
            gpus,
            schedulerName="volcano",
            meta={"annotations": {"scheduling.k8s.io/group-name": "w"}},
        ),
    ]


SITUATIONS = [
    Situation(
        "kueue-has-no-quota-left",
        "queue",
        {"change": "end_let_in"},
        [
            node(gpus=16),
            queue(8, used=5),
            local(),
            *queued(
                8,
                said="couldn't assign flavors to pod set main: insufficient unused "
                f"quota for {RESOURCE} in flavor h100, 5 more needed",
            ),
        ],
        JOB,
        after="",
    ),
    Situation(
        "queue-has-a-typo",
        "queue_missing",
        {"change": "change_queue", "queue": "train"},
        [node(), queue(8), local(), *queued(4, "trian")],
        JOB,
        after="queue",
    ),
    Situation(
        "no-such-queue",
        "queue_missing",
        {"change": "create_queue", "object": "LocalQueue/$/train"},
        [node(), queue(8), *queued(4)],
        JOB,
        after="queue",
    ),
    Situation(
        "queue-on-hold",
        "queue_stopped",
        {"change": "resume_queue", "object": "ClusterQueue/$"},
        [node(), queue(8, stopPolicy="Hold"), local(), *queued(4)],
        JOB,
        after="queue",
    ),
    Situation(
        "local-queue-on-hold",
        "queue_stopped",
        {"change": "resume_queue", "object": "LocalQueue/$/train"},
        [node(), queue(8), local(stopPolicy="Hold"), *queued(4)],
        JOB,
        after="queue",
    ),
    Situation(
        "larger-than-its-queue",
        "queue_limit",
        {"change": "raise_queue_value", "to": 16},
        [node(gpus=16), queue(8), local(), *queued(16)],
        JOB,
        is_first=False,
        after="queue",
    ),
    Situation(
        "deactivated",
        "queue_deactivated",
        {"change": "activate", "object": "Workload/$/w"},
        [node(), queue(8), local(), *queued(4, active=False)],
        JOB,
        after="queue",
    ),
    Situation(
        "volcano-capability",
        "queue_limit",
        {"change": "raise_queue_value", "to": 16},
        grouped(16, 8),
        "PodGroup/$/w",
        is_first=False,
        after="queue",
    ),
]
