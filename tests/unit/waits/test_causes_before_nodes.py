"""Table A by hand: refusals, suspension, gates, claims, volumes; and pods that are starting."""

from typing import Any

import pytest

from scheduler_view.waits.rules.explain import Explainer
from scheduler_view.waits.rules.world.world import read_world
from tests.unit.waits.worlds import (
    GPU,
    NOW_MS,
    changes,
    explained,
    job,
    node,
    owned,
    pod,
    refused,
    world_of,
)

FORBIDDEN = 'Error creating: pods "x" is forbidden: '
EXCEEDED = (
    f"{FORBIDDEN}exceeded quota: gpu, requested: requests.{GPU}=4, "
    f"used: requests.{GPU}=6, limited: requests.{GPU}=8"
)

KEY = f"requests.{GPU}"
OF_CPU = (
    "exceeded quota: c, requested: requests.cpu=16, used: requests.cpu=0, "
    "limited: requests.cpu=4"
)


OF_HIGH = {
    "matchExpressions": [
        {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}
    ]
}


def quota(**spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "gpu", "namespace": "lab"},
        "spec": {"hard": {f"requests.{GPU}": "8"}} | spec,
        "status": {"used": {f"requests.{GPU}": "6"}},
    }


@pytest.mark.parametrize(
    ("message", "quotas", "cause", "change"),
    [
        (EXCEEDED, [quota()], "quota",
         {"change": "raise_quota", "quota": "lab/gpu", "key": KEY, "to": 10}),
        (EXCEEDED, [], "quota",
         {"change": "raise_quota", "quota": "lab/gpu", "key": KEY, "to": 10}),
        (f"(combined from similar events): {EXCEEDED}", [quota()], "quota",
         {"change": "raise_quota", "quota": "lab/gpu", "key": KEY, "to": 10}),
        (EXCEEDED, [quota(scopeSelector=OF_HIGH)], "scope_quota",
         {"change": "lower_tier"}),
        (f"{FORBIDDEN}{OF_CPU}", [], "quota_other",
         {"change": "raise_quota", "quota": "lab/c", "key": "requests.cpu", "to": "16"}),
        (f"{FORBIDDEN}failed quota: c: must specify requests.memory for: main", [],
         "quota_other", {"change": "add_request", "resource": "memory"}),
        (f"{FORBIDDEN}maximum {GPU} usage per Container is 2, but limit is 4", [],
         "limit_range", {"change": "shrink_request", "units": 2}),
        (f"{FORBIDDEN}no PriorityClass with name top was found", [],
         "priority_class_missing", {"change": "create_priority_class", "name": "top"}),
        ("admission webhook denied the request: no owner label", [], "admission_other",
         None),
    ],
)  # fmt: skip
def test_a_refusal(message: str, quotas: list[Any], cause: str, change: Any) -> None:
    work = job("j", gpus=4)
    work["spec"]["template"]["spec"]["priorityClassName"] = "high"
    found = explained(
        Node=[node("n")],
        Job=[work],
        ResourceQuota=quotas,
        Event=[refused("Job", "j", message)],
    )
    assert (found.stage, found.cause, found.preemption) == ("refused", cause, "none")
    assert (found.pods.wanted, found.pods.bound, found.pods.waiting) == (1, 0, 1)
    assert found.evidence[0].text == message
    assert changes(found) == [] if change is None else change in changes(found)


def test_pods_that_a_quota_counts_are_its_blockers() -> None:
    held = [pod("a", 4, "n"), pod("b", 2, "n"), pod("c", 4, "n", namespace="other")]
    found = explained(
        Node=[node("n")],
        Pod=held,
        Job=[job("j", gpus=4)],
        ResourceQuota=[quota()],
        Event=[refused("Job", "j", EXCEEDED)],
    )
    assert [one.pods for one in found.blockers] == [("lab/a",)]
    assert found.facts["quota"] == {
        "name": "gpu", "key": f"requests.{GPU}", "hard": 8, "used": 6, "requested": 4,
    }  # fmt: skip


def test_lower_priority_behind_a_quota_is_the_set_that_is_named() -> None:
    """Not the holder of equal priority, which is the first of any priority."""
    important = job("j", gpus=4)
    important["spec"]["template"]["spec"]["priority"] = 100
    found = explained(
        Node=[node("n")],
        Pod=[pod("low", 2, "n"), pod("equal", 4, "n", spec={"priority": 100})],
        Job=[important],
        ResourceQuota=[quota()],
        Event=[refused("Job", "j", EXCEEDED)],
    )
    assert found.inverted is not None
    assert found.inverted.pods == ("lab/low",)
    assert {one.priority for one in found.inverted.blockers} == {0}
    alone = explained(
        Node=[node("n")],
        Pod=[pod("equal", 6, "n", spec={"priority": 100})],
        Job=[important],
        ResourceQuota=[quota()],
        Event=[refused("Job", "j", EXCEEDED)],
    )
    assert (alone.overlays, alone.inverted) == ((), None)


