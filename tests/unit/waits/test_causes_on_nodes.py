"""Table B by hand: one cluster for each cause on a node, with preemption and what would help.

Not here: the recorded cases (`tests/acceptance/test_pending_cases.py`).
"""

from typing import Any

import pytest

from scheduler_view.waits.rules.change_wording import free_behind_text
from tests.unit.waits.worlds import GPU, changes, explained, kinds, node, owned, pod

TAINT = {"key": "dedicated", "value": "llm", "effect": "NoSchedule"}
LOST = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
ELSEWHERE = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {
                    "matchExpressions": [
                        {"key": "zone", "operator": "In", "values": ["b"]}
                    ]
                }
            ]
        }
    }
}
NEAR = {
    "requiredDuringSchedulingIgnoredDuringExecution": [
        {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "zone"}
    ]
}
MORE_CPU = [{"name": "m", "resources": {"requests": {GPU: "1", "cpu": "200"}}}]


@pytest.mark.parametrize(
    ("nodes", "waiting", "cause", "preemption", "change"),
    [
        ([node("n")], {"spec": {"nodeSelector": {"zone": "b"}}}, "no_matching_node",
         "not_helpful", {"change": "drop_selector", "key": "zone"}),
        ([node("n")], {"spec": {"affinity": ELSEWHERE}}, "no_matching_node",
         "not_helpful", {"change": "drop_affinity", "key": "zone"}),
        ([node("n", taints=[TAINT])], {}, "taint", "not_helpful",
         {"change": "tolerate", "taint": TAINT}),
        ([node("n", cordoned=True)], {}, "cordoned", "not_helpful",
         {"change": "uncordon", "node": "n"}),
        ([node("n", ready=False, taints=[LOST])], {}, "node_not_ready", "not_helpful",
         {"change": "repair_node", "node": "n"}),
        ([node("n", 2)], {"gpus": 4}, "too_big", "not_helpful",
         {"change": "shrink_request", "units": 2}),
        ([node("n", 0, capacity={GPU: "8"})], {}, "gpu_unhealthy", "not_helpful",
         {"change": "repair_gpus", "node": "n"}),
        ([node("n")], {"spec": {"containers": MORE_CPU}}, "cpu_memory", "not_helpful",
         {"change": "shrink_request", "resource": "cpu", "to": "96"}),
        ([node("n", offers={"pods": "0"})], {}, "pod_slots", "no_victims",
         {"change": "add_node", "units": 1}),
        ([node("n")], {"spec": {"affinity": {"podAffinity": NEAR}}}, "pod_affinity",
         "not_helpful", {"change": "start_pod", "labels": {"app": "x"}}),
        ([node("n", None)], {}, "resource_unknown", "not_helpful",
         {"change": "add_node", "resource": GPU, "units": 1}),
        ([], {}, "no_nodes", "unknown", {"change": "add_node", "units": 1}),
    ],
)  # fmt: skip
def test_a_cause_of_a_node(
    nodes: list[Any], waiting: dict[str, Any], cause: str, preemption: str, change: Any
) -> None:
    found = explained(Node=nodes, Pod=[pod("w", **({"gpus": 1} | waiting))])
    assert (found.stage, found.cause, found.contributing) == (
        "unschedulable",
        cause,
        (),
    )
    assert found.preemption == preemption
    assert change in changes(found)


def test_holders_are_the_largest_first_without_those_that_are_not_needed() -> None:
    held = [pod("one", 1, "n"), pod("three", 3, "n"), pod("four", 4, "n")]
    found = explained(Node=[node("n")], Pod=[*held, pod("w", 4)])
    assert found.cause == "no_free_gpu"
    assert [one.pods for one in found.blockers] == [("lab/four",)]
    assert found.blockers[0].blockers[0].units == 4
    five = explained(Node=[node("n")], Pod=[*held, pod("w", 5)])
    assert [one.pods for one in five.blockers] == [("lab/four", "lab/three")]


