"""The sentences below a cause: names, numbers and instants as they are."""

from typing import Any

import pytest

from scheduler_view.waits.rules.details import details_of

HELD = {"container": "prepare", "container_kind": "init", "holds": 8}
LIMIT = {
    "queue": "ClusterQueue/large",
    "flavor": "h100",
    "resource": "nvidia.com/gpu",
    "requested": 16,
    "most": 8,
    "more": 13,
}
FAILS = (
    "The init container prepare fails with exit code 1 (Error) and was restarted 7 "
    "times. It holds 8 GPUs."
)


@pytest.mark.parametrize(
    ("cause", "facts", "said"),
    [
        ("crash_loop", HELD | {"restarts": 7, "exit_code": 1, "exit_reason": "Error"},
         FAILS),
        ("crash_loop", HELD | {"restarts": 1, "container_kind": "main", "holds": 1},
         "The container prepare fails and was restarted 1 time. It holds 1 GPU."),
        ("init_container", HELD | {"running_ms": 5},
         "The init container prepare has run since <5>. It holds 8 GPUs."),
        ("image_pull", HELD, "This is the init container prepare. It holds 8 GPUs."),
        ("back_off", {"failed": 3, "backoff_limit": 6, "maker": "Job/lab/j",
                      "failed_ms": 5},
         "3 pods of lab/j failed, last at <5>; the Job ends after 7 failures."),
        ("queue_limit", {"limit": LIMIT},
         "It requests 16 GPUs; the ClusterQueue large may have at most 8 of the flavor h100."),
        ("queue", {"limit": LIMIT},
         "It requests 16 GPUs; 13 more of the flavor h100 must be free in the ClusterQueue large."),
        ("queue_missing", {"object": "LocalQueue/lab/b"},
         "Not found: the LocalQueue b in the namespace lab."),
        ("queue_stopped", {"object": "Queue/b", "policy": "Closed"},
         "It is stopped (Closed): the queue b."),
        ("queue_stopped", {"object": "ClusterQueue/b", "inactive": "FlavorNotFound"},
         "It is not active, FlavorNotFound: the ClusterQueue b."),
        ("queue_stopped", {"object": "ClusterQueue/b", "namespace": "lab"},
         "It does not serve the namespace lab: the ClusterQueue b."),
        ("queue_check", {"check": "nodes", "state": "Pending"},
         "The admission check nodes is pending."),
        ("back_off", {"failed": 1, "maker": "ReplicaSet/lab/r"},
         "1 pod of lab/r failed."),
    ],
)  # fmt: skip
def test_details_of_a_cause(cause: str, facts: Any, said: str) -> None:
    assert details_of(cause, facts, lambda at_ms: f"<{at_ms}>") == [said]


@pytest.mark.parametrize("cause", ["taint", "unheard_of", "crash_loop", "image_pull"])
def test_nothing_is_said_of_facts_that_are_not_there(cause: str) -> None:
    """As of explanations that an earlier version stored."""
    assert details_of(cause, {}, str) == []
