"""Situations before a node is looked for: quotas, limits, policies, gates, suspension."""

from tests.control_plane.situation import Situation
from tests.control_plane.situation_objects import (
    GPUS,
    hold,
    job,
    limits,
    node,
    obj,
    patch,
    pod,
    priority,
    quota,
    served,
)

JOB = "Job/$/w"
BY_QUOTA = {"change": "raise_quota", "quota": "$/q"}


POLICY = [
    obj(
        "ValidatingAdmissionPolicy",
        "$",
        "",
        spec={
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": ["pods"],
                    }
                ]
            },
            "validations": [
                {"expression": "has(object.metadata.labels.team)", "message": "no team"}
            ],
        },
    ),
    obj(
        "ValidatingAdmissionPolicyBinding",
        "$",
        "",
        spec={
            "policyName": "$",
            "validationActions": ["Deny"],
            "matchResources": {
                "namespaceSelector": {
                    "matchLabels": {"kubernetes.io/metadata.name": "$"}
                }
            },
        },
    ),
]

SITUATIONS = [
    Situation(
        "quota-is-used-up",
        "quota",
        BY_QUOTA | {"to": 6},
        [node(), quota(hard={GPUS: "2"}), hold("a", 2), job(gpus=4)],
        JOB,
        never=("add_node",),
    ),
    Situation(
        "quota-of-a-service",
        "quota",
        BY_QUOTA | {"to": 6},
        [node(), quota(hard={GPUS: "4"}), served("Deployment", 2, 3, wait=2)],
        "Deployment/$/w",
    ),
    Situation(
        "quota-of-a-stateful-set",
        "quota",
        BY_QUOTA | {"to": 6},
        [node(), quota(hard={GPUS: "4"}), served("StatefulSet", 2, 3, wait=2)],
        "StatefulSet/$/w",
    ),
    Situation(
        "service-scaled-down",
        "quota",
        {"change": "scale_down", "to": 2},
        [node(), quota(hard={GPUS: "4"}), served("Deployment", 2, 3, wait=2)],
        "Deployment/$/w",
        is_first=False,
        after="over",
    ),
    Situation(
        "quota-used-up-and-nodes-full",
        "quota",
        {
            "change": "together",
            "changes": [BY_QUOTA, {"change": "end_pod", "pod": "$-b/hold-x"}],
        },
        [
            node(gpus=6),
            quota(hard={GPUS: "2"}),
            hold("a", 2),
            hold("x", 4, namespace="$-b"),
            job(gpus=4),
        ],
        JOB,
        is_first=False,
        never=("raise_quota",),
    ),
    Situation(
        "quota-and-pod-larger-than-nodes",
        "quota",
        {"change": "together", "changes": [BY_QUOTA, {"change": "add_node"}]},
        [node(gpus=4), quota(hard={GPUS: "8"}), hold("a", 4), job(gpus=8)],
        JOB,
        is_first=False,
        never=("raise_quota",),
    ),
    Situation(
        "two-quotas",
        "quota",
        {
            "change": "together",
            "changes": [
                {"change": "raise_quota", "quota": "$/p", "to": 6},
                {"change": "raise_quota", "quota": "$/q", "to": 6},
            ],
        },
        [
            node(),
            quota("p", hard={GPUS: "3"}),
            quota(hard={GPUS: "2"}),
            hold("a", 2),
            job(gpus=4),
        ],
        JOB,
    ),
    Situation(
        "gang-of-an-indexed-job",
        "quota",
        BY_QUOTA | {"to": 10},
        [
            node(gpus=16),
            quota(hard={GPUS: "4"}),
            hold("a", 2),
            job(gpus=4, pods=2, completionMode="Indexed"),
        ],
        JOB,
    ),
    Situation(
        "quota-of-a-class",
        "scope_quota",
        {"change": "lower_tier"},
        [
            priority("prod", 50),
            node(),
            quota(
                hard={GPUS: "2"},
                scopeSelector={
                    "matchExpressions": [
                        {
                            "scopeName": "PriorityClass",
                            "operator": "In",
                            "values": ["$-prod"],
                        }
                    ]
                },
            ),
            hold("a", 2, priorityClassName="$-prod"),
            job(gpus=4, priorityClassName="$-prod"),
        ],
        JOB,
        is_first=False,
    ),
    Situation(
        "quota-of-pods",
        "quota_other",
        BY_QUOTA | {"key": "pods", "to": "2"},
        [node(), quota(hard={"pods": "1"}), hold("a", 2), job(gpus=4)],
        JOB,
    ),
    Situation(
        "quota-wants-cpu-and-memory",
        "quota_other",
        {
            "change": "together",
            "changes": [
                {"change": "add_request", "resource": "cpu"},
                {"change": "add_request", "resource": "memory"},
            ],
        },
        [
            node(),
            quota(hard={"requests.cpu": "8", "requests.memory": "8Gi"}),
            job(gpus=4),
        ],
        JOB,
    ),
    Situation(
        "quota-wants-limits",
        "quota_other",
        {"change": "add_request", "key": "limits.memory"},
        [
            node(),
            quota(hard={"limits.memory": "8Gi"}),
            job(gpus=4, requests={"memory": "1Gi"}),
        ],
        JOB,
    ),
    Situation(
        "least-cpu",
        "limit_range",
        {"change": "grow_request", "resource": "cpu", "to": "4"},
        [node(), limits(min={"cpu": "4"}), job(gpus=4, requests={"cpu": "1"})],
        JOB,
    ),
    Situation(
        "least-cpu-lowered",
        "limit_range",
        {"change": "raise_limit_range", "limit": "min", "to": "1"},
        [node(), limits(min={"cpu": "4"}), job(gpus=4, requests={"cpu": "1"})],
        JOB,
        is_first=False,
    ),
    Situation(
        "no-limit-is-specified",
        "limit_range",
        {"change": "set_limit", "resource": "memory", "to": "64Gi"},
        [
            node(),
            obj(
                "LimitRange",
                "bounds",
                spec={"limits": [{"type": "Pod", "max": {"memory": "64Gi"}}]},
            ),
            job(gpus=4),
        ],
        JOB,
    ),
    Situation(
        "limit-over-request",
        "limit_range",
        {"change": "grow_request", "resource": "cpu", "to": "4"},
        [
            node(),
            limits(maxLimitRequestRatio={"cpu": "2"}),
            job(gpus=4, requests={"cpu": "1"}, limits={"cpu": "8"}),
        ],
        JOB,
    ),
    Situation(
        "most-gpus-of-a-container",
        "limit_range",
        {"change": "shrink_request", "units": 2},
        [node(), limits(max={"nvidia.com/gpu-$": "2"}), job(gpus=4)],
        JOB,
    ),
    Situation(
        "surge-refused-by-quota",
        "quota",
        {"change": "allow_unavailable", "to": 1},
        [
            node(),
            quota(hard={GPUS: "4"}),
            served(
                "Deployment",
                2,
                2,
                wait=2,
                strategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            ),
            patch(
                "Deployment",
                "w",
                spec={"template": {"metadata": {"annotations": {"new": "1"}}}},
            ),
        ],
        "Deployment/$/w",
        says={"overlays": ["own_rollout"]},
        never=("scale_down",),
        after="over",
    ),
    Situation(
        "class-does-not-exist",
        "priority_class_missing",
        {"change": "create_priority_class", "name": "$-urgent"},
        [node(), job(gpus=4, priorityClassName="$-urgent")],
        JOB,
    ),
    Situation(
        "policy-refuses",
        "admission_other",
        None,
        [*POLICY, node(), job(gpus=4)],
        JOB,
        says={"evidence": [{"text": "*no team*"}]},
    ),
    Situation(
        "suspended",
        "suspended",
        {"change": "resume", "object": JOB},
        [node(), job(gpus=4, suspend=True)],
        JOB,
    ),
    Situation(
        "suspended-and-nodes-full",
        "suspended",
        {
            "change": "together",
            "changes": [
                {"change": "resume"},
                {"change": "end_pod", "pod": "$/hold-a"},
            ],
        },
        [node(), hold("a", 8), job(gpus=4, suspend=True)],
        JOB,
        is_first=False,
        never=("resume",),
    ),
    Situation(
        "gated",
        "gated",
        {"change": "remove_gate", "gate": "example.com/data"},
        [node(), pod(gpus=4, schedulingGates=[{"name": "example.com/data"}])],
    ),
]