def test_nodes_are_ordered_by_how_few_pods_must_end() -> None:
    held = [pod("a1", 4, "a"), pod("a2", 4, "a"), pod("b1", 8, "b")]
    found = explained(Node=[node("a"), node("b")], Pod=[*held, pod("w", 8)])
    assert [one.node for one in found.blockers] == ["b", "a"]
    assert {"change": "end_pods", "pods": ["lab/a1", "lab/a2"]} in changes(found)


def test_pods_of_a_daemon_set_are_not_ended() -> None:
    held = pod("agent", 8, "n", meta=owned("DaemonSet", "agent"))
    found = explained(Node=[node("n")], Pod=[held, pod("w", 8)])
    assert (found.cause, found.blockers) == ("no_free_gpu", ())
    assert "add_gpus" in kinds(found)


def test_fragments_that_are_enough_in_sum() -> None:
    held = [pod("a1", 5, "a"), pod("b1", 6, "b")]
    found = explained(Node=[node("a"), node("b")], Pod=[*held, pod("w", 4)])
    assert found.cause == "fragmented"
    assert found.facts["free"] == {"a": 3, "b": 2}
    assert {"change": "shrink_request", "units": 3} in changes(found)


def test_a_pod_that_fits_elsewhere_can_be_moved() -> None:
    held = [pod("a1", 5, "a"), pod("b1", 4, "b"), pod("small", 1, "b")]
    found = explained(Node=[node("a"), node("b")], Pod=[*held, pod("w", 4)])
    assert {"change": "move_pod", "pod": "lab/small"} in changes(found)


def test_free_gpus_that_one_constraint_of_the_work_excludes_are_counted() -> None:
    """Not nodes on which more keeps it away, and the largest number first."""
    product = {"nvidia.com/gpu.product": "L4"}
    spot = product | {"pool": "spot"}
    nodes = [
        node("full", labels={"pool": "main"}),
        node("s1", labels=spot),
        node("s2", labels=spot),
        node("tainted", labels={"pool": "main"}, taints=[TAINT]),
        node("both", labels=spot, taints=[TAINT]),
        node("cordoned", labels=spot, cordoned=True),
    ]
    waiting = pod("w", 1, spec={"nodeSelector": {"pool": "main"}})
    held = [pod("held", 8, "full"), pod("part", 3, "s1"), pod("t", 2, "tainted")]
    found = explained(Node=nodes, Pod=[*held, waiting])
    selector = {"change": "drop_selector", "key": "pool"}
    taint = {"change": "tolerate", "taint": dict(TAINT)}
    assert found.facts["free_behind"] == [
        selector | {"units": 13, "nodes": 2, "models": ["L4"]},
        taint | {"units": 6, "nodes": 1, "models": [""]},
    ]
    first, second = map(free_behind_text, found.facts["free_behind"])
    assert first == (
        "13 GPUs (L4) are free on 2 nodes that its node selector pool excludes: "
        "drop it to use them"
    )
    assert second == (
        "6 GPUs are free on 1 node that has the taint dedicated=llm:NoSchedule: "
        "tolerate it to use them"
    )
    alone = explained(Node=[node("n")], Pod=[pod("h", 8, "n"), pod("w", 1)])
    assert "free_behind" not in alone.facts


def test_the_node_that_came_furthest_decides() -> None:
    nodes = [node("a", cordoned=True), node("b", taints=[TAINT]), node("c")]
    found = explained(Node=nodes, Pod=[pod("held", 8, "c"), pod("w", 1)])
    assert (found.cause, found.contributing) == ("no_free_gpu", ("cordoned", "taint"))


def test_two_causes_on_a_node_are_removed_together() -> None:
    nodes = [node("n", cordoned=True, taints=[TAINT])]
    found = explained(Node=nodes, Pod=[pod("held", 8, "n"), pod("w", 8)])
    assert changes(found)[0] == {
        "change": "together",
        "changes": [
            {"change": "tolerate", "taint": TAINT},
            {"change": "uncordon", "node": "n"},
            {"change": "end_pod", "pod": "lab/held"},
        ],
    }


