"""Quotas through our door: what an API server really does with them.

Covers the quota rows of the table that was measured on Kubernetes 1.34.4, T25, T26 and
T29 on the server's side. Priority classes: `test_door_classes.py`; faults of the network:
`test_door_faults.py`.
"""

from typing import Any

import pytest

from scheduler_view.clusters.client.errors import (
    FieldConflict,
    Invalid,
    NamespaceTerminating,
    NotFound,
    Stale,
    UidMismatch,
)
from scheduler_view.clusters.rules.live_objects import MANAGER, QUOTA
from tests.control_plane.admin import RefusedByServer, quota_path
from tests.control_plane.world import GPU_KEY, World, quota
from tests.processes import wait_until

RESOURCE = "nvidia.com/gpu"


def test_a_quota_is_made_changed_and_read_back(world: World) -> None:
    with world.client() as client:
        made = client.apply(quota(world.name, {GPU_KEY: "4"}))
        changed = client.apply(quota(world.name, {GPU_KEY: "6"}), uid=made.uid)
        read = client.get(QUOTA, "gpu-ledger", world.name)
    assert read.spec["hard"] == {GPU_KEY: "6"}
    assert (made.uid, changed.uid) == (read.uid, read.uid)
    assert read.managers == {MANAGER}
    assert changed.resource_version != made.resource_version


def test_an_unchanged_apply_writes_nothing(world: World) -> None:
    with world.client() as client:
        first = client.apply(quota(world.name, {GPU_KEY: "4"}))
        world.admin.wait_used(world.name, "gpu-ledger", GPU_KEY, "0")
        before = client.get(QUOTA, "gpu-ledger", world.name)
        after = client.apply(quota(world.name, {GPU_KEY: "4"}))
    assert first.pin().spec == after.pin().spec
    assert after.resource_version == before.resource_version


def test_a_dry_run_writes_nothing(world: World) -> None:
    with world.client() as client:
        answer = client.apply(quota(world.name, {GPU_KEY: "4"}), dry_run=True)
        assert answer.spec["hard"] == {GPU_KEY: "4"}
        with pytest.raises(NotFound):
            client.get(QUOTA, "gpu-ledger", world.name)


def test_a_key_that_is_left_out_is_removed(world: World) -> None:
    with world.client() as client:
        client.apply(quota(world.name, {GPU_KEY: "4", "requests.amd.com/gpu": "1"}))
        left = client.apply(quota(world.name, {GPU_KEY: "4"}))
        assert left.spec["hard"] == {GPU_KEY: "4"}
        empty = client.apply(quota(world.name, {}))
    assert not empty.spec.get("hard")


def test_other_managers_keys_stay(world: World) -> None:
    path = quota_path(world.name, "gpu-ledger")
    theirs = quota(world.name, {"requests.cpu": "10"})
    world.admin.apply(path, theirs, "argocd")
    with world.client() as client:
        live = client.apply(quota(world.name, {GPU_KEY: "4"}))
        live = client.apply(quota(world.name, {GPU_KEY: "2"}))
    assert live.spec["hard"] == {GPU_KEY: "2", "requests.cpu": "10"}
    assert live.managers == {MANAGER, "argocd"}


def test_a_conflict_names_the_other_manager_and_the_field(world: World) -> None:
    with world.client() as client:
        client.apply(quota(world.name, {GPU_KEY: "4"}))
        change = {"spec": {"hard": {GPU_KEY: "8"}}}
        world.admin.edit(quota_path(world.name, "gpu-ledger"), change)
        with pytest.raises(FieldConflict) as caught:
            client.apply(quota(world.name, {GPU_KEY: "6"}))
        assert caught.value.owner == "kubectl-edit"
        assert caught.value.fields == (f".spec.hard.{GPU_KEY}",)
        assert 'conflict with "kubectl-edit"' in caught.value.message
        same = client.apply(quota(world.name, {GPU_KEY: "8"}))
        assert same.managers == {MANAGER, "kubectl-edit"}
        taken = client.apply(quota(world.name, {GPU_KEY: "6"}), force=True)
    assert taken.spec["hard"][GPU_KEY] == "6"
    assert "kubectl-edit" not in taken.managers


