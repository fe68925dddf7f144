"""What waits and why, from a real scheduler, job controller and API server to the rows."""

from dataclasses import replace
from datetime import timedelta

import pytest

from accounting.access.models.teams import Team
from accounting.access.scope import EVERYTHING, Scope
from scheduler_view.clusters.models import ObservationRun
from scheduler_view.queues.models.queues import PoolSample
from scheduler_view.queues.tasks.look import (
    look_at_waits,
    observe_once,
    watched_each_minute,
)
from scheduler_view.waits.models import UnitWait, WaitRecord
from scheduler_view.waits.reads.waiting_row import WaitingUnitRow
from scheduler_view.waits.reads.waiting_units import waiting_rows
from tests.control_plane.world import GPU_KEY, World
from tests.integration.changes.conftest import office_of
from tests.integration.changes.office import Office
from tests.processes import wait_until

pytestmark = [pytest.mark.control_plane, pytest.mark.timeout(180)]
RESOURCE = "nvidia.com/gpu"


@pytest.fixture
def office(real: World, db: None) -> Office:
    """Two namespaces and a node of two GPUs that only this test's pods may have."""
    del db
    real.admin.wait_alone()
    real.admin.make_node(f"{real.name}-n", nvidia_com__gpu=2)
    return office_of(real)


def over_quota(office: Office, namespace: str) -> None:
    """A Job whose pods a quota refuses, as its controller's event says."""
    admin = office.world.admin
    admin.make_quota(namespace, "theirs", {GPU_KEY: "1"})
    wait_until(lambda: GPU_KEY in admin.used(namespace, "theirs"), 30)
    resources = {"limits": {RESOURCE: "2"}}
    body = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "nightly"},
        "spec": {
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [
                        {"name": "main", "image": "none", "resources": resources}
                    ],
                }
            }
        },
    }
    admin.create(f"/apis/batch/v1/namespaces/{namespace}/jobs", body)
    events = f"/api/v1/namespaces/{namespace}/events?fieldSelector=reason=FailedCreate"
    wait_until(lambda: bool(admin.get(events)["items"]), 30)


def test_each_reason_comes_from_the_cluster_itself(office: Office) -> None:
    admin, own = office.world.admin, office.world.name
    other = f"{own}-b"
    admin.make_pod(own, "large", 90)
    admin.make_pod(
        own, "gated", 1, schedulingGates=[{"name": "kueue.x-k8s.io/admission"}]
    )
    over_quota(office, other)

    def rows() -> dict[str, WaitingUnitRow]:
        ObservationRun.objects.filter(kind="UnitWait").delete()  # once a minute else
        observe_once(office.cluster, now=office.now)
        return {r.name: r for r in waiting_rows(EVERYTHING, office.now())}

    wait_until(lambda: rows()["large"].stage == "unschedulable", 60)
    found = rows()
    large, gated, nightly = found["large"], found["gated"], found["nightly"]
    assert f"Insufficient {RESOURCE}" in large.message
    assert large.cause == "too_big"
    assert (large.team, large.kind, dict(large.requested)) == (
        "vision",
        "Pod",
        {RESOURCE: 90},
    )
    assert large.since is not None
    assert office.now() - large.since < timedelta(minutes=5)
    assert (gated.stage, gated.cause) == ("held_back", "queue")
    assert (nightly.cause, nightly.kind, nightly.team) == ("quota", "Job", "speech")
    assert dict(nightly.requested) == {RESOURCE: 2}
    assert "exceeded quota: theirs" in nightly.message
    assert not ObservationRun.objects.exclude(error="").exists()

    speech = Scope(frozenset({Team.objects.get(slug="speech").pk}))
    assert [row.name for row in waiting_rows(speech, office.now())] == ["nightly"]
    assert waiting_rows(Scope(frozenset()), office.now()) == []
    assert nightly.starts_if[0] == {
        "change": "raise_quota", "quota": f"{other}/theirs", "key": GPU_KEY, "to": 2,
    }  # fmt: skip
    before = UnitWait.objects.get(name="gated")
    again = rows()["gated"]
    assert again == replace(gated, seen_at=again.seen_at)
    assert UnitWait.objects.get(name="gated").changed_at == before.changed_at

    admin.delete(f"/api/v1/namespaces/{own}/pods/large")
    wait_until(lambda: "large" not in rows(), 30)

    records = WaitRecord.objects.filter(ended_at=None)
    gated_wait = records.get(name="gated")
    assert gated_wait.created_at is not None
    assert (gated_wait.admitted_at, gated_wait.is_held) == (None, True)
    assert WaitRecord.objects.get(name="large").ended_at is not None
    ObservationRun.objects.filter(kind="UnitWait").delete()
    assert watched_each_minute() == [office.cluster]
    look_at_waits(office.cluster, now=office.now)
    pool = PoolSample.objects.filter(resource=RESOURCE).latest("since")
    assert (pool.refused, pool.held_back) == (2, 1)
    assert ObservationRun.objects.filter(kind="UnitWait", error="").exists()