@pytest.mark.parametrize("is_sidecar", [False, True])
def test_host_ports_collide(is_sidecar: bool) -> None:
    ports = {"name": "p", "ports": [{"hostPort": 29500}]}
    work = {"name": "m", "resources": {"requests": {GPU: "1"}}}
    spec: dict[str, Any] = {"containers": [work | ports]}
    if is_sidecar:
        sidecar = ports | {"restartPolicy": "Always"}
        spec = {"containers": [work], "initContainers": [sidecar]}
    held = pod("held", on="n", spec=spec)
    found = explained(Node=[node("n")], Pod=[held, pod("w", spec=spec)])
    assert (found.cause, found.blockers[0].pods) == ("host_port", ("lab/held",))


def test_anti_affinity_of_a_pod_that_runs() -> None:
    away = {"podAntiAffinity": NEAR}
    held = pod("held", on="n", spec={"affinity": away})
    found = explained(
        Node=[node("n")], Pod=[held, pod("w", meta={"labels": {"app": "x"}})]
    )
    assert (found.cause, found.blockers[0].pods) == ("pod_anti_affinity", ("lab/held",))


def test_spread_counts_nodes_without_the_pods_too() -> None:
    rule = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "x"}}}  # fmt: skip
    label = {"labels": {"app": "x"}}
    nodes = [node("a"), node("b", 1, labels={"zone": "b"})]
    held = [pod("a1", 1, "a", meta=label), pod("other", 1, "b")]
    waiting = pod("w", meta=label, spec={"topologySpreadConstraints": [rule]})
    found = explained(Node=nodes, Pod=[*held, waiting])
    assert (found.cause, found.contributing) == ("spread", ("no_free_gpu",))
    assert {"change": "relax_spread", "key": "zone"} in changes(found)


@pytest.mark.parametrize(
    ("scheduler", "message", "cause"),
    [
        (
            "default-scheduler",
            "0/1 nodes are available: 1 Too many pods.",
            "retry_pending",
        ),
        ("packing", "0/1 nodes are available: 1 Too many pods.", "retry_pending"),
        ("volcano", "pod group is not ready", "other"),
        ("default-scheduler", "running PreBind plugin: context canceled", "other"),
    ],
)
def test_where_nothing_blocks_the_words_decide(
    scheduler: str, message: str, cause: str
) -> None:
    waiting = pod("w", message=message, spec={"schedulerName": scheduler})
    found = explained(Node=[node("n")], Pod=[waiting])
    assert (found.cause, found.preemption) == (
        cause,
        "none" if cause == "retry_pending" else "not_helpful",
    )
    assert found.evidence[0].text == message


def test_nobody_holds_what_is_free() -> None:
    nodes, held = [node("full"), node("free")], pod("held", 8, "full")
    found = explained(Node=nodes, Pod=[held, pod("w", 8)])
    assert (found.cause, found.blockers, found.blocker_sets) == ("retry_pending", (), 0)


def test_lower_priorities_that_hold_are_an_inversion_where_nothing_preempts() -> None:
    waiting = pod("w", 4, spec={"priority": 100, "preemptionPolicy": "Never"})
    held = [pod("low", 4, "n"), pod("equal", 4, "n", spec={"priority": 100})]
    found = explained(Node=[node("n")], Pod=[*held, waiting])
    assert (found.preemption, found.overlays) == ("never", ("priority_inversion",))
    assert found.facts["inversion"] == {"waiting": 100, "holding": {"lab/low": 0}}
    assert {"change": "allow_preemption"} in changes(found)


def test_a_victim_that_is_ending_means_preemption() -> None:
    ending = {"deletionTimestamp": "2026-11-22T06:00:00Z", "namespace": "lab"}
    held = pod("low", 8, "n", meta=ending)
    waiting = pod("w", 8, spec={"priority": 9}, status={"nominatedNodeName": "n"})
    waiting["status"]["conditions"] = [{"type": "PodScheduled", "status": "False"}]
    found = explained(Node=[node("n")], Pod=[held, waiting])
    assert (found.cause, found.preemption) == ("preempting", "in_progress")
    assert changes(found) == [{"change": "wait_for_end", "pods": 1}]
