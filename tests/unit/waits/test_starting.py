"""Pods that have a node and do not begin, or fail; Jobs whose pods failed, by hand (S4)."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from scheduler_view.waits.rules.explain import Explainer
from tests.unit.waits.worlds import (
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


def ago(minutes: int) -> str:
    at = datetime.fromtimestamp(NOW_MS / 1000, UTC) - timedelta(minutes=minutes)
    return at.isoformat()


def starting(kind: str = "init", /, *, phase: str = "Pending", **status: Any) -> Any:
    """A pod with 8 GPUs on node n; the status of its container `prepare` is given."""
    names = {
        "init": "initContainers",
        "sidecar": "initContainers",
        "main": "containers",
    }
    own = {"name": "prepare", "image": "registry.example/team/secret:1"}
    if kind == "sidecar":
        own["restartPolicy"] = "Always"
    made = pod("w", 8, "n", status={"phase": phase})
    made["spec"].setdefault(names[kind], []).append(own)
    statuses = names[kind].removesuffix("s") + "Statuses"
    made["status"][statuses] = [{"name": "prepare"} | status]
    return made


FAILED = {
    "exitCode": 1,
    "reason": "Error",
    "message": "no such bucket",
    "finishedAt": ago(1),
}
WAITS = {
    "waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting"}
}


@pytest.mark.parametrize("kind", ["init", "sidecar", "main"])
def test_a_container_that_fails_again_and_again(kind: str) -> None:
    made = starting(
        kind, state=WAITS, lastState={"terminated": FAILED}, restartCount=7,
        phase="Running" if kind == "main" else "Pending",
    )  # fmt: skip
    found = explained(Node=[node("n")], Pod=[made])
    assert (found.stage, found.cause) == ("starting", "crash_loop")
    assert found.overlays == ("holds_while_starting",)
    assert found.facts == {
        "node": "n", "holds": 8, "container": "prepare", "container_kind": kind,
        "restarts": 7, "exit_code": 1, "exit_reason": "Error",
    }  # fmt: skip
    (said,) = found.evidence
    assert said.text == "exit code 1 (Error): no such bucket"
    (change,) = changes(found)
    assert change == {
        "change": "repair_container", "container": "prepare", "container_kind": kind,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("restarts", "minutes", "cause"),
    [(3, 1, "crash_loop"), (2, 1, None), (3, 11, None)],
)
def test_between_two_failures_it_runs_for_less_than_ten_minutes(
    restarts: int, minutes: int, cause: str | None
) -> None:
    """The kubelet forgets failures of a container that ran ten minutes."""
    made = starting(
        "main", phase="Running", restartCount=restarts,
        state={"running": {"startedAt": ago(minutes)}}, lastState={"terminated": FAILED},
    )  # fmt: skip
    found = list(Explainer(world_of(Node=[node("n")], Pod=[made])).waiting())
    assert [one.cause.value for one in found] == ([cause] if cause else [])


def test_an_init_container_runs_since() -> None:
    made = starting(state={"running": {"startedAt": ago(90)}})
    found = explained(Node=[node("n")], Pod=[made])
    assert (found.stage, found.cause) == ("starting", "init_container")
    assert found.facts["container"] == "prepare"
    assert found.facts["running_ms"] == NOW_MS - 90 * 60_000
    assert changes(found) == [{"change": "wait_for_init", "container": "prepare"}]


def test_an_init_container_that_is_done_says_nothing() -> None:
    done = {"terminated": {"exitCode": 0, "reason": "Completed"}}
    found = explained(Node=[node("n")], Pod=[starting(state=done)])
    assert found.cause == "starting"


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ('failed to pull "registry.example/team/secret:1": unauthorized',
         "ImagePullBackOff: unauthorized"),
        ('Back-off pulling image "registry.example/team/secret:1"', "ImagePullBackOff"),
        ("", "ImagePullBackOff"),
    ],
)  # fmt: skip
def test_why_an_image_cannot_be_pulled_without_its_name(
    message: str, said: str
) -> None:
    waits = {"waiting": {"reason": "ImagePullBackOff", "message": message}}
    found = explained(Node=[node("n")], Pod=[starting(state=waits)])
    assert (found.cause, found.facts["container"]) == ("image_pull", "prepare")
    assert [one.text for one in found.evidence] == [said]


def test_a_lost_node_is_named_before_what_it_last_reported() -> None:
    made = starting(state=WAITS, lastState={"terminated": FAILED}, restartCount=7)
    found = explained(Node=[node("n", ready=False)], Pod=[made])
    assert found.cause == "node_not_ready"


UNEXPECTED = (
    "Pod was rejected: Allocate failed due to requested number of devices unavailable "
    "for nvidia.com/gpu. Requested: 4, Available: 3, which is unexpected"
)


def failed(name: str, minutes: int, **status: Any) -> dict[str, Any]:
    status = {"phase": "Failed", "startTime": ago(minutes)} | status
    return pod(name, 4, "n", meta=owned("Job", "j"), status=status)


def test_a_job_whose_pods_failed_waits_before_it_makes_new_ones() -> None:
    made = job("j", gpus=4, backoffLimit=6) | {"status": {"failed": 3}}
    pods = [
        failed("old", 9, reason="Evicted", message="The node was low on resource"),
        failed("new", 2, reason="UnexpectedAdmissionError", message=UNEXPECTED),
    ]
    found = explained(Node=[node("n")], Job=[made], Pod=pods)
    assert (found.stage, found.cause) == ("held_back", "back_off")
    assert found.evidence[0].text == f"UnexpectedAdmissionError: {UNEXPECTED}"
    assert found.evidence[0].object == "Pod/lab/new"
    assert found.facts == {
        "failed": 3, "backoff_limit": 6, "maker": "Job/lab/j",
        "failed_ms": NOW_MS - 120_000,
    }  # fmt: skip
    assert changes(found) == [
        {"change": "retry_failed", "object": "Job/lab/j", "at_most_ms": 600_000}
    ]


def test_the_exit_code_of_a_container_where_the_pod_says_nothing() -> None:
    ended = {
        "name": "main",
        "state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}},
    }
    found = explained(
        Node=[node("n")], Job=[job("j", gpus=4)],
        Pod=[failed("p", 2, containerStatuses=[ended])],
    )  # fmt: skip
    assert found.cause == "back_off"
    assert found.evidence[0].text == "Container main: exit code 137 (OOMKilled)"


def test_what_is_newer_decides_a_refusal_or_a_failure() -> None:
    event = refused("Job", "j", "denied the request: no owner label")
    event["lastTimestamp"] = ago(5)
    world: dict[str, Any] = {"Node": [node("n")], "Job": [job("j", gpus=4)]}
    newer = explained(**world, Event=[event], Pod=[failed("p", 2, reason="Evicted")])
    older = explained(**world, Event=[event], Pod=[failed("p", 9, reason="Evicted")])
    assert (newer.cause, older.cause) == ("back_off", "admission_other")


def test_a_refusal_without_a_time_is_of_now() -> None:
    """The condition of a Deployment: events expire after an hour, failed pods may stay for days."""
    made = job("r", gpus=4) | {"spec": {"replicas": 1}}
    made["metadata"] |= {"name": "r"} | owned("Deployment", "d")
    refusal = {
        "type": "ReplicaFailure",
        "status": "True",
        "message": "denied the request: no owner label",
    }
    owner = {
        "metadata": {"name": "d", "namespace": "lab", "uid": "uid-d"},
        "spec": {"replicas": 1},
        "status": {"conditions": [refusal]},
    }
    made["spec"]["template"] = {"spec": pod("t", 4)["spec"]}
    old = failed("p", 2, reason="Evicted")
    old["metadata"] |= owned("ReplicaSet", "r")
    found = explained(
        Node=[node("n")], Deployment=[owner], ReplicaSet=[made], Pod=[old]
    )
    assert found.cause == "admission_other"


def test_an_old_failure_says_nothing_of_a_pod_that_is_just_missing() -> None:
    two = job("j", gpus=4, parallelism=2, completions=2)
    runs = pod("runs", 4, "n", meta=owned("Job", "j"))
    for minutes, count in ((21, 0), (19, 1)):
        old = failed("p", minutes, reason="Evicted")
        world = world_of(Node=[node("n")], Job=[two], Pod=[runs, old])
        assert len(list(Explainer(world).waiting())) == count


def test_pods_of_a_namesake_that_was_deleted_are_not_its_failures() -> None:
    other = failed("p", 2, reason="Evicted")
    other["metadata"]["ownerReferences"][0]["uid"] = "another"
    found = explained(Node=[node("n")], Job=[job("j", gpus=4)], Pod=[other])
    assert found.cause == "other"