def test_a_pod_that_waits_is_counted_by_the_quota_and_says_so() -> None:
    objects = {
        "Node": [node("n")],
        "Pod": [pod("w", 6)],
        "Job": [job("j", gpus=4)],
        "ResourceQuota": [quota()],
        "Event": [refused("Job", "j", EXCEEDED)],
    }
    waiting = Explainer(read_world(objects, NOW_MS)).waiting()
    [found] = [one for one in waiting if one.name == "j"]
    [[held]] = [one.blockers for one in found.blockers]
    assert (held.pod, held.waits) == ("lab/w", True)
    assert {"change": "end_pod", "pod": "lab/w", "waiting": ["lab/w"]} in changes(found)


def test_a_pod_on_a_node_does_not_wait() -> None:
    found = explained(Node=[node("n", 4)], Pod=[pod("a", 4, "n"), pod("w", 4)])
    assert [one.waits for s in found.blockers for one in s.blockers] == [False]


def test_a_quota_smaller_than_the_request_has_no_blockers() -> None:
    small = quota(hard={f"requests.{GPU}": "2"})
    found = explained(
        Node=[node("n")],
        Pod=[pod("a", 2, "n")],
        Job=[job("j", gpus=4)],
        ResourceQuota=[small],
        Event=[refused("Job", "j", EXCEEDED)],
    )
    assert found.blockers == ()


QUEUE = {"labels": {"kueue.x-k8s.io/queue-name": "batch"}}


@pytest.mark.parametrize(
    ("meta", "cause", "change"),
    [
        ({}, "suspended", {"change": "resume", "object": "Job/lab/j"}),
        (QUEUE, "queue", {"change": "queue_admits", "queue": "lab/batch"}),
    ],
)
def test_a_suspended_job(meta: Any, cause: str, change: Any) -> None:
    found = explained(
        Node=[node("n")],
        Job=[job("j", suspend=True, parallelism=3, completions=3, meta=meta)],
    )
    assert (found.stage, found.cause) == ("held_back", cause)
    assert found.pods.waiting == 3
    assert changes(found) == [change]


def admitted(name: str, namespace: str, queue: str) -> dict[str, Any]:
    """Kueue's entry of a job that the ClusterQueue `large` has let in."""
    return {
        "metadata": {"name": f"job-{name}", "namespace": namespace}
        | owned("Job", name),
        "spec": {"queueName": queue},
        "status": {"admission": {"clusterQueue": "large"}},
    }


def test_what_the_queue_has_let_in_holds_it() -> None:
    """Of all namespaces of the ClusterQueue, most GPUs first; work that has no node is left out."""
    held = [
        pod("a", 2, "n", meta=owned("Job", "small")),
        pod("b", 4, "n", namespace="other", meta=owned("Job", "large")),
    ]
    jobs = [
        job("j", suspend=True, meta=QUEUE),
        job("small"),
        job("large", namespace="other"),
        job("none", gpus=1),
    ]
    entries = [
        admitted("small", "lab", "batch"),
        admitted("large", "other", "theirs"),
        admitted("none", "lab", "batch"),
    ]
    world = world_of(Node=[node("n")], Pod=held, Job=jobs, Workload=entries)
    (found,) = [one for one in Explainer(world).waiting() if one.cause == "queue"]
    assert found.cluster_queue == "large"
    assert [(one.pod, one.unit, one.units) for one in found.let_in] == [
        ("other/large", "Job/other/large", 4),
        ("lab/small", "Job/lab/small", 2),
    ]
    alone = world_of(Job=[job("j", suspend=True, meta=QUEUE)], Workload=entries[1:2])
    (found,) = Explainer(alone).waiting()
    assert (found.cluster_queue, found.let_in) == ("", ())


def test_the_reason_of_a_queue_is_kept() -> None:
    condition = {
        "type": "QuotaReserved",
        "status": "False",
        "reason": "WaitingForQuota",
        "message": "insufficient unused quota, 8 more needed",
    }
    workload = {
        "metadata": {"name": "job-j", "namespace": "lab"} | owned("Job", "j"),
        "spec": {"queueName": "batch"},
        "status": {"conditions": [condition]},
    }
    found = explained(Job=[job("j", suspend=True, meta=QUEUE)], Workload=[workload])
    assert found.facts == {"queue": "batch", "queue_reason": "WaitingForQuota"}
    (said,) = found.evidence
    assert (said.object, said.text) == ("Workload/lab/job-j", condition["message"])


