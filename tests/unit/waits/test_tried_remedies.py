"""Remedies that were untrue: quota, limits, nodes and priorities are tried together (S13)."""

from typing import Any

import pytest

from scheduler_view.waits.rules.change_wording import change_text
from scheduler_view.waits.rules.number_wording import numbers_text, partial_text
from tests.unit.waits.worlds import (
    GPU,
    changes,
    explained,
    job,
    kinds,
    node,
    owned,
    pod,
    refused,
)

KEY = f"requests.{GPU}"


def quota(hard: dict[str, str], used: dict[str, str], name: str = "gpu") -> Any:
    return {
        "metadata": {"name": name, "namespace": "lab"},
        "spec": {"hard": hard},
        "status": {"used": used},
    }


def exceeded(requested: int, used: int, hard: int) -> str:
    return (
        'Error creating: pods "x" is forbidden: exceeded quota: gpu, '
        f"requested: {KEY}={requested}, used: {KEY}={used}, limited: {KEY}={hard}"
    )


def of_full_quota(gpus: int, held: int, hard: int, nodes: list[Any], *pods: Any) -> Any:
    return explained(
        Node=nodes,
        Pod=list(pods),
        Job=[job("j", gpus=gpus)],
        ResourceQuota=[quota({KEY: str(hard)}, {KEY: str(held)})],
        Event=[refused("Job", "j", exceeded(gpus, held, hard))],
    )


RAISED = {"change": "raise_quota", "quota": "lab/gpu", "key": KEY, "to": 8}


def test_a_larger_quota_is_not_enough_where_the_nodes_are_full() -> None:
    """Other work holds the node; the end of own work frees both."""
    other = pod("other", 4, "n", namespace="theirs")
    found = of_full_quota(4, 4, 4, [node("n")], pod("own", 4, "n"), other)
    assert RAISED not in changes(found)
    assert {"change": "end_pod", "pod": "lab/own"} in changes(found)
    together = [one for one in changes(found) if one["change"] == "together"]
    assert together[0]["changes"] == [
        RAISED,
        {"change": "end_pod", "pod": "theirs/other"},
    ]
    (partial,) = [p.as_value() for p in found.not_enough]
    assert partial_text(partial) == (
        "the quota lab/gpu is raised to 8; then not enough free GPUs on matching nodes "
        "(4 GPUs requested; none is free on one node)"
    )


def test_a_larger_quota_is_not_enough_for_a_pod_that_no_node_can_take() -> None:
    small = [node("a", 4), node("b", 4)]
    found = of_full_quota(8, 0, 4, small)
    assert [change_text(one) for one in changes(found)] == [
        "each pod requests 4 GPUs",
        "the quota lab/gpu is raised to 8, and a node with 8 free GPUs is added",
    ]
    (partial,) = found.not_enough
    assert "the largest node has 4" in partial_text(partial.as_value())


def test_a_larger_quota_is_enough_where_the_nodes_have_room() -> None:
    found = of_full_quota(4, 4, 4, [node("n")], pod("own", 4, "n"))
    assert changes(found)[0] == RAISED
    assert found.not_enough == ()
    assert numbers_text(found.cause, found.facts) == (
        "4 GPUs requested; 4 of 4 are used"
    )


def test_one_gpu_is_singular() -> None:
    found = of_full_quota(1, 4, 4, [node("n")], pod("own", 4, "n"))
    assert numbers_text(found.cause, found.facts) == "1 GPU requested; 4 of 4 are used"


def test_every_quota_that_counts_the_pods_is_raised() -> None:
    found = explained(
        Node=[node("n")],
        Job=[job("j", gpus=4)],
        ResourceQuota=[
            quota({KEY: "4"}, {KEY: "4"}),
            quota({KEY: "6", "pods": "1"}, {KEY: "4", "pods": "1"}, "more"),
        ],
        Event=[refused("Job", "j", exceeded(4, 4, 4))],
    )
    (first, *_) = changes(found)
    assert first["change"] == "together"
    assert [(c["quota"], c["key"], c["to"]) for c in first["changes"]] == [  # type: ignore[attr-defined]
        ("lab/gpu", KEY, 8),
        ("lab/more", KEY, 8),
        ("lab/more", "pods", "2"),
    ]


