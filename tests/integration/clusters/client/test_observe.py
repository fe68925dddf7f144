"""Looking at a cluster, drift by kubectl, and a watch, on both servers.

The real server is shared by tests of this run: a test looks only at its own namespace.
"""

import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial

import pytest
from django.utils import timezone

from accounting.access.models.teams import Team
from accounting.metering.models.cluster import Cluster
from scheduler_view.changes.models import ChangeSet, ChangeState, ChangeStep
from scheduler_view.changes.tasks.drift import find_drift
from scheduler_view.changes.tasks.watch import follow
from scheduler_view.clusters.models import Drift, Observation, ObservationRun
from scheduler_view.clusters.rules.drift_state import DriftState
from scheduler_view.clusters.rules.live_objects import CLASS, QUOTA
from scheduler_view.clusters.tasks.observe import observe, store_all
from scheduler_view.queues.tasks.look import observe_once
from scheduler_view.quotas.models import QuotaTarget, Tier
from tests.control_plane.admin import quota_path
from tests.control_plane.faulty import failing, response
from tests.control_plane.world import GPU_KEY, World, priority_class, quota
from tests.processes import wait_until

RESOURCE = "nvidia.com/gpu"
NOW = timezone.now


@pytest.fixture
def cluster(world: World, db: None) -> Cluster:
    del db
    return Cluster.objects.create(name="east", kubernetes=world.settings)


def want(cluster: Cluster, namespace: str, gpus: int, *, tier: str = "") -> QuotaTarget:
    team, _ = Team.objects.get_or_create(slug="a", defaults={"name": "A"})
    return QuotaTarget.objects.create(
        cluster=cluster,
        team=team,
        resource=RESOURCE,
        tier=tier,
        gpus=gpus,
        split={namespace: gpus},
        version=1,
    )


def drift_of(world: World, name: str = "gpu-ledger") -> Drift:
    return Drift.objects.get(namespace=world.name, name=name)


def test_what_a_cluster_has_is_stored_with_its_time(
    world: World, cluster: Cluster
) -> None:
    admin = world.admin
    admin.make_quota(world.name, "ours", {GPU_KEY: "2"})
    term = {"scopeName": "PriorityClass", "operator": "In", "values": ["x"]}
    selector = {"matchExpressions": [term]}
    admin.make_quota(world.name, "scoped", {"pods": "3"}, scopeSelector=selector)
    admin.make_pod(world.name, "with", 1)
    admin.make_pod(world.name, "without")
    admin.create(  # after the pods: it would give GPUs to the one without (T27)
        f"/api/v1/namespaces/{world.name}/limitranges",
        {
            "metadata": {"name": "ranges"},
            "spec": {"limits": [{"type": "Container", "max": {RESOURCE: "4"}}]},
        },
    )
    began = timezone.now()
    seen = observe_once(cluster, now=NOW)
    assert not seen.errors
    mine = Observation.objects.filter(cluster=cluster, namespace=world.name)
    names = set(mine.values_list("kind", "name"))
    assert names == {
        (QUOTA, "ours"),
        (QUOTA, "scoped"),
        ("LimitRange", "ranges"),
        ("Pod", "with"),
    }
    scoped = mine.get(name="scoped").manifest
    assert scoped["spec"]["scopeSelector"] == selector
    assert scoped["metadata"]["managedFields"]
    seen_at = ObservationRun.objects.get(cluster=cluster, kind=QUOTA).seen_at
    assert seen_at is not None
    assert seen_at >= began
    place = Observation.objects.get(cluster=cluster, kind="Namespace", name=world.name)
    assert place.manifest["status"] == {"phase": "Active"}


def test_looking_again_writes_nothing_and_what_is_gone_goes(
    world: World, cluster: Cluster
) -> None:
    world.admin.make_quota(world.name, "a", {GPU_KEY: "2"})
    world.admin.make_quota(world.name, "b", {GPU_KEY: "2"})
    world.admin.wait_used(world.name, "b", GPU_KEY, "0")
    mine = Observation.objects.filter(namespace=world.name)
    observe_once(cluster, now=NOW)
    before = list(mine.order_by("name").values())
    observe_once(cluster, now=NOW)
    assert list(mine.order_by("name").values()) == before
    world.admin.delete(quota_path(world.name, "a"))
    observe_once(cluster, now=NOW)
    assert [one.name for one in mine] == ["b"]


def test_a_list_that_began_before_something_newer_is_dropped(
    world: World, cluster: Cluster
) -> None:
    world.admin.make_quota(world.name, "a", {GPU_KEY: "2"})
    observe_once(cluster, now=NOW)
    old = datetime(2020, 1, 1, tzinfo=UTC)
    assert store_all(cluster, QUOTA, [], old) == set()
    assert Observation.objects.filter(namespace=world.name, name="a").exists()


