"""Work that waits in a cluster of which only kube-state-metrics are read (scheduling.md S14).

From the text of a scrape to the rows, the pages and REST. Not here: each cause
(`tests/unit/waits/test_from_metrics.py`).
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client

from accounting.access.models.people import OrganizationRole, Person
from accounting.access.scope import EVERYTHING
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.node_state import NodeStateRead
from scheduler_view.clusters.models import ObservationRun
from scheduler_view.queues.models.memory import WaitStretch
from scheduler_view.queues.models.queues import PoolSample, StartEstimate
from scheduler_view.queues.tasks.observe_queues import store_waits
from scheduler_view.queues.tasks.queues_from_metrics import (
    clusters_by_metrics,
    look_at_metrics,
)
from scheduler_view.waits.models import UnitWait, WaitRecord
from scheduler_view.waits.reads.waiting_row import WaitingUnitRow
from scheduler_view.waits.reads.waiting_units import waiting_rows
from scheduler_view.waits.rules.world.world import read_world
from tests.page_html import html_of
from tests.traps.scene import START, Pod, Scene
from tests.unit.waits.worlds import job as api_job
from tests.unit.waits.worlds import node as api_node
from tests.unit.waits.worlds import pod as api_pod

pytestmark = pytest.mark.django_db(transaction=True)

KSM = {"job": "kube-state-metrics", "instance": "kube-state:8080"}
JOB = (("Job", "train", True),)


def node(
    scene: Scene, name: str, gpus: int, taint: str = "", *, cordon: int = 0
) -> None:
    scene.node(name, gpus)
    own = KSM | {"node": name}
    what = {"resource": "nvidia_com_gpu", "unit": "integer"}
    scene.add("kube_node_status_allocatable", gpus, own | what)
    scene.add("kube_node_spec_unschedulable", cordon, own)
    if taint:
        labels = {"key": taint, "value": "", "effect": "NoSchedule"}
        scene.add("kube_node_spec_taint", 1, own | labels)


def waiting(scene: Scene, pod: Pod) -> None:
    """A pod that the scheduler found no node for, with the tolerations that every pod has."""
    shown = replace(pod, bound=None)
    scene.pod(shown)
    own = KSM | shown.key
    scene.add("kube_pod_status_unschedulable", 1, own)
    for key in ("not-ready", "unreachable"):
        one = {"key": f"node.kubernetes.io/{key}", "operator": "Exists"}
        scene.add("kube_pod_tolerations", 1, own | one | {"effect": "NoExecute"})


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    """Node a is full; b has a taint; c is cordoned; a Job of two pods waits, and two more pods."""
    scene = Scene()
    node(scene, "a", 8)
    node(scene, "b", 4, "team")
    node(scene, "c", 16, cordon=1)
    scene.pod(Pod("holder", "a", units=8))
    waiting(scene, Pod("train-0", units=4, owners=JOB))
    waiting(scene, Pod("train-1", units=4, owners=JOB))
    waiting(scene, Pod("huge", units=32))
    waiting(scene, Pod("mig", units=1, resource="nvidia_com_mig_1g_10gb"))
    job = KSM | {"namespace": "vision", "job_name": "later"}
    scene.add("kube_job_created", START - 600, job)
    scene.add("kube_job_status_suspended", 1, job)
    scene.read(tmp_path)
    return Cluster.objects.get(name="north")


def rows(now: datetime) -> dict[str, WaitingUnitRow]:
    return {one.name: one for one in waiting_rows(EVERYTHING, now)}


def admin() -> Client:
    user = User.objects.create_user("head", "head@example.com")
    Person.objects.update_or_create(
        user=user, defaults={"role": OrganizationRole.FINANCE}
    )
    client = Client()
    client.force_login(user)
    return client


NOW = datetime.fromtimestamp(START, UTC) + timedelta(hours=1)


def test_who_waits_is_known_from_metrics_alone(cluster: Cluster) -> None:
    assert clusters_by_metrics(NOW) == [cluster]
    assert look_at_metrics(cluster, NOW) == 4
    found = rows(NOW)
    assert {name: one.cause for name, one in found.items()} == {
        "train": "no_free_gpu",
        "huge": "too_big",
        "mig": "resource_unknown",
        "later": "suspended",
    }
    train = found["train"]
    assert (train.kind, train.namespace, train.pods_waiting) == ("Job", "vision", 2)
    assert train.requested == {"nvidia.com/gpu": 4}
    assert train.contributing == ["cordoned", "taint"]
    assert (train.holders, train.starts_if) == ([], [])
    assert train.preemption == "unknown"
    assert train.message == "kube_pod_status_unschedulable is 1"
    assert found["later"].requested == {}
    assert all(one.is_from_metrics for one in found.values())
    assert {one.seen_at for one in found.values()} == {
        datetime.fromtimestamp(NodeStateRead.objects.get().at_ms / 1000, UTC)
    }


def test_nothing_else_is_stored_from_metrics(cluster: Cluster) -> None:
    """Neither positions nor estimates, and nothing that rules of waste read."""
    look_at_metrics(cluster, NOW)
    record = WaitRecord.objects.get(name="train")
    assert (record.cause, record.units, record.is_from_metrics) == (
        "no_free_gpu",
        8,
        True,
    )
    assert (record.position, record.count, record.start_word) == (None, None, "")
    assert (record.priority, record.waits_since) == (
        None,
        datetime.fromtimestamp(START, UTC),
    )
    assert WaitRecord.objects.get(name="holder").bound_at is not None
    for model in (PoolSample, StartEstimate, WaitStretch):
        assert not model.objects.exists()
    before = list(UnitWait.objects.order_by("pk").values())
    assert look_at_metrics(cluster, NOW) == 0, "there is no newer scrape"
    assert list(UnitWait.objects.order_by("pk").values()) == before


def test_objects_win_while_they_are_observed(cluster: Cluster) -> None:
    look_at_metrics(cluster, NOW)
    meta = {"name": "train-0", "namespace": "vision", "uid": "u"}
    objects = {"Node": [api_node("a", 8)], "Pod": [api_pod("train-0", 9, meta=meta)]}
    at_ms = int(NOW.timestamp() * 1000)
    store_waits(cluster, read_world(objects, at_ms), NOW)
    assert {name: one.is_from_metrics for name, one in rows(NOW).items()} == {
        "train-0": False
    }
    assert not WaitRecord.objects.get(name="train-0", ended_at=None).is_from_metrics
    assert clusters_by_metrics(NOW + timedelta(minutes=14)) == []
    assert look_at_metrics(cluster, NOW + timedelta(minutes=14)) == 0
    later = NOW + timedelta(minutes=16)
    assert clusters_by_metrics(later) == [cluster]
    assert look_at_metrics(cluster, later) == 0, "the objects are newer than the scrape"
    ObservationRun.objects.filter(seen_at=NOW).update(seen_at=NOW - timedelta(hours=2))
    ObservationRun.objects.filter(kind="UnitWaitByMetrics").delete()
    assert look_at_metrics(cluster, later) > 0
    assert all(one.is_from_metrics for one in rows(later).values())


def test_metrics_show_who_waits_where_pods_may_not_be_listed(cluster: Cluster) -> None:
    """What the other objects explain stays; of one unit the objects win."""
    refused = api_job("train", namespace="vision", meta={"uid": "uid-train"})
    objects = {"Job": [refused, api_job("nightly")]}
    suspended = replace(
        read_world(objects, int(NOW.timestamp() * 1000), unread=["Pod", "Node"]),
        controllers=tuple(
            replace(one, is_suspended=True)
            for one in read_world(objects, 0).controllers
        ),
    )
    store_waits(cluster, suspended, NOW)
    found = rows(NOW)
    assert {name: (one.cause, one.is_from_metrics) for name, one in found.items()} == {
        "train": ("suspended", False),
        "nightly": ("suspended", False),
        "huge": ("too_big", True),
        "mig": ("resource_unknown", True),
        "later": ("suspended", True),
    }
    assert found["huge"].number == WaitRecord.objects.get(name="huge").pk
    assert found["train"].seen_at == NOW
    assert found["huge"].seen_at != NOW
    assert clusters_by_metrics(NOW) == [], "the observation of objects has it all"


def test_pages_and_rest_mark_what_is_from_metrics(cluster: Cluster) -> None:
    look_at_metrics(cluster, NOW)
    client = admin()
    page = html_of(client.get("/queues"))
    assert page.count("From metrics") == 4 + 4  # of each unit, and of each reason
    assert "It is suspended, by a person or a queue" in page
    number = WaitRecord.objects.get(name="train").pk
    unit = html_of(client.get(f"/queues/{number}"))
    assert "From metrics" in unit
    assert "The objects of this cluster are not observed" in " ".join(unit.split())
    assert "Nobody" not in unit
    for noun, count in (("waiting", 4), ("queued-units", 4)):
        listed = client.get(f"/api/v1/{noun}").json()["rows"]
        assert [one["from_metrics"] for one in listed] == [True] * count
