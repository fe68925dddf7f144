"""ClusterQueues of the demo's simulated API: a change arrives, is not forced, and is undone.

What a real API server answers to the same calls: `test_cluster_queues.py`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from portal.demo.kube_api.queue_objects import CLUSTER_QUEUE, cluster_queue, quota_of
from portal.demo.kube_api.server import SimulatedApiServer, serving
from portal.demo.kube_api.store import Store
from portal.demo.kube_api.users import User
from portal.demo.scenario.organization import WHOLE_GPU
from portal.demo.scenario.queues import CLUSTER_QUEUES, FLAVOR, QueueQuota
from scheduler_view.waits.rules.world.queues import queue_object
from tests.control_plane.server import ADMIN
from tests.control_plane.world import simulated_world
from tests.integration.changes.conftest import office_of
from tests.integration.clusters.schedulers.queues import QueueOffice, edit

pytestmark = pytest.mark.django_db(transaction=True)
SPEC = CLUSTER_QUEUES[0]
NOMINAL = f"{FLAVOR}/{WHOLE_GPU}/nominalQuota"
PATH = f"/apis/kueue.x-k8s.io/v1beta2/clusterqueues/{SPEC.name}"
LIMIT = "/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota"


@pytest.fixture
def api() -> Iterator[SimulatedApiServer]:
    """The demo's server with one ClusterQueue of 16 GPUs."""
    store = Store()
    key, manifest = cluster_queue(SPEC, QueueQuota(nominal=16, borrowing=8))
    store.put(key, manifest)
    users = {
        ADMIN: User("admin", is_admin=True),
        "pusher": User("pusher", is_pusher=True),
        "reader": User("reader"),
    }
    with serving(store, users) as found:
        yield found


def live(api: SimulatedApiServer) -> dict[str, Any]:
    return api.store.get((CLUSTER_QUEUE, "", SPEC.name))


def patch(api: SimulatedApiServer, token: str, operations: Any) -> requests.Response:
    return requests.patch(
        f"{api.url}{PATH}?fieldManager=gpu-ledger",
        json=operations,
        headers={
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json-patch+json",
        },
        timeout=10,
    )


def test_a_value_goes_from_an_edit_to_the_demo_and_back(
    api: SimulatedApiServer, tmp_path: Path
) -> None:
    queues = QueueOffice(office_of(simulated_world(api.url, tmp_path, "t-demo")))
    before = live(api)
    change = edit(CLUSTER_QUEUE, SPEC.name, NOMINAL, 12)
    change_set = queues.office.planned(change)
    assert change_set.state == "planned", change_set.error
    assert quota_of(live(api)) == (16, 8)  # a dry run writes nothing
    queues.office.apply(queues.office.approve(change_set))
    assert change_set.state == "applied", change_set.error
    assert quota_of(live(api)) == (12, 8)
    assert live(api)["metadata"]["generation"] == before["metadata"]["generation"] + 1
    drift = queues.drift(CLUSTER_QUEUE, SPEC.name)
    assert drift is not None
    assert drift.state == "in_sync"
    queues.undone(change_set)
    assert quota_of(live(api)) == (16, 8)


def test_a_test_that_fails_changes_nothing(api: SimulatedApiServer) -> None:
    wrong = [
        {"op": "test", "path": LIMIT, "value": "15"},
        {"op": "replace", "path": LIMIT, "value": "12"},
    ]
    assert patch(api, "pusher", wrong).status_code == 422
    gone = [{"op": "replace", "path": "/spec/nothing/here", "value": "12"}]
    assert patch(api, "pusher", gone).status_code == 422
    assert quota_of(live(api)) == (16, 8)


def test_only_who_pushes_may_patch_it(api: SimulatedApiServer) -> None:
    right = [{"op": "replace", "path": LIMIT, "value": "12"}]
    assert patch(api, "reader", right).status_code == 403
    assert patch(api, "pusher", {"op": "test"}).status_code == 400
    assert patch(api, "pusher", right).status_code == 200
    assert quota_of(live(api)) == (12, 8)


def test_its_queues_serve_every_namespace() -> None:
    """As Kueue reads them: a ClusterQueue without a selector serves no namespace."""
    for spec in CLUSTER_QUEUES:
        _, written = cluster_queue(spec, QueueQuota(4, 0))
        read = queue_object(CLUSTER_QUEUE, written)
        assert read.namespaces is not None
        assert read.namespaces.matches({"kubernetes.io/metadata.name": spec.namespace})