def test_drift_by_kubectl_is_found_named_and_gone_when_restored(
    world: World, cluster: Cluster
) -> None:
    want(cluster, world.name, 4)
    with world.client() as client:
        client.apply(quota(world.name, {GPU_KEY: "4"}))
        observe_once(cluster, now=NOW)
        assert drift_of(world).state == DriftState.IN_SYNC
        change = {"spec": {"hard": {GPU_KEY: "9"}}}
        world.admin.edit(quota_path(world.name, "gpu-ledger"), change)
        observe_once(cluster, now=NOW)
        found = drift_of(world)
        assert (found.state, found.who) == (DriftState.DIFFERS, "kubectl-edit")
        assert found.changes == [[f"spec.hard.{GPU_KEY}", "4", "9"]]
        assert found.by_at is not None
        assert abs((timezone.now() - found.by_at).total_seconds()) < 60
        since = found.since
        world.admin.make_pod(world.name, "a", 1)
        world.admin.wait_used(world.name, "gpu-ledger", GPU_KEY, "1")
        observe_once(cluster, now=NOW)
        assert drift_of(world).since == since, "a pod changes nothing of a difference"
        client.apply(quota(world.name, {GPU_KEY: "4"}), force=True)
    observe_once(cluster, now=NOW)
    assert drift_of(world).state == DriftState.IN_SYNC


def test_what_is_removed_foreign_or_left_behind(world: World, cluster: Cluster) -> None:
    target = want(cluster, world.name, 4)
    observe_once(cluster, now=NOW)
    assert drift_of(world).state == DriftState.DIFFERS
    with world.client() as client:
        live = client.apply(quota(world.name, {GPU_KEY: "4"}))
        world.admin.make_quota(world.name, "foreign", {GPU_KEY: "1"})
        world.admin.make_quota(world.name, "cpu", {"requests.cpu": "1"})
        observe_once(cluster, now=NOW)
        assert drift_of(world).state == DriftState.IN_SYNC
        assert drift_of(world, "foreign").state == DriftState.NOT_MANAGED
        assert not Drift.objects.filter(name="cpu").exists()
        target.delete()
        observe_once(cluster, now=NOW)
        assert "no longer part of the desired state" in drift_of(world).message
        client.delete(QUOTA, "gpu-ledger", world.name, uid=live.uid)
    observe_once(cluster, now=NOW)
    assert not Drift.objects.filter(namespace=world.name, name="gpu-ledger").exists()


def test_a_tier_and_its_earlier_version(world: World, cluster: Cluster) -> None:
    old, new = f"{world.name}-v1", f"{world.name}-v2"
    with world.client() as client:
        client.apply(priority_class(old, 1000))
        Tier.objects.create(
            cluster=cluster,
            name=world.name,
            value=2000,
            class_name=new,
            old_classes=[old],
            version=1,
        )
        observe_once(cluster, now=NOW)
        rows = Drift.objects.filter(kind=CLASS, name__startswith=world.name)
        assert [(row.name, row.state) for row in rows] == [(new, DriftState.DIFFERS)]
        client.apply(
            priority_class(
                new,
                2000,
                preemptionPolicy="PreemptLowerPriority",
                globalDefault=False,
                description="",
            )
        )
        observe_once(cluster, now=NOW)
    assert rows.get().state == DriftState.IN_SYNC


def test_objects_that_are_being_applied_are_left_alone_until_it_is_done(
    world: World, cluster: Cluster
) -> None:
    want(cluster, world.name, 4)
    with world.client() as client:
        client.apply(quota(world.name, {GPU_KEY: "4"}))
        observe_once(cluster, now=NOW)
        change_set = ChangeSet.objects.create(
            cluster=cluster, author_name="ada", reason="x", state=ChangeState.APPLYING
        )
        ChangeStep.objects.create(
            change_set=change_set,
            position=1,
            kind=QUOTA,
            namespace=world.name,
            name="gpu-ledger",
            action="change",
        )
        client.apply(quota(world.name, {GPU_KEY: "6"}))
        observe_once(cluster, now=NOW)
        assert drift_of(world).state == DriftState.IN_SYNC
    ChangeSet.objects.update(state=ChangeState.PARTLY_APPLIED)
    find_drift(cluster, (), timezone.now())
    assert drift_of(world).state == DriftState.DIFFERS


