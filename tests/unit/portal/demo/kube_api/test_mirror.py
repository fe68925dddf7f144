"""The simulated cluster and its Kubernetes API are one: pods are shown, quotas are obeyed."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from portal.demo.kube_api.mirror import Mirror
from portal.demo.kube_api.store import Store
from portal.demo.scenario.edits import Edit, load
from portal.demo.scenario.engine import Engine
from portal.demo.scenario.organization import CLASSES, NAMESPACES, QUOTAS
from portal.demo.scenario.story import DAY_S, Story
from scheduler_view.clusters.client.kinds import (
    EVENT,
    NAMESPACE,
    NODE,
    POD,
    READ_FOR_WAITS,
)
from scheduler_view.clusters.rules.live_objects import CLASS, QUOTA
from scheduler_view.waits.rules.explain import Explainer
from scheduler_view.waits.rules.explanation import WaitExplanation
from scheduler_view.waits.rules.world.world import read_world
from tests.unit.portal.demo.conftest import NOW_S

pytestmark = pytest.mark.timeout(60)
KEY = "requests.nvidia.com/gpu"


@pytest.fixture
def engine() -> Engine:
    """A small cluster in its first month, a day before the last moment."""
    found = Engine(Story.ending_at(NOW_S, seed=3, days=7, gpus=60))
    found.advance(NOW_S - DAY_S)
    return found


def limit(store: Store, namespace: str, gpus: str, key: str = KEY) -> None:
    """What an admin applies."""
    body: dict[str, Any] = {"spec": {"hard": {key: gpus}}}
    place = (QUOTA, namespace, "gpu-ledger")
    store.apply(place, body, "gpu-ledger", force=False, dry_run=False)


def held(engine: Engine, namespace: str) -> int:
    """Units of pods that are there."""
    return sum(
        pod.request.gpus
        for pod in engine.pods
        if pod.request.namespace == namespace and pod.ended_s is None
    )


def test_the_api_shows_what_is_there(engine: Engine, tmp_path: Path) -> None:
    mirror = Mirror(engine, tmp_path)
    for now_s in (NOW_S - DAY_S, NOW_S - DAY_S // 2, NOW_S):
        engine.advance(now_s)
        mirror.show(now_s)
        pods = {
            (
                one["metadata"]["uid"],
                one["status"]["phase"],
                one["spec"].get("nodeName"),
            )
            for one in mirror.store.all_of(POD, "")[0]
        }
        shown = [pod for pod in engine.pods if pod.is_seen(now_s)]
        assert {uid for uid, _, _ in pods} == {pod.uid for pod in shown}
        assert sum(node is not None for _, _, node in pods) == sum(
            pod.is_bound(now_s) for pod in shown
        )
        nodes = {one["metadata"]["name"] for one in mirror.store.all_of(NODE, "")[0]}
        assert nodes == {node.name for node in engine.nodes_at(now_s)}
    spaces = mirror.store.all_of(NAMESPACE, "")[0]
    assert {one["metadata"]["name"] for one in spaces} == set(NAMESPACES)


def test_quotas_count_the_pods(engine: Engine, tmp_path: Path) -> None:
    mirror = Mirror(engine, tmp_path)
    limit(mirror.store, "lm-train", "500")
    mirror.show(engine.now_s)
    (quota,) = mirror.store.all_of(QUOTA, "lm-train")[0]
    asked = sum(
        pod.request.gpus
        for pod in engine.pods
        if pod.request.namespace == "lm-train"
        and pod.is_seen(engine.now_s)
        and not pod.has_finished(engine.now_s)
        and "mi300x" not in pod.request.pools
    )
    assert quota["status"]["used"][KEY] == str(asked)
    assert asked > 0


def test_a_lowered_quota_stops_nobody_and_refuses_the_next(
    engine: Engine, tmp_path: Path
) -> None:
    mirror = Mirror(engine, tmp_path)
    before = held(engine, "vision-train")
    limit(mirror.store, "vision-train", "0")
    mirror.follow(engine.now_s)
    assert held(engine, "vision-train") == before
    made = len(engine.pods)
    engine.advance(NOW_S)
    new = [p for p in engine.pods[made:] if p.request.namespace == "vision-train"]
    assert new == []


def test_a_key_that_does_nothing_limits_nothing(engine: Engine, tmp_path: Path) -> None:
    mirror = Mirror(engine, tmp_path)
    limit(mirror.store, "vision-train", "0", "limits.nvidia.com/gpu")
    mirror.follow(engine.now_s)
    made = len(engine.pods)
    engine.advance(NOW_S)
    assert any(p.request.namespace == "vision-train" for p in engine.pods[made:])


def test_a_new_version_of_a_tier_is_what_new_pods_name(
    engine: Engine, tmp_path: Path
) -> None:
    mirror = Mirror(engine, tmp_path)
    for name, value in (("training-v1", 1000), ("training-v2", 9000)):
        body = {"value": value, "globalDefault": False}
        place = (CLASS, "", name)
        mirror.store.apply(place, body, "gpu-ledger", force=False, dry_run=False)
    mirror.follow(engine.now_s)
    made = len(engine.pods)
    engine.advance(NOW_S)
    names = {p.class_name for p in engine.pods[made:] if p.request.tier == "training"}
    assert names == {"training-v2"}


def test_another_start_goes_on_with_what_was_changed(
    engine: Engine, tmp_path: Path
) -> None:
    mirror = Mirror(engine, tmp_path)
    limit(mirror.store, "vision-train", "3")
    mirror.follow(engine.now_s)
    engine.advance(NOW_S)
    again = Engine(engine.story, load(tmp_path))
    again.advance(NOW_S)
    assert [p.uid for p in again.pods] == [p.uid for p in engine.pods]
    restored = Mirror(again, tmp_path)
    (quota,) = restored.store.all_of(QUOTA, "vision-train")[0]
    assert quota["spec"]["hard"] == {KEY: "3"}
    assert quota["metadata"]["managedFields"][0]["manager"] == "gpu-ledger"


SHORT = {"no_free_gpu", "fragmented", "too_big"}


def explained(mirror: Mirror, now_s: int) -> list[WaitExplanation]:
    kinds = (*READ_FOR_WAITS, EVENT)
    objects = {kind: mirror.store.all_of(kind, "")[0] for kind in kinds}
    return list(Explainer(read_world(objects, now_s * 1000)).waiting())


def test_pods_that_wait_say_why_as_a_scheduler_does(tmp_path: Path) -> None:
    small = Engine(Story.ending_at(NOW_S, seed=3, days=7, gpus=60))
    mirror = Mirror(small, tmp_path)
    told: set[str] = set()
    causes: Counter[str] = Counter()
    for hour in range(24):
        now_s = NOW_S - DAY_S + hour * 3600 + 10  # a bind takes up to three seconds
        small.advance(now_s)
        mirror.show(now_s)
        for one in mirror.store.all_of(POD, "")[0]:
            conditions = [
                c for c in one["status"]["conditions"] if c["status"] == "False"
            ]
            is_placed = "nodeName" in one["spec"] or one["status"]["phase"] != "Pending"
            assert not (conditions and is_placed)
            for said in conditions:
                words = said["message"]
                found = re.match(r"0/(\d+) nodes are available: ", words)
                assert found
                assert int(found[1]) == len(small.nodes_at(now_s))
                short = re.search(r"(\d+) Insufficient", words)
                assert not short or 0 < int(short[1]) <= int(found[1])
                told.add(words)
        for wait in explained(mirror, now_s):
            if wait.stage == "unschedulable":
                is_short = "Insufficient" in wait.evidence[0].text
                assert is_short == (wait.cause in SHORT), wait
                causes[wait.cause] += 1
    assert told, "nothing ever waited in a day"
    assert causes["no_free_gpu"], "every pod waits for a node that is not there"


def test_a_controller_that_a_quota_refuses_leaves_the_event_of_a_real_one(
    engine: Engine, tmp_path: Path
) -> None:
    mirror = Mirror(engine, tmp_path)
    for namespace in NAMESPACES:
        limit(mirror.store, namespace, "0")
    mirror.follow(NOW_S - DAY_S)
    now_s = NOW_S - DAY_S // 2
    engine.advance(now_s)
    mirror.show(now_s)
    events = mirror.store.all_of(EVENT, "")[0]
    assert events
    for one in events:
        assert one["reason"] == "FailedCreate"
        assert "limited: requests.nvidia.com/gpu=0" in one["message"]
        assert one["involvedObject"]["kind"] != "Pod"
        assert one["firstTimestamp"] <= one["lastTimestamp"]
    refused = [one for one in explained(mirror, now_s) if one.stage == "refused"]
    assert {one.cause for one in refused} == {"quota"}
    assert {one["involvedObject"]["name"] for one in events} >= {
        one.name for one in refused
    }
    again = mirror.store.version
    mirror.show(now_s)
    assert mirror.store.version == again  # nothing new is written twice
    later = now_s + 2 * 3600
    engine.refusals.clear()
    mirror.show(later)
    assert mirror.store.all_of(EVENT, "")[0] == []


def test_a_day_has_each_cause_of_the_story(tmp_path: Path) -> None:
    """Each is explained from the API's objects alone."""
    story = Story.ending_at(NOW_S, seed=7, days=7, gpus=308)
    limits = {namespace: dict(units) for namespace, units in QUOTAS.items()}
    engine = Engine(story, [Edit(story.change_s, limits, CLASSES)])
    mirror = Mirror(engine, tmp_path)
    found: Counter[str] = Counter()
    for hour in range(0, 24, 2):
        now_s = NOW_S - 2 * DAY_S + hour * 3600 + 1560  # a canary is a minute old
        engine.advance(now_s)
        mirror.show(now_s)
        waits = explained(mirror, now_s)
        found.update(one.cause for one in waits)
        found.update(overlay for one in waits for overlay in one.overlays)
        causes = {one.cause for one in waits}
        assert causes >= {"queue", "quota"}, "not at any hour"
        held = next(one for one in waits if one.cause == "queue")
        assert held.priority_class == "training-v1"
        assert "more needed" in held.evidence[0].text
    assert set(found) >= {
        *("no_free_gpu", "fragmented", "preempting", "cordoned", "no_matching_node"),
        *("image_pull", "gang_partial", "priority_inversion", "holds_while_starting"),
    }
