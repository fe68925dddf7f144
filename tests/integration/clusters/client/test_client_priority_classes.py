"""Priority classes through our door: what an API server really does with them (T28)."""

from typing import Any

import pytest

from scheduler_view.clusters.client.client import ClusterClient
from scheduler_view.clusters.client.errors import Forbidden, Invalid, NotFound
from scheduler_view.clusters.rules.live_objects import CLASS
from tests.control_plane.admin import RefusedByServer, class_path
from tests.control_plane.world import World, priority_class
from tests.processes import wait_until


def test_a_value_is_never_changed(world: World) -> None:
    with world.client() as client:
        client.apply(priority_class(world.name, 1000))
        with pytest.raises(Invalid, match="may not be changed in an update") as caught:
            client.apply(priority_class(world.name, 2000))
    assert caught.value.fields == ("value",)


def test_whether_it_preempts_is_never_changed(world: World) -> None:
    with world.client() as client:
        client.apply(priority_class(world.name, 1000, preemptionPolicy="Never"))
        with pytest.raises(Invalid, match="field is immutable"):
            client.apply(
                priority_class(
                    world.name, 1000, preemptionPolicy="PreemptLowerPriority"
                )
            )


def test_its_description_may_change(world: World) -> None:
    with world.client() as client:
        client.apply(priority_class(world.name, 1000, description="a"))
        live = client.apply(priority_class(world.name, 1000, description="b"))
        assert live.manifest["description"] == "b"
        again = client.apply(priority_class(world.name, 1000, description="b"))
    assert again.resource_version == live.resource_version
    assert live.manifest["preemptionPolicy"] == "PreemptLowerPriority"


@pytest.mark.parametrize(
    ("name", "value"), [("too-high", 2_000_000_000), ("system-batch", 1000)]
)
def test_values_and_names_of_the_system_are_refused(
    world: World, name: str, value: int
) -> None:
    with world.client() as client, pytest.raises(Invalid):
        client.apply(priority_class(name, value), dry_run=True)


def test_a_second_default_is_refused(world: World) -> None:
    first, second = f"{world.name}-a", f"{world.name}-b"
    with world.client() as client:
        live = client.apply(priority_class(first, 10, globalDefault=True))
        try:
            with pytest.raises(Forbidden) as caught:
                client.apply(priority_class(second, 20, globalDefault=True))
        finally:
            client.delete(CLASS, first, uid=live.uid)
    assert f"PriorityClass {first} is already marked as default" in caught.value.message


def test_a_class_does_not_become_a_second_default(world: World) -> None:
    """Not by a change either, whoever makes it; the default itself may be written again."""
    first, second = f"{world.name}-a", f"{world.name}-b"
    wanted = priority_class(second, 20, globalDefault=True)
    with world.client() as client:
        client.apply(priority_class(second, 20))
        live = client.apply(priority_class(first, 10, globalDefault=True))
        try:
            wait_until(lambda: _is_refused(client, wanted, dry_run=True), 30)
            assert _is_refused(client, wanted, dry_run=False)
            with pytest.raises(RefusedByServer, match=f"{first} is already marked"):
                world.admin.edit(class_path(second), {"globalDefault": True})
            assert not client.get(CLASS, second).manifest.get("globalDefault")
            client.apply(priority_class(first, 10, globalDefault=True, description="a"))
        finally:
            client.delete(CLASS, first, uid=live.uid)
        wait_until(lambda: not _is_refused(client, wanted, dry_run=True), 30)
        world.admin.delete(class_path(second))


def _is_refused(client: ClusterClient, body: Any, *, dry_run: bool) -> bool:
    try:
        client.apply(body, dry_run=dry_run)
    except Forbidden as error:
        return "is already marked as default" in error.message
    return False


def test_pods_keep_the_number_of_a_class_that_is_made_again(world: World) -> None:
    pod = f"/api/v1/namespaces/{world.name}/pods/a"
    with world.client() as client:
        live = client.apply(priority_class(world.name, 1000))
        made = world.admin.make_pod(world.name, "a", priorityClassName=world.name)
        assert made["spec"]["priority"] == 1000
        client.delete(CLASS, world.name, uid=live.uid)
        with pytest.raises(NotFound):
            client.get(CLASS, world.name)
        client.apply(priority_class(world.name, 2000))
    assert world.admin.get(pod)["spec"]["priority"] == 1000


def test_a_pod_that_names_no_class_of_the_cluster_is_refused(world: World) -> None:
    with pytest.raises(RefusedByServer, match="no PriorityClass with name nope") as no:
        world.admin.make_pod(world.name, "a", priorityClassName="nope")
    assert no.value.code == 403


def test_only_quotas_and_classes_are_ever_changed(world: World) -> None:
    body = {"kind": "Pod", "metadata": {"name": "a", "namespace": world.name}}
    with world.client() as client:
        with pytest.raises(ValueError, match="read-only for GPU Ledger"):
            client.apply(body)
        with pytest.raises(ValueError, match="read-only for GPU Ledger"):
            client.delete("Namespace", world.name, uid="x")