def test_a_pod_moves_the_version_but_not_the_pin(world: World) -> None:
    with world.client() as client:
        client.apply(quota(world.name, {GPU_KEY: "4"}))
        world.admin.wait_used(world.name, "gpu-ledger", GPU_KEY, "0")
        before = client.get(QUOTA, "gpu-ledger", world.name)
        world.admin.make_pod(world.name, "a", 1)
        world.admin.wait_used(world.name, "gpu-ledger", GPU_KEY, "1")
        after = client.get(QUOTA, "gpu-ledger", world.name)
    assert after.resource_version != before.resource_version
    assert after.pin() == before.pin()
    assert after.status["used"] == {GPU_KEY: "1"}


def test_a_pod_over_the_quota_is_refused(world: World) -> None:
    with world.client() as client:
        client.apply(quota(world.name, {GPU_KEY: "2"}))
        world.admin.wait_used(world.name, "gpu-ledger", GPU_KEY, "0")
        world.admin.make_pod(world.name, "a", 2)
        with pytest.raises(RefusedByServer, match="exceeded quota: gpu-ledger") as no:
            world.admin.make_pod(world.name, "b", 1)
    assert no.value.code == 403
    assert f"used: {GPU_KEY}=2, limited: {GPU_KEY}=2" in no.value.message


def test_lowered_below_use_stops_nothing_and_refuses_the_next(world: World) -> None:
    with world.client() as client:
        client.apply(quota(world.name, {GPU_KEY: "2"}))
        world.admin.wait_used(world.name, "gpu-ledger", GPU_KEY, "0")
        world.admin.make_pod(world.name, "a", 2)
        client.apply(quota(world.name, {GPU_KEY: "1"}))

        def is_over() -> bool:
            status = client.get(QUOTA, "gpu-ledger", world.name).status
            if status == {"hard": {GPU_KEY: "1"}, "used": {GPU_KEY: "0"}}:
                # The controller counted before it saw the pod, and would again in five
                # minutes only, unless the quota changes.
                client.apply(quota(world.name, {GPU_KEY: "0"}))
                client.apply(quota(world.name, {GPU_KEY: "1"}))
            return status == {"hard": {GPU_KEY: "1"}, "used": {GPU_KEY: "2"}}

        wait_until(is_over, 30)
        with pytest.raises(RefusedByServer, match="exceeded quota"):
            world.admin.make_pod(world.name, "b", 1)
        assert world.admin.phase(world.name, "a") in ("Pending", "Running")
        client.apply(quota(world.name, {GPU_KEY: "3"}))
        wait_until(lambda: _may_make(world, "b"), 30)


def _may_make(world: World, pod: str) -> bool:
    try:
        world.admin.make_pod(world.name, pod, 1)
    except RefusedByServer:
        return False
    return True


@pytest.mark.parametrize(
    "key", ["limits.nvidia.com/gpu", "nvidia.com/gpu"], ids=["limits", "no prefix"]
)
def test_keys_that_do_nothing_are_accepted(world: World, key: str) -> None:
    """T25(a): so the portal has to refuse them itself."""
    world.admin.make_quota(world.name, "useless", {key: "1"})
    world.admin.make_pod(world.name, "a", 2)


@pytest.mark.parametrize(
    "key",
    [
        "requests.nvidia.com/mig-1g.10gb",
        "gpu.nvidia.com.deviceclass.resource.k8s.io/devices",
        "count/resourceclaims.resource.k8s.io",
    ],
)
def test_mig_and_dra_keys_are_accepted(world: World, key: str) -> None:
    with world.client() as client:
        live = client.apply(quota(world.name, {key: "3"}))
    assert live.spec["hard"] == {key: "3"}


