"""Objects that nobody should send: an explanation is still given, and never an exception.

Not here: rights that are missing (`test_causes_before_nodes.py`).
"""

from typing import Any

import pytest

from scheduler_view.waits.rules.explain import Explainer
from scheduler_view.waits.rules.world.world import read_world
from tests.unit.waits.worlds import (
    GPU,
    NOW_MS,
    explained,
    job,
    node,
    owned,
    pod,
    refused,
)

HOSTILE = "x" * 5000 + '"; DROP TABLE <script>\0\n'


@pytest.mark.parametrize("priority", [None, -2_147_483_648, 2_147_483_647, "9", True])
def test_priorities(priority: Any) -> None:
    waiting = pod("w", 8, spec={"priority": priority})
    found = explained(Node=[node("n")], Pod=[pod("held", 8, "n"), waiting])
    assert found.cause == "no_free_gpu"
    assert found.preemption in ("no_victims", "not_enough")


@pytest.mark.parametrize(
    "broken",
    [
        {}, {"metadata": None}, {"metadata": {}, "spec": None, "status": None},
        {"metadata": {"name": 5, "labels": [], "ownerReferences": {}}, "spec": {
            "containers": "none", "tolerations": [None, 3], "affinity": "x",
            "schedulingGates": 4, "volumes": [[]], "priority": "high",
            "topologySpreadConstraints": [{"maxSkew": "1"}, 0]}, "status": {
                "conditions": {"type": "PodScheduled"}, "phase": 7}},
    ],
)  # fmt: skip
def test_parts_of_a_wrong_type_count_as_missing(broken: Any) -> None:
    everything = {
        kind: [broken]
        for kind in (
            *("Node", "Pod", "Job", "Deployment", "ReplicaSet", "StatefulSet"),
            *("ResourceQuota", "LimitRange", "PriorityClass", "Event", "Namespace"),
            *("ResourceClaim", "ResourceClaimTemplate", "DeviceClass", "ResourceSlice"),
            *("PersistentVolumeClaim", "PersistentVolume", "StorageClass", "Workload"),
            *("PodGroup", "RayCluster", "LeaderWorkerSet"),
        )
    }
    world = read_world(everything, NOW_MS)
    assert list(Explainer(world).waiting()) == []


@pytest.mark.parametrize(
    "amount", ["-4", "1e999", "NaN", "", "8Qi", "0.5", 4, None, []]
)
def test_quantities(amount: Any) -> None:
    held = pod("held", on="n")
    held["spec"]["containers"][0]["resources"]["requests"] = {GPU: amount}
    found = explained(Node=[node("n", 1)], Pod=[held, pod("w", 2)])
    assert found.cause == "too_big"


@pytest.mark.parametrize(
    "message",
    ["", HOSTILE, "exceeded quota: , requested: =, used: , limited: ",
     "exceeded quota: q, requested: requests.nvidia.com/gpu=x, used: , limited: y",
     "maximum usage per is , but limit is", "no PriorityClass with name"],
)  # fmt: skip
def test_sentences_of_another_release(message: str) -> None:
    found = explained(
        Node=[node("n")], Job=[job("j")], Event=[refused("Job", "j", message)]
    )
    assert found.stage == "refused"
    assert found.evidence[0].text == message


def test_names_are_kept_as_they_are() -> None:
    waiting = pod(HOSTILE, 8)
    found = explained(Node=[node("n")], Pod=[pod("held", 8, "n"), waiting])
    assert found.subject == f"Pod/lab/{HOSTILE}"


def test_more_is_reserved_than_there_is() -> None:
    held = [pod("a", 8, "n"), pod("b", 8, "n")]
    found = explained(Node=[node("n")], Pod=[*held, pod("w", 8)])
    assert [len(one.pods) for one in found.blockers] == [2]


def test_an_event_about_a_namesake_is_not_about_this_pod() -> None:
    event = refused("Job", "j", "exceeded quota")
    event["involvedObject"]["uid"] = "another"
    found = explained(Node=[node("n")], Job=[job("j")], Event=[event])
    assert (found.stage, found.cause) == ("held_back", "other")


def test_a_controller_that_is_gone() -> None:
    found = explained(Node=[node("n", 0)], Pod=[pod("p", meta=owned("Rollout", "r"))])
    assert found.subject == "Rollout/lab/r"


def test_events_that_have_expired() -> None:
    """A refusal that nothing tells of any more is not guessed, but is not silent either."""
    quota = {
        "metadata": {"name": "gpu", "namespace": "lab"},
        "spec": {"hard": {f"requests.{GPU}": "0"}},
        "status": {"used": {f"requests.{GPU}": "0"}},
    }
    found = explained(Node=[node("n")], Job=[job("j")], ResourceQuota=[quota])
    assert (found.stage, found.cause, found.evidence) == ("held_back", "other", ())


def test_objects_that_were_deleted_while_others_were_read() -> None:
    """A node with its pods, the volume of a claim, and a priority class are gone."""
    claim = {
        "metadata": {"name": "data", "namespace": "lab"},
        "spec": {"volumeName": "gone"},
        "status": {"phase": "Bound"},
    }
    volumes = [{"persistentVolumeClaim": {"claimName": "data"}}]
    spec = {"volumes": volumes, "priority": None, "priorityClassName": "gone"}
    found = explained(
        Node=[node("n")],
        Pod=[pod("held", 8, "gone"), pod("own", 8, "n"), pod("w", 8, spec=spec)],
        PersistentVolumeClaim=[claim],
    )
    assert (found.cause, found.blockers[0].pods, found.priority) == (
        "no_free_gpu",
        ("lab/own",),
        0,
    )


@pytest.mark.parametrize("at", ["2099-01-01T00:00:00Z", "1969-12-31T23:59:59Z"])
def test_clocks_that_are_apart(at: str) -> None:
    """The API server's clock is far ahead, or was at zero: ages are wrong, causes are not."""
    event = refused(
        "Job", "j", "exceeded quota: q, requested: a=1, used: a=1, limited: a=1"
    )
    event["lastTimestamp"] = at
    waiting = job("j", meta={"creationTimestamp": at})
    found = explained(Node=[node("n")], Job=[waiting], Event=[event])
    assert (found.stage, found.cause) == ("refused", "quota_other")
    assert found.since_ms is not None


def test_amounts_and_priorities_that_no_column_can_hold() -> None:
    large = {"cpu": "9e30", GPU: "8"}
    held = pod("held", 8, "n", spec={"priority": 10**30})
    waiting = pod("w", 8, spec={"priority": -(10**30)})
    waiting["spec"]["containers"][0]["resources"]["requests"] = large
    found = explained(Node=[node("n", offers={"memory": "9e30"})], Pod=[held, waiting])
    assert (found.cause, found.preemption) == ("no_free_gpu", "not_helpful")
