"""Which pods keep a node whose GPUs nobody holds (scheduling.md S32).

Covered: disruption budgets, and what comes before them. How long it lasts, and what it costs:
`tests/unit/savings/test_free_time_by_hand.py`.
"""

from typing import Any

import pytest

from scheduler_view.queues.rules.kept_nodes import KeepReason, kept_rooms
from scheduler_view.waits.rules.placement.index import WorldIndex
from scheduler_view.waits.rules.world.world import read_world
from tests.unit.waits.worlds import NOW_MS, node, owned, pod

WEB = {"matchLabels": {"app": "web"}}


def budget(selector: Any = WEB, allowed: Any = 0, **more: Any) -> dict[str, Any]:
    """A budget whose controller has counted, unless `status` says otherwise."""
    meta = {"namespace": "lab", "name": "web", "generation": 2}
    return {
        "metadata": meta | more.get("meta", {}),
        "spec": {"selector": selector, "minAvailable": 1},
        "status": {"observedGeneration": 2, "disruptionsAllowed": allowed}
        | more.get("status", {}),
    }


def web(maker: str = "ReplicaSet", on: str = "a", **status: Any) -> dict[str, Any]:
    """A pod without GPUs on a node, which a controller makes again."""
    made = pod("web", None, on, meta=owned(maker, "web"))
    made["metadata"] |= {
        "name": "web-1",
        "namespace": "lab",
        "uid": "uid-web-1",
        "labels": {"app": "web"},
    }
    made["status"] |= {"phase": "Running"} | status
    return made


def kept(*pods: dict[str, Any], budgets: Any = ()) -> list[tuple[str, str]]:
    """Pods that keep node `a`, and why."""
    objects = {"Node": [node("a", 8)], "Pod": pods, "PodDisruptionBudget": budgets}
    found = list(kept_rooms(WorldIndex(read_world(objects, NOW_MS))))
    return [one for room in found for one in room.pods]


@pytest.mark.parametrize(
    ("one", "is_kept"),
    [
        (budget(), True),
        (budget(allowed=1), False),
        (budget({}), True),  # an empty selector matches every pod of the namespace
        (budget(None), False),
        (budget({"matchLabels": {"app": "other"}}), False),
        (
            budget(
                {
                    "matchExpressions": [
                        {"key": "app", "operator": "In", "values": ["web"]}
                    ]
                }
            ),
            True,
        ),
        (budget(meta={"namespace": "other"}), False),
        (budget(meta={"generation": 3}), False),  # not counted since it was changed
        (budget(status={"disruptionsAllowed": None}), False),
        (budget(status={"disruptionsAllowed": "0"}), False),
        ({}, False),
    ],
)
def test_a_budget_keeps_a_node_if_it_refuses_the_eviction_of_a_pod(
    one: dict[str, Any], *, is_kept: bool
) -> None:
    expected = [("lab/web-1", KeepReason.BUDGET)] if is_kept else []
    assert kept(web(), budgets=[one]) == expected


def test_one_budget_that_refuses_is_enough() -> None:
    assert kept(web(), budgets=[budget(allowed=1), budget()]) == [
        ("lab/web-1", KeepReason.BUDGET)
    ]


def test_pods_that_begin_or_end_and_those_of_daemon_sets_keep_nothing() -> None:
    assert kept(web(phase="Pending"), budgets=[budget()]) == []
    assert kept(web("DaemonSet"), budgets=[budget()]) == []
    ending = web()
    ending["metadata"]["deletionTimestamp"] = "2026-11-03T00:00:00Z"
    assert kept(ending, budgets=[budget()]) == []


def test_what_a_pod_says_itself_comes_first_and_gpu_work_ends_it() -> None:
    noted = web()
    noted["metadata"]["annotations"] = {"karpenter.sh/do-not-disrupt": "true"}
    assert kept(noted, budgets=[budget()]) == [("lab/web-1", KeepReason.DO_NOT_DISRUPT)]
    assert kept(web(), pod("g", 1, "a"), budgets=[budget()]) == []
    assert kept(web()) == []