def test_a_quota_that_was_raised_already_needs_only_time() -> None:
    found = explained(
        Node=[node("n")],
        Job=[job("j", gpus=4)],
        ResourceQuota=[quota({KEY: "16"}, {KEY: "4"})],
        Event=[refused("Job", "j", exceeded(4, 4, 4))],
    )
    assert [change_text(one) for one in changes(found)] == [
        "its controller tries again, within 20 minutes"
    ]


def test_numbers_of_free_gpus() -> None:
    held = [pod("a1", 6, "a"), pod("b1", 7, "b")]
    found = explained(Node=[node("a"), node("b")], Pod=[*held, pod("w", 4)])
    assert numbers_text(found.cause, found.facts) == (
        "4 GPUs requested; 2 and 1 are free on two nodes"
    )


MUST = 'Error creating: pods "x" is forbidden: failed quota: gpu: must specify '


def test_all_resources_that_a_quota_demands_are_named() -> None:
    found = explained(
        Node=[node("n")],
        Job=[job("j", gpus=1)],
        ResourceQuota=[
            quota({"requests.cpu": "8", "requests.memory": "8Gi"}, {}),
        ],
        Event=[refused("Job", "j", f"{MUST}requests.cpu for: main")],
    )
    assert [change_text(one) for one in changes(found)] == [
        "its containers request cpu, and its containers request memory"
    ]


def limits(**item: Any) -> Any:
    return {
        "metadata": {"name": "bounds", "namespace": "lab"},
        "spec": {"limits": [{"type": "Container"} | item]},
    }


def of_limits(item: dict[str, Any], message: str, **resources: Any) -> Any:
    work = job("j", gpus=1)
    (container,) = work["spec"]["template"]["spec"]["containers"]
    container["resources"] = {
        "requests": {GPU: "1"} | resources.get("requests", {}),
        "limits": {GPU: "1"} | resources.get("limits", {}),
    }
    forbidden = f'Error creating: pods "x" is forbidden: {message}'
    return explained(
        Node=[node("n")],
        Job=[work],
        LimitRange=[limits(**item)],
        Event=[refused("Job", "j", forbidden)],
    )


@pytest.mark.parametrize(
    ("item", "message", "resources", "expected"),
    [
        (
            {"min": {"cpu": "4"}},
            "minimum cpu usage per Container is 4, but request is 1",
            {"requests": {"cpu": "1"}},
            [
                "each container requests at least 4 of cpu",
                "the LimitRange lab/bounds allows as little as 1 of cpu",
            ],
        ),
        (
            {"type": "Pod", "max": {"memory": "64Gi"}},
            "maximum memory usage per Pod is 64Gi.  No limit is specified",
            {},
            ["each pod has a limit of at most 64Gi of memory"],
        ),
        (
            {"max": {"cpu": "4"}},
            "maximum cpu usage per Container is 4, but limit is 6",
            {"requests": {"cpu": "6"}, "limits": {"cpu": "6"}},
            [
                "each pod requests 4 of cpu",
                "the LimitRange lab/bounds allows 6 of cpu",
            ],
        ),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            "cpu max limit to request ratio per Container is 2, but provided ratio is 8.0",
            {"requests": {"cpu": "1"}, "limits": {"cpu": "8"}},
            [
                "each container requests at least 4 of cpu",
                "the LimitRange lab/bounds allows a limit that is 8 times the request of cpu",
            ],
        ),
    ],
)
def test_a_request_is_moved_into_the_limits(
    item: Any, message: str, resources: Any, expected: list[str]
) -> None:
    found = of_limits(item, message, **resources)
    assert (found.stage, found.cause) == ("refused", "limit_range")
    assert [change_text(one) for one in changes(found)] == expected


CLASSES = [
    {"metadata": {"name": name}, "value": value}
    for name, value in (("low", 10), ("high", 100), ("system-node-critical", 2_000_000))
]


@pytest.mark.parametrize(
    ("held", "classes", "expected"),
    [
        (10, CLASSES, ["high"]),
        (10, CLASSES[2:], []),
        (100, CLASSES, []),
        (10, [], []),
    ],
)
def test_a_higher_tier_is_named_only_if_one_wins(
    held: int, classes: list[Any], expected: list[str]
) -> None:
    waiting = pod("w", 8, spec={"priority": 10, "priorityClassName": "low"})
    found = explained(
        Node=[node("n")],
        Pod=[pod("h", 8, "n", spec={"priority": held}), waiting],
        PriorityClass=classes,
    )
    named = [one["name"] for one in changes(found) if one["change"] == "raise_tier"]
    assert named == expected


