"""Situations of nodes and kubelets: none, lost ones, and pods that are told to end or that fail."""

from datetime import timedelta

from tests.control_plane.recorded_case import Manifest
from tests.control_plane.situation import Situation
from tests.control_plane.situation_objects import (
    HOST,
    event,
    failed_pod,
    gone,
    hold,
    job,
    node,
    patch,
    pod,
    priority,
)

HERE: Manifest = {"nodeSelector": {HOST: "$-g0"}}
LATER = timedelta(minutes=10)  # than the time that a pod may take to end
KEPT: Manifest = {"meta": {"finalizers": ["example.com/x"]}}
NOT_READY = {"conditions": [{"type": "Ready", "status": "False"}]}
JOB = "Job/$/w"

SITUATIONS = [
    Situation(
        "cluster-without-nodes",
        "no_nodes",
        {"change": "add_node", "units": 2},
        [pod(gpus=2) | {"wait_tried": True}],
        is_alone=True,
    ),
    Situation(
        "freed-but-not-tried-again",
        "retry_pending",
        {"change": "wait", "at_most_ms": 330_000},
        [
            node(),
            hold("a", 8),
            pod(gpus=4) | {"wait_tried": True},
            gone("Pod", "hold-a"),
        ],
        is_alone=True,
        frozen="kube-scheduler",
    ),
    Situation(
        "node-is-not-ready",
        "node_not_ready",
        {"change": "repair_node", "node": "$-g0"},
        [node(ready="False"), pod(gpus=2)],
    ),
    Situation(
        "node-of-a-starting-pod-is-lost",
        "node_not_ready",
        {"change": "repair_node", "node": "$-g0"},
        [
            node(ready="True"),
            job(gpus=2) | {"wait_bound": True},
            node("g1"),
            patch("Node", "$-g0", "", status=NOT_READY),
        ],
        JOB,
        after="over",
    ),
    Situation(
        "scheduler-is-preempting",
        "preempting",
        {"change": "wait_for_end", "pods": 1},
        [
            priority("low", 10),
            priority("high", 20),
            node(ready="True"),
            hold("a", 8, priorityClassName="$-low"),
            pod(gpus=4, priorityClassName="$-high"),
        ],
        says={"preemption": "in_progress"},
    ),
    Situation(
        "finalizer-keeps-a-pod",
        "no_free_gpu",
        {
            "change": "end_pod",
            "pod": "$/hold-a",
            "stuck": {"$/hold-a": ["example.com/x"]},
        },
        [
            node(ready="True"),
            hold("a", 8, **KEPT),
            gone("Pod", "hold-a"),
            pod(gpus=4),
        ],
        ahead=LATER,
    ),
    Situation(
        "kubelet-ends-no-pod",
        "no_free_gpu",
        {"change": "end_pod", "pod": "$/hold-a", "stuck": {"$/hold-a": []}},
        [
            node(ready="True"),
            hold("a", 8),
            gone("Pod", "hold-a", 30),
            pod(gpus=4),
        ],
        ahead=LATER,
    ),
    Situation(
        "job-backs-off",
        "back_off",
        {"change": "retry_failed", "object": JOB},
        [
            node(ready="True"),
            job(gpus=2),
            failed_pod(reason="UnexpectedAdmissionError", message="Allocate failed"),
        ],
        JOB,
        says={"evidence": [{"text": "UnexpectedAdmissionError: Allocate failed"}]},
    ),
    Situation(
        "containers-are-starting",
        "starting",
        None,
        [node(ready="True"), pod(gpus=4, **HERE)],
        says={"overlays": ["holds_while_starting"]},
    ),
    Situation(
        "volume-cannot-be-mounted",
        "starting",
        None,
        [
            node(ready="True"),
            pod(gpus=4, **HERE),
            event("FailedMount", "MountVolume.SetUp failed", lastTimestamp="now"),
        ],
        says={"evidence": [{"text": "MountVolume.SetUp failed"}]},
    ),
    Situation(
        "another-scheduler-refuses",
        "other",
        None,
        [
            node(),
            pod(gpus=4, schedulerName="nobody"),
            patch(
                "Pod",
                "w",
                status={
                    "conditions": [
                        {
                            "type": "PodScheduled",
                            "status": "False",
                            "reason": "Unschedulable",
                            "message": "the project has no credit left",
                        }
                    ]
                },
            ),
        ],
        says={"evidence": [{"text": "the project has no credit left"}]},
    ),
]
