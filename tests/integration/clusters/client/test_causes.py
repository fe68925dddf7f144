"""Causes that only objects of nodes, containers and events show, on a real control plane.

Covered: an init container that fails, a Job in back-off, a finalizer, a node without a device
plugin, one that is not set up, a budget that keeps a drain from ending, the words of an autoscaler.
The finalizer is removed, and the work starts. The rules are tested by hand in
`tests/unit/waits`.
"""

from datetime import timedelta
from typing import Any

import pytest

from accounting.access.scope import EVERYTHING
from scheduler_view.clusters.models import ObservationRun
from scheduler_view.queues.tasks.look import observe_once
from scheduler_view.waits.reads.waiting_row import WaitingUnitRow
from scheduler_view.waits.reads.waiting_units import waiting_rows
from tests.control_plane.server import ControlPlane
from tests.control_plane.world import World
from tests.integration.changes.conftest import office_of
from tests.integration.changes.office import Office
from tests.processes import wait_until

pytestmark = [pytest.mark.control_plane, pytest.mark.timeout(180)]
GPU = "nvidia.com/gpu"
NODES = ("full", "other", "silent", "setup", "drained")
MERGE = "application/merge-patch+json"
COUNTED = {"nvidia.com/gpu.product": "H100", "nvidia.com/gpu.count": "1"}
UNEXPECTED = {"reason": "UnexpectedAdmissionError", "message": "Allocate failed"}
MAX_SIZE = "pod didn't trigger scale-up: 1 max node group size reached"


@pytest.fixture
def office(real: World, db: None) -> Office:
    """A namespace, and nodes of one GPU that only its pods may have; one has no plugin."""
    del db
    admin = real.admin
    admin.wait_alone()
    for name in NODES:
        gpus = {} if name == "silent" else {"nvidia_com__gpu": 1}
        admin.make_node(f"{real.name}-{name}", **gpus)
        labels = {"own": real.name} | (COUNTED if name == "silent" else {})
        admin.edit(node(real, name), {"metadata": {"labels": labels}})
    return office_of(real)


def node(world: World, name: str) -> str:
    return f"/api/v1/nodes/{world.name}-{name}"


def pod(world: World, name: str = "") -> str:
    return f"/api/v1/namespaces/{world.name}/pods" + (f"/{name}" if name else "")


def report(world: World, name: str, **status: Any) -> None:
    """What a kubelet reports of a pod."""
    world.admin.call("PATCH", f"{pod(world, name)}/status", {"status": status}, MERGE)


def on(world: World, name: str) -> dict[str, Any]:
    return {"nodeName": f"{world.name}-{name}"}


def drain(world: World) -> None:
    """A cordoned node with a pod that its budget keeps there."""
    admin = world.admin
    admin.make_pod(world.name, "kept", 1, **on(world, "drained"))
    admin.edit(pod(world, "kept"), {"metadata": {"labels": {"app": "kept"}}})
    budgets = f"/apis/policy/v1/namespaces/{world.name}/poddisruptionbudgets"
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "kept"}}}
    admin.create(budgets, {"metadata": {"name": "kept"}, "spec": spec})
    admin.edit(node(world, "drained"), {"spec": {"unschedulable": True}})
    wait_until(
        lambda: (
            admin.get(pod(world, "kept"))["status"].get("phase") == "Running"
            and bool(
                admin.get(f"{budgets}/kept").get("status", {}).get("currentHealthy")
            )
        ),
        60,
    )


def hold(world: World) -> None:
    """A pod that was deleted, and that its finalizer keeps."""
    admin = world.admin
    admin.make_pod(world.name, "stuck", 1, **on(world, "full"))
    kept = {"metadata": {"finalizers": ["example.com/x"]}}
    admin.edit(pod(world, "stuck"), kept)


def fail(world: World) -> None:
    """A Job of which the kubelet rejected the pod."""
    admin = world.admin
    resources = {"limits": {GPU: "1"}}
    containers = [{"name": "main", "image": "none", "resources": resources}]
    spec = {"restartPolicy": "Never", "containers": containers, **on(world, "other")}
    made = {"metadata": {"name": "job"}, "spec": {"template": {"spec": spec}}}
    admin.create(f"/apis/batch/v1/namespaces/{world.name}/jobs", made)
    path = f"{pod(world)}?labelSelector=job-name=job"
    wait_until(lambda: bool(admin.get(path)["items"]), 30)
    name = admin.get(path)["items"][0]["metadata"]["name"]
    report(world, name, phase="Failed", **UNEXPECTED)


