"""Random clusters: never silent, and a named change leaves no cause (scheduling.md S13, S14)."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_view.waits.rules.explain import Explainer
from scheduler_view.waits.rules.explanation import WaitExplanation
from scheduler_view.waits.rules.world.world import read_world
from tests.unit.waits.worlds import GPU, NOW_MS, node, pod

TAINT = {"key": "dedicated", "value": "llm", "effect": "NoSchedule"}
NOT_OF_THE_CLUSTER = {"raise_tier", "allow_preemption", "wait"}
Objects = dict[str, list[dict[str, Any]]]


@st.composite
def clusters(draw: st.DrawFn) -> Objects:
    """Up to four nodes with pods on them, and one pod `w` that waits."""
    nodes, pods = [], []
    for number in range(draw(st.integers(0, 4))):
        name = f"n{number}"
        nodes.append(
            node(
                name,
                draw(st.sampled_from([0, 2, 4, 8])),
                cordoned=draw(st.booleans()),
                taints=draw(st.sampled_from([[], [], [TAINT]])),
                labels={"zone": draw(st.sampled_from("ab"))},
                offers={"cpu": str(draw(st.sampled_from([4, 16]))), "pods": "4"},
            )
        )
        pods += [
            pod(
                f"p{number}-{i}",
                draw(st.integers(0, 4)),
                name,
                spec={"priority": draw(st.integers(-1, 2))},
            )
            for i in range(draw(st.integers(0, 3)))
        ]
    zone = draw(st.sampled_from([{}, {"zone": "a"}, {"zone": "c"}]))
    priority, cpu = draw(st.integers(-1, 2)), str(draw(st.integers(1, 20)))
    waiting = pod(
        "w", draw(st.integers(1, 8)), spec={"nodeSelector": zone, "priority": priority}
    )
    waiting["spec"]["containers"][0]["resources"]["requests"]["cpu"] = cpu
    return {"Node": nodes, "Pod": [*pods, waiting]}


def explanation(objects: Objects) -> WaitExplanation:
    found = [
        one
        for one in Explainer(read_world(objects, NOW_MS)).waiting()
        if one.name == "w"
    ]
    assert len(found) == 1, "silent"
    return found[0]


def apply(objects: Objects, change: dict[str, Any]) -> Objects:
    """The objects after a change."""
    found = deepcopy(objects)
    for one in change.get("changes", [change]):
        _APPLY[one["change"]](found, one)
    return found


def end_pods(found: Objects, change: dict[str, Any]) -> None:
    ended = set(change.get("pods", [change.get("pod")]))
    found["Pod"] = [
        p for p in found["Pod"] if f"lab/{p['metadata']['name']}" not in ended
    ]


def uncordon(found: Objects, change: dict[str, Any]) -> None:
    for one in found["Node"]:
        if one["metadata"]["name"] == change["node"]:
            one["spec"]["unschedulable"] = False


def tolerate(found: Objects, change: dict[str, Any]) -> None:
    found["Pod"][-1]["spec"]["tolerations"] = [change["taint"] | {"operator": "Equal"}]


def drop_selector(found: Objects, change: dict[str, Any]) -> None:
    del found["Pod"][-1]["spec"]["nodeSelector"][change["key"]]


def shrink_request(found: Objects, change: dict[str, Any]) -> None:
    requests = found["Pod"][-1]["spec"]["containers"][0]["resources"]["requests"]
    if "units" in change:
        requests[GPU] = str(change["units"])
    else:
        requests[change["resource"]] = change["to"]


def add_node(found: Objects, change: dict[str, Any]) -> None:
    labels = change.get("labels", found["Pod"][-1]["spec"].get("nodeSelector", {}))
    found["Node"].append(node("new", change["units"], labels=labels))


_APPLY: dict[str, Callable[[Objects, dict[str, Any]], None]] = {
    "end_pod": end_pods,
    "end_pods": end_pods,
    "move_pod": end_pods,  # what it leaves behind is the same
    "uncordon": uncordon,
    "tolerate": tolerate,
    "drop_selector": drop_selector,
    "shrink_request": shrink_request,
    "add_node": add_node,
    "add_gpus": add_node,
}


@given(clusters())
@settings(max_examples=60, deadline=None)
def test_a_waiting_pod_has_an_explanation_and_its_changes_let_it_start(
    objects: Objects,
) -> None:
    found = explanation(objects)
    assert found.cause != "other"
    assert found.starts_if
    for one in found.starts_if:
        change = one.as_value()
        if change["change"] not in NOT_OF_THE_CLUSTER | {"change_request"}:
            after = explanation(apply(objects, change))
            assert after.cause == "retry_pending", change


@given(clusters())
@settings(max_examples=40, deadline=None)
def test_a_set_of_blockers_is_enough_and_none_of_it_is_spare(objects: Objects) -> None:
    for one in explanation(objects).blockers:
        ended = {"change": "end_pods", "pods": list(one.pods)}
        assert explanation(apply(objects, ended)).cause == "retry_pending"


@given(clusters())
@settings(max_examples=40, deadline=None)
def test_the_order_of_objects_does_not_matter(objects: Objects) -> None:
    waiting = objects["Pod"][-1]
    turned = {
        "Node": objects["Node"][::-1],
        "Pod": [*objects["Pod"][:-1][::-1], waiting],
    }
    assert explanation(turned) == explanation(objects)