@pytest.mark.parametrize(
    ("key", "value"), [(GPU_KEY, "-1"), ("foo", "2"), ("requests.nvidia.com/GPU!", "1")]
)
def test_wrong_keys_and_values_are_named(world: World, key: str, value: str) -> None:
    with world.client() as client, pytest.raises(Invalid) as caught:
        client.apply(quota(world.name, {key: value}), dry_run=True)
    assert caught.value.code == 422
    assert any(key in field for field in caught.value.fields)


def test_amounts_are_stored_in_their_shortest_form(world: World) -> None:
    with world.client() as client:
        live = client.apply(quota(world.name, {GPU_KEY: "2000m"}))
    assert live.spec["hard"] == {GPU_KEY: "2"}


def test_a_fraction_is_accepted_and_counts_as_one(world: World) -> None:
    """T25(a): 1500m lets one GPU in and refuses two, so the portal refuses it itself."""
    with world.client() as client:
        live = client.apply(quota(world.name, {GPU_KEY: "1500m"}))
        assert live.spec["hard"] == {GPU_KEY: "1500m"}
        world.admin.wait_used(world.name, "gpu-ledger", GPU_KEY, "0")
        with pytest.raises(RefusedByServer, match="exceeded quota: gpu-ledger") as no:
            world.admin.make_pod(world.name, "two", 2)
        assert f"limited: {GPU_KEY}=1500m" in no.value.message
        world.admin.make_pod(world.name, "one", 1)
        again = client.apply(quota(world.name, {GPU_KEY: "1500m"}))
    assert again.spec["hard"] == {GPU_KEY: "1500m"}


def test_a_dry_run_is_refused_in_the_same_words_and_makes_nothing(
    world: World,
) -> None:
    pods = f"/api/v1/namespaces/{world.name}/pods"
    container: dict[str, Any] = {"name": "main", "image": "example.com/train:1"}
    container |= {"resources": {"limits": {RESOURCE: "3"}}}
    pod = {"metadata": {"name": "a"}, "spec": {"containers": [container]}}
    with world.client() as client:
        client.apply(quota(world.name, {GPU_KEY: "2"}))
        world.admin.wait_used(world.name, "gpu-ledger", GPU_KEY, "0")
        said = []
        for query in ({"dryRun": "All"}, {}):
            with pytest.raises(RefusedByServer, match="exceeded quota") as no:
                world.admin.create(pods, pod, **query)
            said.append((no.value.code, no.value.message))
        assert said[0] == said[1]
        client.apply(quota(world.name, {GPU_KEY: "3"}))
        wait_until(lambda: _dry_run_passes(world, pods, pod), 30)
        assert not world.admin.get(pods)["items"]
        version = client.get(QUOTA, "gpu-ledger", world.name).resource_version
        with pytest.raises(Invalid) as caught:
            client.apply(quota(world.name, {GPU_KEY: "-1"}), dry_run=True)
        assert caught.value.code == 422
        assert client.get(QUOTA, "gpu-ledger", world.name).resource_version == version


def _dry_run_passes(world: World, pods: str, pod: dict[str, Any]) -> bool:
    try:
        world.admin.create(pods, pod, dryRun="All")
    except RefusedByServer:
        return False
    return True


def test_a_missing_namespace_is_named_also_by_a_dry_run(world: World) -> None:
    missing = f"{world.name}-x"
    for dry_run in (True, False):
        with world.client() as client, pytest.raises(NotFound) as caught:
            client.apply(quota(missing, {GPU_KEY: "1"}), dry_run=dry_run)
        assert (caught.value.kind, caught.value.name) == ("namespaces", missing)


def test_a_namespace_that_is_going_takes_nothing(world: World) -> None:
    path = f"/api/v1/namespaces/{world.name}/pods/a"
    world.admin.make_pod(world.name, "a")
    keep = {"metadata": {"finalizers": ["example.com/keep"]}}
    world.admin.edit(path, keep)
    world.admin.delete(f"/api/v1/namespaces/{world.name}")
    with world.client() as client, pytest.raises(NamespaceTerminating):
        client.apply(quota(world.name, {GPU_KEY: "1"}))
    world.admin.edit(path, {"metadata": {"finalizers": None}})


