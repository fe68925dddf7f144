"""Claims of dynamic resource allocation that are allocated on a node which cannot take the pod."""

from typing import Any

import pytest

from scheduler_view.waits.rules.change_wording import change_text
from scheduler_view.waits.rules.details import details_of
from tests.unit.waits.worlds import changes, explained, node, pod

USES = {"resourceClaims": [{"name": "g", "resourceClaimName": "shared"}]}
FULL = {"cpu": "1"}


def claim(on: str, *uids: str) -> dict[str, Any]:
    """The claim `shared`, allocated on a node and reserved for pods."""
    field = {"key": "metadata.name", "operator": "In", "values": [on]}
    request = {"name": "g", "exactly": {"deviceClassName": "gpu.nvidia.com"}}
    return {
        "metadata": {"name": "shared", "namespace": "lab"},
        "spec": {"devices": {"requests": [request]}},
        "status": {
            "allocation": {
                "devices": {"results": []},
                "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]},
            },
            "reservedFor": [{"uid": one} for one in uids],
        },
    }


def waiting() -> dict[str, Any]:
    made = pod("w", None, spec=USES)
    requests = {"requests": {"cpu": "4"}}
    made["spec"]["containers"] = [{"name": "main", "resources": requests}]
    return made


def world(**objects: Any) -> dict[str, Any]:
    return {
        "Node": [node("a", None, offers=FULL), node("b", None)],
        "DeviceClass": [{"metadata": {"name": "gpu.nvidia.com"}}],
        **objects,
    }


def test_the_node_of_a_shared_claim_is_full() -> None:
    """Node b would take the pod, the claim is on node a."""
    other = pod("other", None, "a", spec=USES)
    found = explained(**world(
        Pod=[other, waiting()], ResourceClaim=[claim("a", "uid-other")],
    ))  # fmt: skip
    assert (found.stage, found.cause) == ("unschedulable", "claim_elsewhere")
    assert found.contributing == ("cpu_memory",)
    assert found.preemption == "not_helpful"
    assert details_of(found.cause.value, found.facts, str) == [
        "The claim lab/shared is allocated on a."
    ]
    assert [change_text(one) for one in changes(found)] == [
        "the pod lab/other ends, so that the claim lab/shared is allocated again"
    ]


def test_the_node_of_a_claim_is_gone() -> None:
    found = explained(**world(Pod=[waiting()], ResourceClaim=[claim("gone")]))
    assert found.cause == "claim_elsewhere"
    assert details_of(found.cause.value, found.facts, str) == [
        "The claim lab/shared is allocated on a node that is gone."
    ]
    assert [change_text(one) for one in changes(found)] == [
        "the claim lab/shared is allocated again"
    ]


@pytest.mark.parametrize("on", ["b"])
def test_a_claim_whose_node_takes_the_pod_keeps_nothing(on: str) -> None:
    found = explained(**world(Pod=[waiting()], ResourceClaim=[claim(on)]))
    assert found.cause == "retry_pending"


def test_of_several_requests_the_one_that_is_short_is_named() -> None:
    """GPUs are free; the network device of the claim is published by nobody."""
    named = [
        {"name": one, "exactly": {"deviceClassName": f"{one}.example"}}
        for one in ("gpu", "nic")
    ]
    made: dict[str, Any] = {"metadata": {"name": "shared", "namespace": "lab"}}
    made["spec"] = {"devices": {"requests": named}}
    devices = {"driver": "gpu.example", "nodeName": "b", "devices": [{"name": "0"}]}
    found = explained(**world(
        Pod=[waiting()], ResourceClaim=[made], ResourceSlice=[{"spec": devices}],
        DeviceClass=[{"metadata": {"name": f"{one}.example"}} for one in ("gpu", "nic")],
    ))  # fmt: skip
    assert found.cause == "claim_unallocatable"
    assert [change_text(one) for one in changes(found)] == [
        "a driver publishes devices of nic.example"
    ]
