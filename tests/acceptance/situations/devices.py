"""Situations of claims for devices: dynamic resource allocation by the real scheduler."""

from typing import Any

from tests.control_plane.recorded_case import Manifest
from tests.control_plane.situation import Situation
from tests.control_plane.situation_objects import (
    DEVICES,
    HOST,
    container,
    device_claim,
    device_class,
    devices_of,
    node,
    obj,
    pod,
)

HOLDS = {"change": "end_pod", "pod": "$/hold-a"}
HERE: Manifest = {"nodeSelector": {HOST: "$-g0"}}


def claiming(name: str = "w", cpu: str = "", **more: Any) -> Manifest:
    """A pod with a claim `c`, unless it has a `claim` or `template` of another name."""
    source = {"resourceClaimName": more.pop("claim", "c")}
    if "template" in more:
        source = {"resourceClaimTemplateName": more.pop("template")}
    one = container(0, requests={"cpu": cpu} if cpu else {})
    one["resources"]["claims"] = [{"name": "gpu"}]
    claims = [{"name": "gpu", **source}]
    return pod(name, containers=[one], resourceClaims=claims, **more)


def offered(devices: int = 2) -> list[Manifest]:
    """A class, and a node whose driver publishes devices of it."""
    return [device_class(), node(gpus=0), devices_of("g0", devices)]


SITUATIONS = [
    Situation(
        "resource-claim-does-not-exist",
        "claim_missing",
        {"change": "create_resource_claim", "name": "$/c"},
        [*offered(), claiming(**HERE)],
    ),
    Situation(
        "claim-template-does-not-exist",
        "claim_missing",
        {"change": "create_claim_template", "name": "$/t"},
        [*offered(), claiming(template="t", **HERE)],
    ),
    Situation(
        "device-class-does-not-exist",
        "device_class_missing",
        {"change": "create_device_class", "name": DEVICES},
        [node(gpus=0), devices_of("g0", 2), device_claim(), claiming(**HERE)],
    ),
    Situation(
        "devices-are-held",
        "claim_unallocatable",
        HOLDS,
        [
            *offered(),
            device_claim("held", 2),
            claiming("hold-a", claim="held", **HERE),
            device_claim(),
            claiming(**HERE),
        ],
        says={"facts": {"devices": {"$-g0": {"total": 2, "allocated": 2}}}},
    ),
    Situation(
        "more-devices-than-a-node-has",
        "claim_unallocatable",
        {"change": "shrink_request", "units": 2},
        [*offered(), device_claim(count=4), claiming(**HERE)],
    ),
    Situation(
        "selector-of-no-device",
        "claim_unallocatable",
        {"change": "change_claim_selector"},
        [*offered(), device_claim(model="b200"), claiming(**HERE)],
    ),
    Situation(
        "no-driver-publishes-devices",
        "claim_unallocatable",
        {"change": "publish_devices", "device_class": DEVICES},
        [device_class(), node(gpus=0), device_claim(), claiming(**HERE)],
    ),
    Situation(
        "claim-of-a-full-node",
        "claim_elsewhere",
        {"change": "free_claim", "claim": "$/c", "pods": ["$/hold-a"]},
        [
            *offered(1),
            device_claim(),
            claiming("hold-a", cpu="40", **HERE),
            node("g1", 0),
            devices_of("g1", 1),
            claiming(cpu="40"),
        ],
        says={
            "contributing": ["cpu_memory"],
            "facts": {"claim_nodes": ["$-g0"]},
        },
    ),
    Situation(
        "claim-of-a-node-that-is-gone",
        "claim_elsewhere",
        {"change": "free_claim", "claim": "$/c"},
        [
            *offered(1),
            device_claim(),
            claiming("hold-a", **HERE),
            node("g1", 0),
            devices_of("g1", 1),
            obj("Node", "$-g0", "", is_gone=True, grace_s=0),
            claiming(),
        ],
    ),
]
