"""The instants of a wait and its parts: S3."""

from typing import Any

from scheduler_view.waits.rules.explain import Explainer
from scheduler_view.waits.rules.instants import (
    WaitInstants,
    WaitParts,
    instants_of,
    is_held,
)
from scheduler_view.waits.rules.placement.index import WorldIndex
from scheduler_view.waits.rules.world.lenient import instant_ms
from tests.unit.waits.worlds import NOW_MS, job, node, owned, pod, world_of


def at(clock: str) -> str:
    return f"2026-11-18T{clock}Z"


def ms(clock: str) -> int:
    found = instant_ms({"at": at(clock)}, "at")
    assert found is not None
    return found


def member(name: str, bound: str = "", started: str = "") -> dict[str, Any]:
    one = pod(name, 1, "a" if bound else "", meta={
        "name": name, "namespace": "lab", "uid": name,
        "creationTimestamp": at("10:00:00"), **owned("Job", "train"),
    })  # fmt: skip
    if bound:
        condition = {
            "type": "PodScheduled",
            "status": "True",
            "lastTransitionTime": at(bound),
        }
        one["status"]["conditions"] = [condition]
    if started:
        running = {"name": "main", "state": {"running": {"startedAt": at(started)}}}
        one["status"]["containerStatuses"] = [running]
    return one


def found(pods: list[dict[str, Any]], jobs: list[dict[str, Any]], **more: bool) -> Any:
    index = WorldIndex(world_of(Node=[node("a")], Pod=pods, Job=jobs))
    (unit,) = index.units
    return instants_of(index, unit, **more)


def train(**spec: Any) -> dict[str, Any]:
    made = {"creationTimestamp": at("10:00:00")}
    return job("train", meta=made, **spec)


def test_the_parts_of_the_example() -> None:
    """The example of docs/scheduling.md S3."""
    one = train()
    one["status"] = {
        "startTime": at("10:40:00"),
        "conditions": [{"type": "Suspended", "status": "False"}],
    }
    seen = found([member("m", "10:41:00", "10:44:00")], [one])
    whole = seen.then(WaitInstants(first_busy_ms=ms("10:46:30")))
    assert whole.parts == WaitParts(2_400_000, 60_000, 180_000, 150_000)
    assert whole.wait_ms == 2_460_000


def test_a_gang_is_bound_and_started_with_its_last_member() -> None:
    gang = train(parallelism=2, completions=2, completionMode="Indexed")
    part = found([member("m-0", "10:10:00", "10:12:00"), member("m-1")], [gang])
    assert (part.bound_ms, part.started_ms) == (None, None)
    both = [
        member("m-0", "10:10:00", "10:12:00"),
        member("m-1", "10:35:00", "10:36:00"),
    ]
    whole = found(both, [gang])
    assert (whole.bound_ms, whole.started_ms) == (ms("10:35:00"), ms("10:36:00"))
    loose = train(parallelism=2, completions=2)
    assert found(both, [loose]).bound_ms == ms("10:10:00")


def test_a_service_waits_since_its_pods_were_made() -> None:
    """It replaces its pods and stays, so it is older than the wait of its pods (S3)."""
    old = {"name": "web", "namespace": "lab", "uid": "uid-web"}
    deployment = {
        "metadata": old | {"creationTimestamp": at("02:00:00")},
        "spec": {"replicas": 2},
    }
    pods = [
        pod(name, 1, node_name, meta={
            "name": name, "namespace": "lab", "uid": name,
            "creationTimestamp": at(made), **owned("Deployment", "web"),
        })
        for name, node_name, made in (("a", "a", "09:00:00"), ("b", "", "10:00:00"))
    ]  # fmt: skip
    world = world_of(Node=[node("a", 1)], Pod=pods, Deployment=[deployment])
    index = WorldIndex(world)
    (unit,) = index.units
    assert instants_of(index, unit).created_ms == ms("09:00:00")
    (wait,) = Explainer(world).waiting()
    assert wait.since_ms == ms("10:00:00")


def test_work_without_pods_is_not_let_in_and_then_since_its_first_pod() -> None:
    one = train()
    assert found([], [one]).admitted_ms is None
    late = member("m")
    late["metadata"]["creationTimestamp"] = at("10:20:00")
    assert found([late], [one], was_refused=True).admitted_ms == ms("10:20:00")
    assert found([late], [one]).admitted_ms is None, "nothing shows what was in between"
    assert found([member("m")], [one]).admitted_ms == ms("10:00:00")


def test_what_is_held_is_not_admitted_and_after_it_the_watch_tells_when() -> None:
    held = pod("w", 1, spec={"schedulingGates": [{"name": "x"}]})
    free = pod("w", 1)
    made = ms("10:00:00")
    for one in (held, free):
        one["metadata"] = {
            "name": "w", "namespace": "lab", "creationTimestamp": at("10:00:00"),
        }  # fmt: skip
    assert found([held], []).admitted_ms is None
    assert found([free], []).admitted_ms == made
    assert found([free], [], was_held=True).admitted_ms == NOW_MS


def test_an_entry_of_a_queue_tells_when_it_was_admitted() -> None:
    def workload(status: str) -> dict[str, Any]:
        return {
            "metadata": {
                "name": "w", "namespace": "lab", **owned("Job", "train"),
            },
            "status": {
                "conditions": [{
                    "type": "Admitted", "status": status,
                    "lastTransitionTime": at("10:20:00"),
                }]
            },
        }  # fmt: skip

    for status, expected in (("False", None), ("True", ms("10:20:00"))):
        world = world_of(
            Node=[node("a")], Pod=[member("m")], Job=[train()],
            Workload=[workload(status)],
        )  # fmt: skip
        index = WorldIndex(world)
        (unit,) = index.units
        assert instants_of(index, unit).admitted_ms == expected
        assert is_held(unit) is (expected is None)


def test_the_first_attempt_counts_and_clocks_that_disagree_are_not_negative() -> None:
    first = WaitInstants(1, 5, 3)
    assert first.then(WaitInstants(2, 6, 9, 12)) == WaitInstants(1, 5, 3, 12)
    assert first.parts.scheduling_ms == 0