def test_a_quota_that_was_made_again_is_not_touched(world: World) -> None:
    body = quota(world.name, {GPU_KEY: "4"})
    with world.client() as client:
        old = client.apply(body)
        client.delete(QUOTA, "gpu-ledger", world.name, uid=old.uid)
        with pytest.raises(UidMismatch):
            client.apply(body, uid=old.uid)
        with pytest.raises(NotFound):
            client.get(QUOTA, "gpu-ledger", world.name)
        new = client.apply(body)
        assert new.uid != old.uid
        with pytest.raises(UidMismatch):
            client.apply(quota(world.name, {GPU_KEY: "5"}), uid=old.uid)
        with pytest.raises(UidMismatch):
            client.delete(QUOTA, "gpu-ledger", world.name, uid=old.uid)
        assert client.get(QUOTA, "gpu-ledger", world.name).spec["hard"] == {
            GPU_KEY: "4"
        }


def test_an_old_version_is_refused(world: World) -> None:
    body = quota(world.name, {GPU_KEY: "4"})
    with world.client() as client:
        first = client.apply(body)
        client.apply(quota(world.name, {GPU_KEY: "5"}))
        old = {"resourceVersion": first.resource_version}
        with pytest.raises(Stale):
            client.apply({**body, "metadata": {**body["metadata"], **old}})


def test_a_scoped_quota_counts_only_its_tier(world: World) -> None:
    name = f"{world.name}-high"
    world.admin.create(
        "/apis/scheduling.k8s.io/v1/priorityclasses",
        {"metadata": {"name": name}, "value": 1000},
    )
    body = quota(world.name, {GPU_KEY: "2"})
    body["spec"]["scopeSelector"] = {
        "matchExpressions": [
            {"scopeName": "PriorityClass", "operator": "In", "values": [name]}
        ]
    }
    with world.client() as client:
        client.apply(body)
        world.admin.wait_used(world.name, "gpu-ledger", GPU_KEY, "0")
        world.admin.make_pod(world.name, "low", 4)
        world.admin.make_pod(world.name, "high", 2, priorityClassName=name)
        world.admin.wait_used(world.name, "gpu-ledger", GPU_KEY, "2")
        with pytest.raises(RefusedByServer, match="exceeded quota"):
            world.admin.make_pod(world.name, "high-2", 1, priorityClassName=name)
        term = body["spec"]["scopeSelector"]["matchExpressions"][0]
        term["values"] = [name, f"{name}-v2"]
        live = client.apply(body)
    assert (
        live.spec["scopeSelector"]["matchExpressions"][0]["values"][1] == f"{name}-v2"
    )


def test_lists_come_whole_over_several_pages(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scheduler_view.clusters.client.client.PAGE", 2)
    for number in range(5):
        world.admin.make_quota(world.name, f"q{number}", {GPU_KEY: "1"})
    with world.client() as client:
        listing = client.list(QUOTA, world.name)
    assert [one.name for one in listing.objects] == [f"q{n}" for n in range(5)]
    assert all(one.kind == QUOTA and one.uid for one in listing.objects)


def test_a_watch_tells_what_changes(world: World) -> None:
    with world.client() as client:
        start = client.list(QUOTA).resource_version
        live = client.apply(quota(world.name, {GPU_KEY: "1"}))
        client.apply(quota(world.name, {GPU_KEY: "2"}))
        client.delete(QUOTA, "gpu-ledger", world.name, uid=live.uid)
        seen = []
        for event in client.watch(QUOTA, start, for_s=20):
            if event.type != "BOOKMARK" and event.live.namespace == world.name:
                seen.append(event.type)
            if event.type == "DELETED" and event.live.namespace == world.name:
                break
    assert seen[0] == "ADDED"
    assert seen[-1] == "DELETED"
    assert set(seen[1:-1]) == {"MODIFIED"}
