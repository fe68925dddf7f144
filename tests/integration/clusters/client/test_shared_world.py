"""Tests share one real control plane: the work of one is gone before another looks."""

from pathlib import Path
from typing import Any

import pytest

from tests.control_plane.admin import RefusedByServer
from tests.control_plane.server import ControlPlane
from tests.control_plane.world import World, shared_world
from tests.processes import wait_until

pytestmark = [pytest.mark.control_plane, pytest.mark.timeout(180)]
WHERE = {
    "Job": "/apis/batch/v1/namespaces/{}/jobs",
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
}


def template(name: str, **spec: Any) -> dict[str, Any]:
    containers = [{"name": "main", "image": "none"}]
    return {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": containers, **spec},
    }


def leave_work(world: World) -> None:
    """Pods that wait for ever, each made again when it is deleted, and a Job without any."""
    admin, gates = world.admin, [{"name": "example.com/wait"}]
    job = template("gated", schedulingGates=gates, restartPolicy="Never")
    web = template("web", nodeSelector={"kubernetes.io/hostname": f"{world.name}-gone"})
    selector = {"matchLabels": {"app": "web"}}
    for kind, name, spec in (
        ("Job", "gated", {"template": job}),
        ("Job", "suspended", {"template": job, "suspend": True}),
        ("Deployment", "web", {"template": web, "selector": selector}),
    ):
        path = WHERE[kind].format(world.name)
        admin.create(path, {"metadata": {"name": name}, "spec": spec})
    admin.make_node(f"{world.name}-n", nvidia_com__gpu=1)
    pods = f"/api/v1/namespaces/{world.name}/pods"
    wait_until(lambda: len(admin.get(pods)["items"]) == 2, 30)


def test_work_ends_with_the_test_that_made_it(
    whole_cluster: ControlPlane, tmp_path: Path
) -> None:
    with shared_world(whole_cluster, tmp_path) as world:
        leave_work(world)
        name, admin = world.name, world.admin
    with shared_world(whole_cluster, tmp_path) as other:
        other.admin.wait_alone()
        for path in (*WHERE.values(), "/api/v1/namespaces/{}/pods"):
            assert other.admin.get(path.format(name))["items"] == []
    with pytest.raises(RefusedByServer, match="not found"):
        admin.get(f"/api/v1/nodes/{name}-n")


def test_work_of_another_test_is_not_ended(
    whole_cluster: ControlPlane, tmp_path: Path
) -> None:
    with shared_world(whole_cluster, tmp_path) as world:
        leave_work(world)
        with shared_world(whole_cluster, tmp_path):
            pass
        jobs = world.admin.get(WHERE["Job"].format(world.name))["items"]
        assert {one["metadata"]["name"] for one in jobs} == {"gated", "suspended"}