def crash(world: World) -> None:
    """A pod whose init container fails."""
    init = [{"name": "prepare", "image": "none"}]
    world.admin.make_pod(
        world.name, "init", 1, initContainers=init, **on(world, "other")
    )
    waits = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}}
    last = {"terminated": {"exitCode": 1, "reason": "Error"}}
    one = {"name": "prepare", "image": "none", "imageID": "", "ready": False}
    one |= {"restartCount": 7, "state": waits, "lastState": last}
    report(world, "init", phase="Pending", initContainerStatuses=[one])


def tell(world: World) -> None:
    """The cluster autoscaler's event about a pod."""
    about = {"kind": "Pod", "namespace": world.name, "name": "waits"}
    event = {
        "metadata": {"name": "waits.1"},
        "involvedObject": about | {"apiVersion": "v1"},
        "reason": "NotTriggerScaleUp",
        "message": MAX_SIZE,
        "source": {"component": "cluster-autoscaler"},
        "lastTimestamp": "2026-01-01T00:00:00Z",
    }
    world.admin.create(f"/api/v1/namespaces/{world.name}/events", event)


def rows(office: Office) -> dict[str, WaitingUnitRow]:
    ObservationRun.objects.filter(kind="UnitWait").delete()  # once a minute else
    observe_once(office.cluster, now=office.now)
    return {one.name: one for one in waiting_rows(EVERYTHING, office.now())}


def test_nodes_containers_and_autoscalers_say_why_work_waits(
    whole_cluster: ControlPlane, office: Office
) -> None:
    world, admin = office.world, office.world.admin
    own = world.name
    taint = {"key": "node.cilium.io/agent-not-ready", "effect": "NoSchedule"}
    admin.edit(node(world, "setup"), {"spec": {"taints": [taint]}})
    drain(world)
    hold(world)
    wait_until(
        lambda: admin.get(pod(world, "stuck"))["status"].get("phase") == "Running", 30
    )
    whole_cluster.freeze(
        "kwok"
    )  # it starts all pods, and removes finalizers of those that end
    try:
        crash(world)
        admin.call("DELETE", pod(world, "stuck"), {"gracePeriodSeconds": 0})
        admin.make_pod(own, "waits", 1, nodeSelector={"own": own}, tolerations=[])
        tell(world)
        wait_until(
            lambda: bool(admin.get(pod(world, "waits"))["status"].get("conditions")), 30
        )
        fail(world)
        office.ahead += timedelta(minutes=10)
        wait_until(lambda: rows(office)["job"].cause == "back_off", 20)
        found = rows(office)
        admin.edit(pod(world, "stuck"), {"metadata": {"finalizers": None}})
        wait_until(
            lambda: bool(admin.get(pod(world, "waits"))["spec"].get("nodeName")), 30
        )
    finally:
        whole_cluster.thaw("kwok")
    assert (found["init"].stage, found["init"].cause) == ("starting", "crash_loop")
    assert found["init"].details == [
        "The init container prepare fails with exit code 1 (Error) and was restarted "  # noqa: ISC004
        "7 times. It holds 1 GPU."
    ]
    assert found["job"].message == "UnexpectedAdmissionError: Allocate failed"
    waits = found["waits"]
    assert waits.cause == "no_free_gpu"
    assert set(waits.contributing) == {"cordoned", "no_device_plugin", "node_setup"}
    said = " ".join(waits.details)
    assert "The cluster autoscaler adds no node." in said
    assert f"{own}-setup is not set up yet" in said
    assert f"{own}-silent show 1 GPU" in said
    assert f"the disruption budget {own}/kept allows no eviction of 1 pod" in said
    (stuck,) = next(s for s in waits.holders if s[0].pod == f"{own}/stuck")
    assert (stuck.ending_since is not None, list(stuck.finalizers)) == (
        True,
        ["example.com/x"],
    )
    named = {"change": "end_pod", "pod": f"{own}/stuck"}
    assert named | {"stuck": {f"{own}/stuck": ["example.com/x"]}} in waits.starts_if