@pytest.mark.parametrize(
    ("gates", "cause"),
    [
        (["kueue.x-k8s.io/admission"], "queue"),
        (["scheduling.volcano.sh/queue-allocation-gate"], "queue"),
        (["kueue.x-k8s.io/admission", "example.com/budget"], "gated"),
    ],
)
def test_gates(gates: list[str], cause: str) -> None:
    named = [{"name": one} for one in gates]
    found = explained(Node=[node("n")], Pod=[pod("w", spec={"schedulingGates": named})])
    assert (found.stage, found.cause, found.facts["gates"]) == (
        "held_back",
        cause,
        gates,
    )


def test_a_scheduler_that_nobody_runs() -> None:
    waiting = pod("w", tried=False, spec={"schedulerName": "nobody"})
    found = explained(Node=[node("n")], Pod=[waiting])
    assert (found.stage, found.cause) == ("held_back", "not_tried")
    assert changes(found) == [{"change": "start_scheduler", "scheduler": "nobody"}]


VOLUMES = {"volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]}


def claim(storage: str = "", **status: Any) -> dict[str, Any]:
    spec = {"storageClassName": storage, "accessModes": ["ReadWriteOnce"]}
    return {
        "metadata": {"name": "data", "namespace": "lab"},
        "spec": spec,
        "status": status,
    }


@pytest.mark.parametrize(
    ("claims", "cause", "change"),
    [
        ([], "volume_missing", {"change": "create_claim", "name": "lab/data"}),
        ([claim("fast")], "volume_unbound",
         {"change": "provide_volume", "name": "lab/data"}),
    ],
)  # fmt: skip
def test_a_volume_before_nodes(claims: list[Any], cause: str, change: Any) -> None:
    found = explained(
        Node=[node("n")], Pod=[pod("w", spec=VOLUMES)], PersistentVolumeClaim=claims
    )
    assert (found.cause, found.preemption) == (cause, "not_helpful")
    assert changes(found) == [change]


def test_nobody_holds_what_a_missing_volume_is_waited_for() -> None:
    """The node is full too, but the end of its pod lets nothing start."""
    found = explained(
        Node=[node("n1")], Pod=[pod("held", 8, "n1"), pod("w", 4, spec=VOLUMES)]
    )
    assert (found.cause.value, found.blockers, found.overlays) == (
        "volume_missing",
        (),
        (),
    )


def test_a_kind_that_may_not_be_read_proves_nothing() -> None:
    found = explained(
        unread=("PersistentVolumeClaim",),
        Node=[node("n", cordoned=True)],
        Pod=[pod("w", spec=VOLUMES)],
    )
    assert found.cause == "cordoned"
    blind = explained(unread=("Node",), Pod=[pod("w")])
    assert (blind.cause, blind.preemption) == ("other", "unknown")


def devices(count: int, **more: Any) -> dict[str, Any]:
    exact = {"deviceClassName": "gpu.nvidia.com", "count": count} | more
    return {"devices": {"requests": [{"name": "gpu", "exactly": exact}]}}


def test_a_claim_is_missing_then_its_class_then_its_devices() -> None:
    waiting = pod(
        "w",
        None,
        spec={"resourceClaims": [{"name": "g", "resourceClaimName": "mine"}]},
        message="0/1 nodes are available: 1 cannot allocate all claims.",
    )
    world: dict[str, Any] = {"Node": [node("n", None)], "Pod": [waiting]}
    found = explained(**world)
    assert (found.cause, found.units_per_pod) == ("claim_missing", None)
    named = {"metadata": {"name": "mine", "namespace": "lab"}, "spec": devices(2)}
    world["ResourceClaim"] = [named]
    assert explained(**world).cause == "device_class_missing"
    kind = {"metadata": {"name": "gpu.nvidia.com"}}
    world["DeviceClass"] = [kind]
    found = explained(**world)
    assert (found.cause, found.resource) == ("claim_unallocatable", "gpu.nvidia.com")
    assert changes(found) == [
        {"change": "publish_devices", "device_class": "gpu.nvidia.com"}
    ]


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("ImagePullBackOff", "image_pull"),
        ("CreateContainerConfigError", "container_config"),
        ("ContainerCreating", "starting"),
    ],
)
def test_a_pod_that_is_starting_holds_its_gpus(reason: str, cause: str) -> None:
    waiting = [{"name": "main", "state": {"waiting": {"reason": reason}}}]
    starting = pod(
        "w", on="n", status={"phase": "Pending", "containerStatuses": waiting}
    )
    found = explained(Node=[node("n")], Pod=[starting])
    assert (found.stage, found.cause) == ("starting", cause)
    assert found.overlays == ("holds_while_starting",)
    assert (found.pods.bound, found.pods.waiting) == (1, 0)


def test_a_node_that_was_lost_while_a_pod_starts() -> None:
    starting = pod("w", on="gone", status={"phase": "Pending"})
    found = explained(Node=[node("n")], Pod=[starting])
    assert found.cause == "node_not_ready"
    assert {"change": "delete_pod", "pod": "lab/w"} in changes(found)
