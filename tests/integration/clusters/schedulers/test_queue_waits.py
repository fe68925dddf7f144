"""Work that Kueue can never let in, on a real API server: named, and gone when it is mended.

Jobs, queues and Workloads are real objects; what Kueue's controller reports is written by the test.
The rules: `tests/unit/waits/test_queue_waits.py`.
"""

from datetime import timedelta
from typing import Any

import pytest

from scheduler_view.waits.models import UnitWait
from tests.control_plane.admin import GPU
from tests.integration.clusters.schedulers.queues import KUEUE, QueueOffice, groups
from tests.integration.clusters.schedulers.test_frameworks import owner

pytestmark = pytest.mark.control_plane
ANY: dict[str, Any] = {"namespaceSelector": {}}
CAUSES = {
    "typo": "queue_missing",
    "held": "queue_stopped",
    "large": "queue_limit",
    "off": "queue_deactivated",
}
MERGE = "application/merge-patch+json"


def local(queues: QueueOffice, name: str, behind: str) -> None:
    place = queues.office.world.name
    queues.admin.create(
        f"{KUEUE}/namespaces/{place}/localqueues",
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "LocalQueue",
            "metadata": {"name": name},
            "spec": {"clusterQueue": behind},
        },
    )


def work(queues: QueueOffice, name: str, gpus: int, queue: str, **spec: Any) -> None:
    """A suspended Job and Kueue's Workload for it, which is not admitted."""
    place = queues.office.world.name
    requests = {"limits": {GPU: str(gpus)}}
    containers = [{"name": "main", "image": "none", "resources": requests}]
    spec_of_pods = {"containers": containers, "restartPolicy": "Never"}
    tolerated = {"tolerations": [{"key": "queues", "operator": "Exists"}]}
    template = {"spec": spec_of_pods | tolerated}
    made = queues.admin.create(
        f"/apis/batch/v1/namespaces/{place}/jobs",
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {
                "name": name,
                "labels": {"kueue.x-k8s.io/queue-name": queue},
            },
            "spec": {"suspend": True, "template": template},
        },
    )
    sets = [{"name": "main", "count": 1, "template": template}]
    queues.admin.create(
        f"{KUEUE}/namespaces/{place}/workloads",
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Workload",
            "metadata": {"name": name, "ownerReferences": [owner(made)]},
            "spec": {"queueName": queue, "podSets": sets} | spec,
        },
    )


def causes(queues: QueueOffice) -> dict[str, str]:
    found = UnitWait.objects.filter(namespace=queues.office.world.name)
    return {row.name: row.cause for row in found}


@pytest.fixture
def large_node(queues: QueueOffice) -> None:
    """A node on which all of the work would fit, so that queues alone decide.

    Pods of other tests, which share the API server and its scheduler, do not tolerate its taint:
    one that took its GPUs would have to end first, which is one more remedy.
    """
    name = queues.name("n")
    queues.admin.make_node(name, nvidia_com__gpu=16)
    taint = {"key": "queues", "effect": "NoSchedule"}
    queues.admin.call(
        "PATCH", f"/api/v1/nodes/{name}", {"spec": {"taints": [taint]}}, MERGE
    )
    queues.admin.wait_node(name)


def test_what_kueue_can_never_let_in_is_named_until_it_is_mended(
    queues: QueueOffice, large_node: None
) -> None:
    del large_node
    place = queues.office.world.name
    held = queues.make_cluster_queue("held", stopPolicy="Hold", **ANY)
    alone = {"cohortName": "", "resourceGroups": groups(4, "8"), **ANY}
    large = queues.make_cluster_queue("large", **alone)
    local(queues, "held", held)
    local(queues, "large", large)
    work(queues, "typo", 1, "lrage")
    work(queues, "held", 1, "held")
    work(queues, "large", 16, "large")
    work(queues, "off", 1, "large", active=False)
    queues.look()
    assert causes(queues) == CAUSES
    row = UnitWait.objects.get(namespace=place, name="large")
    changes = {one["change"]: one for one in row.content["starts_if"]}
    assert changes["shrink_total"] == {
        "change": "shrink_total",
        "to": 8,
        "resource": GPU,
    }
    raised_value = changes["raise_queue_value"]
    assert raised_value["field"] == f"h100/{GPU}/nominalQuota"
    assert raised_value["to"] == 16

    queues.admin.call(
        "PATCH",
        queues.path("ClusterQueue", held),
        {"spec": {"stopPolicy": "None"}},
        MERGE,
    )
    queues.admin.call(
        "PATCH",
        f"{KUEUE}/namespaces/{place}/workloads/off",
        {"spec": {"active": True}},
        MERGE,
    )
    raised = {"spec": {"resourceGroups": groups(4, str(raised_value["to"]))}}
    queues.admin.call("PATCH", queues.path("ClusterQueue", large), raised, MERGE)
    local(queues, "lrage", large)
    queues.office.ahead += timedelta(minutes=2)
    queues.look()
    assert causes(queues) == dict.fromkeys(CAUSES, "queue"), "now Kueue may let it in"
