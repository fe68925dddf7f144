"""Situations of queues: objects and conditions as Kueue and Volcano write them, without either."""

from typing import Any

from tests.control_plane.recorded_case import Manifest
from tests.control_plane.situation import Situation
from tests.control_plane.situation_objects import HOST, RESOURCE, job, node, obj, pod

JOB = "Job/$/w"
KUEUE = "kueue.x-k8s.io"


def queue(gpus: int, used: int = 0, name: str = "$", **more: Any) -> Manifest:
    """A ClusterQueue of one flavor, or of several that are alike."""
    names = more.pop("flavors", ("h100",))
    limit = {"name": RESOURCE, "nominalQuota": str(gpus)}
    group = {
        "coveredResources": [RESOURCE],
        "flavors": [{"name": one, "resources": [limit]} for one in names],
    }
    own = {"namespaceSelector": {}, "resourceGroups": [group]}
    held = [{"name": RESOURCE, "total": str(used), "borrowed": "0"}]
    usage = [{"name": one, "resources": held} for one in names]
    conditions = more.pop("conditions", [])
    status = {"flavorsReservation": usage, "flavorsUsage": usage}
    status |= {"conditions": conditions} if conditions else {}
    return obj("ClusterQueue", name, "", spec=own | more, status=status)


def local(name: str = "train", **more: Any) -> Manifest:
    return obj("LocalQueue", name, spec={"clusterQueue": "$"} | more)


def queued(
    gpus: int, name: str = "train", said: str = "", pods: int = 1, **more: Any
) -> list[Manifest]:
    """A suspended Job, and Kueue's Workload for it with what it says of its quota."""
    made = job(gpus, pods, suspend=True, labels={f"{KUEUE}/queue-name": name})
    template = made["spec"]["template"]
    sets = [{"name": "main", "count": pods, "template": template}]
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


def let_in(gpus: int, behind: str = "$") -> list[Manifest]:
    """A Job that runs, and its Workload, which Kueue has let in."""
    made = job(gpus, nodeSelector={HOST: "$-g0"})
    made["metadata"]["name"] = "held"
    template = made["spec"]["template"]
    sets = [{"name": "main", "count": 1, "template": template}]
    told = {"status": "True", "reason": "Admitted", "message": ""}
    told |= {"lastTransitionTime": "2026-11-27T00:00:00Z"}
    conditions = [told | {"type": one} for one in ("QuotaReserved", "Admitted")]
    entry = obj(
        "Workload",
        "held",
        spec={"queueName": "train", "podSets": sets},
        status={"conditions": conditions, "admission": {"clusterQueue": behind}},
        owner="Job/held",
    )
    return [made | {"wait_bound": True}, entry]


def checked(gpus: int) -> list[Manifest]:
    """As `queued`; Kueue has reserved its quota, and an admission check has not answered."""
    made, entry = queued(gpus)
    reserved = {"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved"}
    waits = {"name": "budget", "state": "Pending", "message": "nobody has approved it"}
    entry["status"] = {"conditions": [reserved], "admissionChecks": [waits]}
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


INACTIVE = {
    "type": "Active",
    "status": "False",
    "reason": "FlavorNotFound",
    "message": "references missing ResourceFlavor(s): h100",
}
MORE = (
    "couldn't assign flavors to pod set main: insufficient unused quota for "
    f"{RESOURCE} in flavor h100, 5 more needed"
)
SITUATIONS = [
    Situation(
        "kueue-has-no-quota-left",
        "queue",
        {"change": "end_let_in", "object": "ClusterQueue/$", "units": 5},
        [
            node(gpus=16, ready="True"),
            queue(8, used=5),
            local(),
            *let_in(5),
            *queued(8, said=MORE),
        ],
        JOB,
        says={"let_in": [{"unit": "Job/$/held", "units": 5}]},
    ),
    Situation(
        "others-of-the-cohort-have-borrowed",
        "queue",
        {"change": "end_let_in", "object": "Cohort/$", "units": 5},
        [
            node(gpus=16, ready="True"),
            queue(4, cohortName="$"),
            queue(4, used=5, name="$-b", cohortName="$"),
            local(),
            *let_in(5, "$-b"),
            *queued(8, said=MORE),
        ],
        JOB,
        says={"let_in": [{"unit": "Job/$/held", "units": 5}]},
    ),
    Situation(
        "no-flavor-has-enough",
        "queue",
        {"change": "raise_queue", "queue": "$"},
        [
            node(gpus=24, ready="True"),
            queue(8, used=5, flavors=("h100", "a100")),
            local(),
            *let_in(5),
            *queued(8),
        ],
        JOB,
        is_first=False,
    ),
    Situation(
        "check-has-not-answered",
        "queue_check",
        {"change": "pass_check", "check": "budget"},
        [node(), queue(8, used=4), local(), *checked(4)],
        JOB,
        says={"evidence": [{"text": "nobody has approved it"}]},
    ),
    Situation(
        "queue-of-other-namespaces",
        "queue_stopped",
        {"change": "allow_namespace", "namespace": "$"},
        [
            node(),
            queue(8, namespaceSelector={"matchLabels": {"team": "other"}}),
            local(),
            *queued(4),
        ],
        JOB,
    ),
    Situation(
        "queue-without-its-flavor",
        "queue_stopped",
        {"change": "repair_queue", "object": "ClusterQueue/$"},
        [node(), queue(8, conditions=[INACTIVE]), local(), *queued(4)],
        JOB,
    ),
    Situation(
        "queue-has-a-typo",
        "queue_missing",
        {"change": "change_queue", "queue": "train"},
        [node(), queue(8), local(), *queued(4, "trian")],
        JOB,
    ),
    Situation(
        "no-such-queue",
        "queue_missing",
        {"change": "create_queue", "object": "LocalQueue/$/train"},
        [node(), queue(8), *queued(4)],
        JOB,
    ),
    Situation(
        "queue-on-hold",
        "queue_stopped",
        {"change": "resume_queue", "object": "ClusterQueue/$"},
        [node(), queue(8, stopPolicy="Hold"), local(), *queued(4)],
        JOB,
    ),
    Situation(
        "local-queue-on-hold",
        "queue_stopped",
        {"change": "resume_queue", "object": "LocalQueue/$/train"},
        [node(), queue(8), local(stopPolicy="Hold"), *queued(4)],
        JOB,
    ),
    Situation(
        "larger-than-its-queue",
        "queue_limit",
        {"change": "raise_queue_value", "to": 16},
        [node(gpus=16), queue(8), local(), *queued(16)],
        JOB,
        is_first=False,
    ),
    Situation(
        "two-pods-larger-than-their-queue",
        "queue_limit",
        {"change": "shrink_total", "to": 8},
        [node(gpus=16), queue(8), local(), *queued(8, pods=2)],
        JOB,
    ),
    Situation(
        "deactivated",
        "queue_deactivated",
        {"change": "activate", "object": "Workload/$/w"},
        [node(), queue(8), local(), *queued(4, active=False)],
        JOB,
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
