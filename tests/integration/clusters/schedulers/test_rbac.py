"""The optional manifests of deploy/rbac/schedulers on a real API server."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from scheduler_view.clusters.client.client import ClusterClient
from scheduler_view.clusters.client.errors import Forbidden
from scheduler_view.clusters.client.kinds import (
    KAI_POD_GROUP,
    VOLCANO_POD_GROUP,
    WORKLOAD,
)
from scheduler_view.clusters.rules.schedulers import QUEUE_OBJECTS
from tests.control_plane.admin import GPU, Admin, RefusedByServer
from tests.control_plane.rbac import MANIFESTS, kubectl, token_of
from tests.control_plane.server import ControlPlane
from tests.integration.clusters.client.test_rbac import door_as
from tests.integration.clusters.schedulers.conftest import admin_of
from tests.integration.clusters.schedulers.queues import QueueOffice, groups
from tests.processes import wait_until

pytestmark = pytest.mark.control_plane
SCHEDULERS = MANIFESTS / "schedulers"
VERSIONS = {
    "kueue.x-k8s.io/v1beta2": "clusterqueues",
    "scheduling.volcano.sh/v1beta1": "queues",
    "scheduling.run.ai/v2": "queues",
}
HELD = {"spec": {"stopPolicy": "Hold"}}


@pytest.fixture(scope="module")
def guarded(definitions: None, whole_cluster: ControlPlane) -> Iterator[ControlPlane]:
    """With the accounts and the optional manifests, when their policies are in force.

    Other modules share the control plane, so the optional ones are removed again.
    """
    del definitions
    for place in (MANIFESTS / "accounts.yaml", SCHEDULERS):
        kubectl(whole_cluster, "apply", "-f", str(place))
    admin = admin_of(whole_cluster)
    pusher = Admin(admin.url, token_of(admin, "pusher"), admin.ca_file)
    for version, plural in VERSIONS.items():
        _wait_in_force(admin, pusher, f"/apis/{version}/{plural}", version)
    yield whole_cluster
    kubectl(whole_cluster, "delete", "-f", str(SCHEDULERS))


def _wait_in_force(admin: Admin, pusher: Admin, path: str, version: str) -> None:
    kind = "ClusterQueue" if "kueue" in version else "Queue"
    head = {"apiVersion": version, "kind": kind, "metadata": {"name": "probe"}}
    admin.create(path, head | {"spec": {}})

    numbers = count()

    def is_in_force() -> bool:
        change = {"metadata": {"labels": {"tried": str(next(numbers))}}}
        try:
            pusher.call(
                "PATCH", f"{path}/probe", change, "application/merge-patch+json"
            )
        except RefusedByServer as refused:
            return "may not change labels" in refused.message
        return False

    wait_until(is_in_force, 30)
    admin.delete(f"{path}/probe")


@pytest.fixture
def pusher(guarded: ControlPlane, queues: QueueOffice) -> Admin:
    del guarded
    admin = queues.admin
    return Admin(admin.url, token_of(admin, "pusher"), admin.ca_file)


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(RefusedByServer) as caught:
        call()
    assert caught.value.code == 403
    return caught.value.message


def patched(pusher: Admin, path: str, change: dict[str, Any]) -> None:
    pusher.call("PATCH", path, change, "application/merge-patch+json")


def test_the_reader_may_list_every_kind_and_write_none(
    guarded: ControlPlane, queues: QueueOffice
) -> None:
    del guarded
    reader: ClusterClient = door_as(queues.office.world, "reader")
    name = queues.make_cluster_queue()
    for kind in (*QUEUE_OBJECTS, WORKLOAD, VOLCANO_POD_GROUP, KAI_POD_GROUP):
        assert reader.may("list", kind)
        assert not reader.may("patch", kind)
    live = reader.get("ClusterQueue", name).manifest
    operation = {"op": "test", "path": "/metadata/name", "value": name}
    with pytest.raises(Forbidden):
        reader.patch("ClusterQueue", live, [operation], dry_run=True)


def test_the_pusher_changes_numbers_of_kueue_and_nothing_else(
    queues: QueueOffice, pusher: Admin
) -> None:
    name = queues.make_cluster_queue()
    path = queues.path("ClusterQueue", name)
    patched(pusher, path, {"spec": {"resourceGroups": groups("9")}})
    live = queues.live("ClusterQueue", name)
    assert live["spec"]["resourceGroups"] == groups("9")
    text = refusal(lambda: patched(pusher, path, HELD))
    assert "may only change resourceGroups of a ClusterQueue, not stopPolicy" in text
    fewer = groups("9")
    del fewer[0]["flavors"][1]
    text = refusal(lambda: patched(pusher, path, {"spec": {"resourceGroups": fewer}}))
    assert "only change numbers of a ClusterQueue, no flavors" in text
    refusal(lambda: patched(pusher, path, {"metadata": {"labels": {"a": "b"}}}))
    refusal(lambda: patched(pusher, path, {"metadata": {"finalizers": ["a.b/c"]}}))
    refusal(lambda: pusher.delete(path))
    refusal(lambda: pusher.get(path))
    queues.make("WorkloadPriorityClass", name, value=1)
    priority = queues.path("WorkloadPriorityClass", name)
    patched(pusher, priority, {"value": 2, "description": "x"})


def test_the_pusher_changes_gpus_of_volcano_and_nothing_else(
    queues: QueueOffice, pusher: Admin
) -> None:
    name = queues.name("v")
    queues.make("VolcanoQueue", name, spec={"capability": {"cpu": "4"}})
    path = queues.path("VolcanoQueue", name)
    spec = {"capability": {GPU: "4"}, "deserved": {GPU: "2"}, "weight": 3}
    patched(pusher, path, {"spec": spec})
    text = refusal(
        lambda: patched(pusher, path, {"spec": {"capability": {"cpu": "8"}}})
    )
    assert text.endswith("may only set GPUs of a queue, not cpu")
    text = refusal(lambda: patched(pusher, path, {"spec": {"parent": "x"}}))
    assert text.endswith("capability, deserved and weight of a queue, not parent")


def test_the_pusher_changes_gpus_of_kai_and_nothing_else(
    queues: QueueOffice, pusher: Admin
) -> None:
    name = queues.name("k")
    queues.make("KaiQueue", name, spec={"resources": {"cpu": {"quota": 1}}})
    path = queues.path("KaiQueue", name)
    spec = {"resources": {"gpu": {"quota": 2}}, "priority": 7}
    patched(pusher, path, {"spec": spec})
    other = {"spec": {"resources": {"cpu": {"quota": 9}}}}
    assert "no other resources" in refusal(lambda: patched(pusher, path, other))
    text = refusal(lambda: patched(pusher, path, {"spec": {"parentQueue": "x"}}))
    assert text.endswith("GPUs and priority of a queue, not parentQueue")
    refusal(lambda: pusher.delete(path))


def test_none_of_it_is_given_by_the_folder_above() -> None:
    """`kubectl apply -f deploy/rbac/` does not read folders in it."""
    own = "".join(path.read_text() for path in MANIFESTS.glob("*.yaml"))
    for word in ("clusterqueues", "workloadpriorityclasses", "podgroups"):
        assert word not in own
    assert {path.name for path in Path(SCHEDULERS).iterdir()} == {
        "frameworks.yaml",
        "kai.yaml",
        "karpenter.yaml",
        "kueue.yaml",
        "volcano.yaml",
    }
