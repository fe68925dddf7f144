"""Why work waits: sentences as kube-scheduler 1.34 and its API server write them."""

from typing import Any

import pytest

from scheduler_view.domain.waits.wait_reason import (
    asked_of_pod,
    asked_of_refusal,
    reason_of_message,
    reason_of_pod,
)

GPU = "nvidia.com/gpu"


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("0/4 nodes are available: 4 Insufficient nvidia.com/gpu.", "no_free_gpu"),
        (
            (
                "0/9 nodes are available: 1 node(s) had untolerated taint {a: b}, 8 "
                "Insufficient nvidia.com/mig-1g.10gb. preemption: 0/9 nodes are available"
            ),
            "no_free_gpu",
        ),
        (
            (
                "0/2 nodes are available: 2 Insufficient cpu, 1 node(s) had untolerated "
                "taint {node.kubernetes.io/unreachable: }."
            ),
            "no_fitting_node",
        ),
        (
            (
                "0/3 nodes are available: 3 node(s) didn't match Pod's node "
                "affinity/selector. no new claims to deallocate."
            ),
            "no_fitting_node",
        ),
        (
            "0/3 nodes are available: 3 node(s) had volume node affinity conflict",
            "volume",
        ),
        ("0/3 nodes are available: 3 Insufficient memory.", "other"),
        ("¿qué?", "other"),
        ("", "other"),
    ],
)
def test_a_sentence_of_a_scheduler(message: str, reason: str) -> None:
    assert reason_of_message(message).value == reason


def pod(spec: dict[str, Any], **said: str) -> dict[str, Any]:
    conditions = [{"type": "PodScheduled", "status": "False", **said}] if said else []
    return {"spec": spec, "status": {"phase": "Pending", "conditions": conditions}}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (pod({}), ("not_tried", "")),
        (
            pod({"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}),
            ("held_back", "gates: kueue.x-k8s.io/admission"),
        ),
        (pod({}, reason="SchedulingGated", message="gated"), ("held_back", "gated")),
        (
            pod({}, reason="Unschedulable", message=f"1 Insufficient {GPU}"),
            ("no_free_gpu", f"1 Insufficient {GPU}"),
        ),
        ({"spec": {}, "status": {"phase": "Pending"}}, ("not_tried", "")),
        ({"spec": {}}, ("not_tried", "")),
    ],
)
def test_a_pod(value: dict[str, Any], expected: tuple[str, str]) -> None:
    reason, message = reason_of_pod(value)
    assert (reason.value, message) == expected


def container(units: object, **more: str) -> dict[str, Any]:
    return {"resources": {"limits": {GPU: units}}, **more}


@pytest.mark.parametrize(
    ("spec", "asked"),
    [
        ({"containers": [container("2"), container("1")]}, {GPU: 3}),
        ({"containers": [container(1)], "initContainers": [container("4")]}, {GPU: 4}),
        (
            {
                "containers": [container("2")],
                "initContainers": [
                    container("1", restartPolicy="Always"),
                    container("1"),
                ],
            },
            {GPU: 3},
        ),
        ({"containers": [{}], "resourceClaims": [{"name": "a"}]}, {}),
        ({"containers": [container("half")]}, {}),
        ({}, {}),
    ],
)
def test_what_a_pod_asks_for(spec: dict[str, Any], asked: dict[str, int]) -> None:
    assert asked_of_pod({"spec": spec}) == asked


@pytest.mark.parametrize(
    ("message", "asked"),
    [
        (
            (
                'Error creating: pods "a-x" is forbidden: exceeded quota: gpu-ledger, '
                f"requested: requests.{GPU}=2, used: requests.{GPU}=2, "
                f"limited: requests.{GPU}=2"
            ),
            {GPU: 2},
        ),
        (
            (
                "exceeded quota: a, requested: requests.cpu=1,requests.nvidia.com/gpu=4, "
                "used: requests.cpu=1, limited: requests.cpu=1"
            ),
            {GPU: 4},
        ),
        ("exceeded quota: a, requested: pods=1, used: pods=1, limited: pods=1", {}),
        ("exceeded quota", {}),
    ],
)
def test_what_a_controller_was_refused(message: str, asked: dict[str, int]) -> None:
    assert asked_of_refusal(message) == asked
