"""What would let a unit start, as texts: one and several are told apart."""

import pytest

from scheduler_view.waits.rules.change_wording import change_text
from scheduler_view.waits.tags import wait_changes, wait_free, wait_partial


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"change": "add_node", "units": 1}, "a node with 1 free GPU is added"),
        (
            {"change": "add_gpus", "units": 2},
            "2 GPUs become free on a matching node",
        ),
        ({"change": "add_gpus", "units": 1}, "1 GPU becomes free on a matching node"),
        ({"change": "shrink_request", "units": 1}, "each pod requests 1 GPU"),
        (
            {"change": "wait_for_end", "pods": 1},
            "1 terminating pod is gone",
        ),
        ({"change": "end_pod", "pod": "lab/a"}, "the pod lab/a ends"),
        (
            {"change": "end_pods", "pods": ["lab/a", "lab/b", "lab/c"]},
            "the pods lab/a, lab/b and lab/c end",
        ),
        (
            {"change": "end_pods", "pods": ["lab/a", "lab/b"], "waiting": ["lab/b"]},
            "the pod lab/a ends, and the pod lab/b, which is also pending, is deleted",
        ),
        ({"change": "end_pod", "count": 3, "teams": ["a", "b"]}, "pods of a and b end"),
        ({"change": "end_gang", "object": "Job/lab/b"}, "the Job lab/b ends"),
        ({"change": "raise_tier"}, "it has a higher priority class"),
        (
            {"change": "raise_tier", "name": "high"},
            "it has the higher priority class high",
        ),
    ],
)
def test_a_number_and_its_noun_agree(change: dict[str, object], text: str) -> None:
    assert change_text(change) == text


DROP = {"change": "drop_selector", "key": "zone"}
FREE = DROP | {"units": 46, "nodes": 6, "models": ["H100"]}


def test_changes_are_sentences_on_pages() -> None:
    raised = {"change": "raise_quota", "quota": "lab/gpu", "to": 10}
    hidden = {"change": "end_pod", "count": 1, "teams": ["Vision"]}
    assert wait_changes([raised, hidden, hidden]) == [
        "The quota lab/gpu is raised to 10.",
        "A pod of Vision ends (any of 2).",
    ]
    partial = raised | {"remains": [{"cause": "no_nodes"}]}
    assert wait_partial(partial) == (
        "The quota lab/gpu is raised to 10; then the cluster has no nodes."
    )


def test_a_change_that_opens_free_gpus_is_said_once() -> None:
    assert wait_changes([DROP, {"change": "wait", "at_most_ms": 1}], [FREE]) == [
        "The scheduler tries again, within six minutes."
    ]
    assert wait_free(FREE) == (
        "46 GPUs (H100) are free on 6 nodes that its node selector zone excludes: "
        "drop it to use them."
    )
