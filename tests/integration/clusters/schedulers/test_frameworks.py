"""Work of frameworks on a real API server: found by its own object, and by its queue's entry.

The rules for each kind are in `tests/unit/waits/test_frameworks.py`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from scheduler_view.clusters.client.kinds import FRAMEWORKS, KINDS, READ_IF_ALLOWED
from scheduler_view.clusters.models import ObservationRun
from scheduler_view.waits.models import UnitWait, WaitRecord
from tests.control_plane import queue_definitions
from tests.control_plane.admin import GPU
from tests.control_plane.rbac import MANIFESTS
from tests.control_plane.server import ControlPlane
from tests.integration.clusters.schedulers.conftest import admin_of
from tests.integration.clusters.schedulers.queues import KUEUE, QueueOffice

pytestmark = pytest.mark.control_plane
SCHEDULERS = MANIFESTS / "schedulers"


@pytest.fixture
def frameworks(whole_cluster: ControlPlane) -> Iterator[None]:
    """Their definitions."""
    found = queue_definitions.frameworks()
    with queue_definitions.installed(admin_of(whole_cluster), found):
        yield


def training(queues: QueueOffice) -> dict[str, Any]:
    """A PyTorchJob of four pods, as it was created."""
    place = queues.office.world.name
    replicas = {"Master": {"replicas": 1}, "Worker": {"replicas": 3}}
    return queues.admin.create(
        f"/apis/kubeflow.org/v1/namespaces/{place}/pytorchjobs",
        {
            "apiVersion": "kubeflow.org/v1",
            "kind": "PyTorchJob",
            "metadata": {"name": "train"},
            "spec": {"runPolicy": {"suspend": True}, "pytorchReplicaSpecs": replicas},
        },
    )


def owner(made: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": made["apiVersion"],
        "kind": made["kind"],
        "name": made["metadata"]["name"],
        "uid": made["metadata"]["uid"],
        "controller": True,
    }


def entry(queues: QueueOffice, made: dict[str, Any]) -> None:
    """Kueue's Workload for it, which is not admitted."""
    place = queues.office.world.name
    requests = {"resources": {"requests": {GPU: "2"}}}
    template = {"spec": {"containers": [{"name": "main", **requests}]}}
    path = f"{KUEUE}/namespaces/{place}/workloads"
    queues.admin.create(
        path,
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Workload",
            "metadata": {"name": "entry", "ownerReferences": [owner(made)]},
            "spec": {
                "queueName": "vision",
                "podSets": [{"name": "worker", "count": 4, "template": template}],
            },
        },
    )
    waits = {"type": "QuotaReserved", "status": "False", "reason": "WaitingForQuota"}
    queues.admin.call(
        "PATCH",
        f"{path}/entry/status",
        {"status": {"conditions": [waits]}},
        "application/merge-patch+json",
    )


def test_a_training_job_without_pods_waits_in_its_queue(
    queues: QueueOffice, frameworks: None
) -> None:
    del frameworks
    entry(queues, training(queues))
    queues.look()
    found = UnitWait.objects.get(namespace=queues.office.world.name)
    assert (found.kind, found.name, found.cause) == (
        "PyTorchJob",
        "train",
        "queue_missing",
    )
    assert found.content["facts"]["queue_reason"] == "WaitingForQuota"
    assert found.content["pods"]["wanted"] == 4
    kept = WaitRecord.objects.get(namespace=queues.office.world.name)
    assert (kept.is_held, kept.admitted_at, kept.pod_units) == (True, None, 2)


def test_work_of_a_kind_that_is_never_read_is_found_by_the_entry(
    queues: QueueOffice,
) -> None:
    # No test defines this kind: of one that was defined a moment ago, the collector of
    # garbage would look for the owner, not find it, and remove the entry.
    unread = {
        "apiVersion": "workload.codeflare.dev/v1beta2",
        "kind": "AppWrapper",
        "metadata": {"name": "train", "uid": "00000000-0000-0000-0000-000000000001"},
    }
    entry(queues, unread)
    queues.look()
    found = UnitWait.objects.get(namespace=queues.office.world.name)
    assert (found.kind, found.name) == ("AppWrapper", "train")
    assert found.cause == "queue_missing", "no LocalQueue of its namespace"
    optional = ObservationRun.objects.filter(kind__in=FRAMEWORKS)
    assert not optional.exists(), "what is optional is no error"


def test_the_optional_roles_allow_to_list_every_kind() -> None:
    """`frameworks.yaml` those of frameworks and no more; the files of schedulers their queues."""
    wanted = {(KINDS[kind].group, KINDS[kind].plural) for kind in READ_IF_ALLOWED}
    allowed = {path.name: readable(path) for path in SCHEDULERS.glob("*.yaml")}
    assert wanted <= set().union(*allowed.values())
    assert allowed["frameworks.yaml"] <= wanted


def readable(path: Path) -> set[tuple[str, str]]:
    """Groups and kinds that the reader's role of a file names."""
    role = next(iter(yaml.safe_load_all(path.read_text())))
    return {
        (group, plural)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for plural in rule["resources"]
    }