@pytest.mark.parametrize("is_full_node", [False, True])
def test_a_rollout_that_a_full_quota_blocks(is_full_node: bool) -> None:
    """MaxSurge 1, maxUnavailable 0: the new pod is refused while the old ones run."""
    template = pod("t", 2)["spec"]
    strategy = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    replica_sets = [
        {
            "metadata": {"name": name, "namespace": "lab", "uid": f"uid-{name}"}
            | {"ownerReferences": owned("Deployment", "serve")["ownerReferences"]},
            "spec": {"replicas": count, "template": {"spec": template}},
        }
        for name, count in (("old", 2), ("new", 1))
    ]
    found = explained(
        Node=[node("n", 4 if is_full_node else 8)],
        Pod=[pod(f"p{i}", 2, "n", meta=owned("ReplicaSet", "old")) for i in range(2)],
        Deployment=[
            {
                "metadata": {"name": "serve", "namespace": "lab", "uid": "uid-serve"},
                "spec": {
                    "replicas": 2,
                    "template": {"spec": template},
                    "strategy": strategy,
                },
            }
        ],
        ReplicaSet=replica_sets,
        ResourceQuota=[quota({KEY: "4"}, {KEY: "4"})],
        Event=[refused("ReplicaSet", "new", exceeded(2, 4, 4))],
    )
    assert "own_rollout" in found.overlays
    assert changes(found)[0] == {
        "change": "allow_unavailable", "object": "Deployment/lab/serve", "to": 1,
    }  # fmt: skip
    assert "scale_down" not in kinds(found)
    raised = {"change": "raise_quota", "quota": "lab/gpu", "key": KEY, "to": 6}
    assert (raised in changes(found)) is not is_full_node
    assert not kinds(found) & {"raise_tier", "end_pod"}


def test_a_new_node_has_the_resource_that_no_node_has() -> None:
    wants = [{"name": "m", "resources": {"requests": {GPU: "1", "rdma/hca": "1"}}}]
    waiting = pod("w", spec={"containers": wants, "nodeSelector": {"zone": "a"}})
    found = explained(Node=[node("n")], Pod=[waiting])
    (new,) = [one for one in changes(found) if one["change"] == "add_node"]
    assert change_text(new) == (
        "a node of zone=a with 1 free GPU and 1 of rdma/hca is added"
    )


def test_no_new_node_helps_where_one_pod_may_use_the_volume() -> None:
    volumes = {"volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]}
    claim = {
        "metadata": {"name": "data", "namespace": "lab"},
        "spec": {"accessModes": ["ReadWriteOncePod"], "volumeName": "v"},
        "status": {"phase": "Bound"},
    }
    found = explained(
        Node=[node("n")],
        Pod=[pod("first", 1, "n", spec=volumes), pod("w", 1, spec=volumes)],
        PersistentVolumeClaim=[claim],
    )
    assert found.cause == "volume_in_use"
    assert kinds(found) == {"end_pod"}


def test_a_new_node_is_in_the_zone_of_the_volume() -> None:
    terms = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]}]
    found = explained(
        Node=[node("n")],
        Pod=[
            pod("w", 1, spec={
                "volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]
            })
        ],
        PersistentVolumeClaim=[
            {
                "metadata": {"name": "data", "namespace": "lab"},
                "spec": {"accessModes": ["ReadWriteOnce"], "volumeName": "v"},
                "status": {"phase": "Bound"},
            }
        ],
        PersistentVolume=[
            {
                "metadata": {"name": "v"},
                "spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}},
                "status": {"phase": "Bound"},
            }
        ],
    )  # fmt: skip
    assert found.cause == "volume_zone"
    assert {"change": "add_node", "units": 1, "labels": {"zone": "b"}} in changes(found)


