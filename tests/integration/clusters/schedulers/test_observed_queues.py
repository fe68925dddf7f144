"""What is read of Kueue, Volcano and KAI from a real API server: by version, and for waits."""

from typing import Any

import pytest

from scheduler_view.clusters.models import ObservationRun
from scheduler_view.quotas.reads.queue_values import queue_parts
from scheduler_view.waits.models import UnitWait
from tests.control_plane.admin import GPU
from tests.integration.clusters.schedulers.queues import QueueOffice

pytestmark = pytest.mark.control_plane


def test_every_kind_is_stored_with_what_pages_and_plans_need(
    queues: QueueOffice,
) -> None:
    name = queues.make_cluster_queue()
    queues.make("WorkloadPriorityClass", name, value=100)
    queues.make("VolcanoQueue", name, spec={"capability": {GPU: "8"}})
    queues.make("KaiQueue", name, spec={"resources": {"gpu": {"quota": 0.5}}})
    queues.write_status("VolcanoQueue", name, {"allocated": {GPU: "3"}})
    queues.write_status("KaiQueue", name, {"allocated": {GPU: "250m"}})
    queues.look()
    assert not ObservationRun.objects.exclude(error="").exists()
    found = {
        (part.kind, part.part): ({v.name: v.value for v in part.values}, part.used)
        for part in queue_parts(queues.office.cluster.name)
        if part.queue == name
    }
    empty = {"borrowingLimit": None, "lendingLimit": None}
    assert found == {
        ("ClusterQueue", f"a100/{GPU}"): ({"nominalQuota": "4", **empty}, None),
        ("ClusterQueue", f"h100/{GPU}"): ({"nominalQuota": "8", **empty}, None),
        ("WorkloadPriorityClass", ""): ({"value": "100", "description": None}, None),
        ("VolcanoQueue", GPU): ({"deserved": None, "capability": "8"}, "3"),
        ("VolcanoQueue", ""): ({"weight": "1"}, None),
        ("KaiQueue", "gpu"): (
            {"quota": "0.5", "limit": None, "overQuotaWeight": None},
            "0.25",
        ),
        ("KaiQueue", ""): ({"priority": None}, None),
    }


def waiting(queues: QueueOffice, group: dict[str, Any], path: str) -> UnitWait:
    """Why a pod of a pod group waits, once its scheduler has written a status."""
    admin, place = queues.admin, queues.office.world.name
    admin.make_pod(
        place,
        "worker-0",
        1,
        schedulerName="other",
    )
    admin.edit(
        f"/api/v1/namespaces/{place}/pods/worker-0",
        {"metadata": {"annotations": {"scheduling.k8s.io/group-name": "train"}}},
    )
    made = {**group, "metadata": {"name": "train"}}
    admin.create(f"{path}/namespaces/{place}/podgroups", made)
    admin.call(
        "PATCH",
        f"{path}/namespaces/{place}/podgroups/train/status",
        {"status": group["status"]},
        "application/merge-patch+json",
    )
    queues.look()
    return UnitWait.objects.get(namespace=place)


def test_a_pod_group_that_volcano_has_not_admitted_waits_in_its_queue(
    queues: QueueOffice,
) -> None:
    name = queues.office.world.name
    queues.make("VolcanoQueue", name, spec={"weight": 1})
    group = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "spec": {"minMember": 1, "queue": name},
        "status": {"phase": "Pending"},
    }
    found = waiting(queues, group, "/apis/scheduling.volcano.sh/v1beta1")
    assert (found.kind, found.name, found.cause) == ("PodGroup", "train", "queue")
    assert found.content["facts"] == {"queue": name, "scheduler": "volcano"}


def test_a_pod_group_over_its_kai_quota_waits_in_its_queue(
    queues: QueueOffice,
) -> None:
    name = queues.office.world.name
    queues.make("KaiQueue", name, spec={})
    condition = {
        "type": "UnschedulableOnNodePool",
        "reasons": [{"reason": "OverLimit", "message": "over limit"}],
    }
    group = {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "spec": {"minMember": 1, "queue": name},
        "status": {"schedulingConditions": [condition]},
    }
    found = waiting(queues, group, "/apis/scheduling.run.ai/v2alpha2")
    assert (found.kind, found.cause) == ("PodGroup", "queue")
    facts = {"queue": name, "queue_reason": "OverLimit", "scheduler": "kai"}
    assert found.content["facts"] == facts
