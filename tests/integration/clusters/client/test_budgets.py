"""Disruption budgets of a real API server and its controller: when they keep a node (S32)."""

import pytest

from scheduler_view.clusters.models import ObservationRun
from scheduler_view.queues.models.memory import KeptNode
from scheduler_view.queues.tasks.look import observe_once
from tests.control_plane.world import World
from tests.integration.changes.conftest import office_of
from tests.processes import wait_until

pytestmark = [pytest.mark.control_plane, pytest.mark.timeout(180)]
MERGE = "application/merge-patch+json"


@pytest.mark.django_db
def test_a_budget_of_a_real_cluster_keeps_a_node_until_it_allows_an_eviction(
    real: World,
) -> None:
    admin, name = real.admin, real.name
    office = office_of(real)
    admin.wait_alone()
    admin.make_node(name, nvidia_com__gpu=8)
    admin.wait_node(name)
    labels = {"app": name}
    web = {
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "nodeSelector": {"kubernetes.io/hostname": name},
                    "containers": [{"name": "main", "image": "none"}],
                },
            },
        },
    }
    spec = {"minAvailable": 1, "selector": {"matchLabels": labels}}
    deployments = f"/apis/apps/v1/namespaces/{name}/deployments"
    budgets = f"/apis/policy/v1/namespaces/{name}/poddisruptionbudgets"
    admin.create(deployments, web)
    admin.create(budgets, {"metadata": {"name": "web"}, "spec": spec})

    def allowed() -> int:
        """-1 before all pods have begun and were counted."""
        status = admin.get(f"{budgets}/web").get("status", {})
        is_counted = 0 < status.get("expectedPods", 0) == status["currentHealthy"]
        return int(status["disruptionsAllowed"]) if is_counted else -1

    def keeping() -> list[list[str]]:
        KeptNode.objects.all().delete()
        ObservationRun.objects.filter(kind="UnitWait").delete()  # once a minute else
        observe_once(office.cluster, now=office.now)
        found = KeptNode.objects.filter(node=name).values_list("pods", flat=True)
        return [pod for pods in found for pod in pods]

    wait_until(lambda: allowed() == 0, 60)
    [[pod, reason]] = keeping()
    assert pod.startswith(f"{name}/web-")
    assert reason == "disruption_budget"
    change = {"spec": {"replicas": 2}}
    admin.call("PATCH", f"{deployments}/web", change, MERGE)
    wait_until(lambda: allowed() == 1, 60)
    assert keeping() == []