def test_a_gang_needs_nodes_for_all_its_members() -> None:
    """One free node is enough for one of two members; the whole needs one more."""
    nodes = [node("a"), node("b")]
    work = job("g", gpus=8, parallelism=2, completions=2, completionMode="Indexed")
    members = [pod(f"g-{i}", 8, meta=owned("Job", "g") | {"uid": f"g{i}"} |
                   {"name": f"g-{i}", "namespace": "lab"}) for i in range(2)]  # fmt: skip
    held = [pod("a1", 8, "a"), pod("b1", 8, "b")]
    found = explained(Node=nodes, Job=[work], Pod=[*held, *members])
    ends = [one for one in changes(found) if str(one["change"]).startswith("end")]
    assert ends == [{"change": "end_pods", "pods": ["lab/a1", "lab/b1"]}]


def test_work_that_is_resumed_still_needs_a_node() -> None:
    found = explained(
        Node=[node("n")],
        Pod=[pod("held", 8, "n")],
        Job=[job("j", gpus=8, suspend=True)],
    )
    assert changes(found)[0] == {
        "change": "together",
        "changes": [
            {"change": "resume", "object": "Job/lab/j"},
            {"change": "end_pod", "pod": "lab/held"},
        ],
    }


def test_sets_that_are_equal_go_by_the_gpus_that_would_end() -> None:
    """The name of the node decides last: CPU is short, and the smaller holder ends."""
    wants = {GPU: "1", "cpu": "90"}
    held = [
        pod(f"{name}1", gpus, name, spec={
            "containers": [
                {"name": "m", "resources": {"requests": {GPU: str(gpus), "cpu": "20"}}}
            ]
        })
        for name, gpus in (("a", 7), ("b", 2))
    ]  # fmt: skip
    waiting = pod(
        "w",
        spec={"containers": [{"name": "m", "resources": {"requests": wants}}]},
    )
    found = explained(Node=[node("a"), node("b")], Pod=[*held, waiting])
    assert found.cause == "cpu_memory"
    assert [one.pods for one in found.blockers] == [("lab/b1",), ("lab/a1",)]


def test_victims_are_the_first_set_while_a_unit_preempts() -> None:
    ending = {"deletionTimestamp": "2026-11-22T06:00:00Z", "namespace": "lab"}
    victim = pod("low", 4, "n", meta={"name": "low", "uid": "low"} | ending)
    held = pod("big", 8, "a", spec={"priority": 1})
    waiting = pod("w", 4, spec={"priority": 9}, status={"nominatedNodeName": "n"})
    waiting["status"]["conditions"] = [{"type": "PodScheduled", "status": "False"}]
    found = explained(Node=[node("a"), node("n", 4)], Pod=[held, victim, waiting])
    assert found.cause == "preempting"
    assert [one.pods for one in found.blockers] == [("lab/low",)]


def test_an_inversion_names_only_what_runs_with_another_class() -> None:
    """Behind a quota: not work that waits, nor of the same tier."""
    work = job("j", gpus=4)
    work["spec"]["template"]["spec"] |= {"priority": 100, "priorityClassName": "high"}
    of_class = {"priority": 10, "priorityClassName": "high"}

    def inverted(*pods: Any) -> tuple[str, ...]:
        found = explained(
            Node=[node("n", 4, offers={"pods": "9"})],
            Pod=list(pods),
            Job=[work],
            ResourceQuota=[quota({KEY: "4"}, {KEY: "4"})],
            Event=[refused("Job", "j", exceeded(4, 4, 4))],
        )
        return found.inverted.pods if found.inverted else ()

    low = pod("low", 4, "n", spec={"priority": 10})
    same = pod("same", 4, "n", spec=of_class)
    assert inverted(low) == ("lab/low",)
    assert inverted(same) == ()


def test_another_mig_profile_is_named_before_whole_gpus() -> None:
    """What is alike to the request comes first."""
    wanted = pod("w", None, spec={"containers": [
        {"name": "main", "resources": {"requests": {"nvidia.com/mig-1g.10gb": "1"}}}
    ]})  # fmt: skip
    nodes = [node("a"), node("b", None, offers={"nvidia.com/mig-1g.18gb": "7"})]
    found = changes(explained(Node=nodes, Pod=[wanted]))
    assert found[:2] == [
        {"change": "change_request", "resource": "nvidia.com/mig-1g.18gb"},
        {"change": "change_request", "resource": GPU},
    ]