def test_a_quota_of_a_tier_that_is_not_stored_hides_no_other(
    world: World, cluster: Cluster
) -> None:
    want(cluster, world.name, 4)
    want(cluster, world.name, 2, tier="gone")
    [found] = find_drift(cluster, (), NOW())
    assert (found.name, found.state) == ("gpu-ledger", DriftState.DIFFERS)


def test_a_cluster_that_is_silent_keeps_what_was_seen(
    world: World, cluster: Cluster
) -> None:
    world.admin.make_quota(world.name, "a", {GPU_KEY: "2"})
    observe_once(cluster, now=NOW)
    seen_at = ObservationRun.objects.get(cluster=cluster, kind=QUOTA).seen_at
    access = {"server": "http://127.0.0.1:1"}
    cluster.kubernetes = {"reader": access, "timeout_s": 1}
    seen = observe_once(cluster, now=NOW)
    assert set(seen.errors) >= {QUOTA, CLASS}
    look = ObservationRun.objects.get(cluster=cluster, kind=QUOTA)
    assert "cannot be reached" in look.error
    assert look.seen_at == seen_at
    assert Observation.objects.filter(namespace=world.name, name="a").exists()


def test_a_kind_that_we_may_not_list_hides_no_other(db: None) -> None:
    del db
    message = b'{"kind":"Status","code":403,"message":"pods is forbidden: User x"}'
    with failing(response(403, message)) as server:
        access = {"server": server.url}
        cluster = Cluster.objects.create(name="x", kubernetes={"reader": access})
        seen = observe_once(cluster, now=NOW)
        assert len(server.seen) == len(seen.errors) == 6, "each kind is asked for"
    look = ObservationRun.objects.get(cluster=cluster, kind="Pod")
    assert (look.is_allowed, look.code) == (False, 403)
    assert look.error == "pods is forbidden: User x"


def test_no_credentials_are_said_in_words(db: None) -> None:
    del db
    access = {"kubeconfig": "/nonexistent/kubeconfig"}
    cluster = Cluster.objects.create(name="x", kubernetes={"reader": access})
    observe_once(cluster, now=NOW)
    look = ObservationRun.objects.get(cluster=cluster, kind=QUOTA)
    assert "credentials cannot be read" in look.error


def test_one_of_three_clusters_is_down(world: World, db: None) -> None:
    del db
    down = {"reader": {"server": "http://127.0.0.1:1"}, "timeout_s": 1}
    for name, settings in (("a", world.settings), ("b", down), ("c", world.settings)):
        Cluster.objects.create(name=name, kubernetes=settings)
    world.admin.make_quota(world.name, "q", {GPU_KEY: "2"})
    for cluster in Cluster.objects.all():
        observe_once(cluster, now=NOW)
    having = Observation.objects.filter(namespace=world.name, kind=QUOTA)
    names = having.order_by("cluster__name").values_list("cluster__name", flat=True)
    assert list(names) == ["a", "c"]


def test_a_nul_in_a_label_of_a_crd_tool_is_storable(
    world: World, cluster: Cluster
) -> None:
    with world.client() as client:
        text = "before\u0000after"
        client.apply(priority_class(world.name, 5, description=text))
        assert not observe(cluster, client, [CLASS]).errors
    row = Observation.objects.get(kind=CLASS, name=world.name)
    assert row.manifest["description"] == "before?after"


@pytest.fixture
def followed(world: World, transactional_db: None) -> Iterator[Cluster]:
    """A cluster that is followed while the test runs."""
    del transactional_db
    cluster = Cluster.objects.create(name="east", kubernetes=world.settings)
    ending = threading.Event()
    run = partial(follow, cluster, now=NOW, ending=ending, watch_s=2)
    thread = threading.Thread(target=run)
    thread.start()
    yield cluster
    ending.set()
    thread.join(20)
    assert not thread.is_alive()


def test_a_watch_finds_drift_at_once(world: World, followed: Cluster) -> None:
    want(followed, world.name, 4)
    with world.client() as client:
        client.apply(quota(world.name, {GPU_KEY: "4"}))
    row = Drift.objects.filter(namespace=world.name, name="gpu-ledger")
    wait_until(lambda: row.filter(state=DriftState.IN_SYNC).exists(), 20)
    began = time.monotonic()
    change = {"spec": {"hard": {GPU_KEY: "9"}}}
    world.admin.edit(quota_path(world.name, "gpu-ledger"), change)
    wait_until(lambda: row.filter(state=DriftState.DIFFERS).exists(), 20)
    assert time.monotonic() - began < 5
    assert row.get().who == "kubectl-edit"
    world.admin.delete(quota_path(world.name, "gpu-ledger"))
    wait_until(lambda: row.filter(message__startswith="It was removed").exists(), 20)
