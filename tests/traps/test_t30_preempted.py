"""T30 d: a preemption is known when its event and its pod are gone.

A real scheduler preempts; the events that an hour takes away are removed by hand.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accounting.access.models.teams import Team
from scheduler_view.clusters.models import Observation, ObservationRun, Preemption
from scheduler_view.clusters.tasks.preemptions import note_preemptions
from scheduler_view.queues.tasks.look import observe_once
from scheduler_view.waits.reads.preempted import preempted_rows
from tests.control_plane.server import ControlPlane
from tests.control_plane.world import shared_world
from tests.integration.changes.conftest import office_of
from tests.integration.changes.office import Office
from tests.processes import wait_until

pytestmark = pytest.mark.control_plane


@pytest.fixture
def office(whole_cluster: ControlPlane, tmp_path: Path, db: None) -> Iterator[Office]:
    """A namespace with one node of one GPU."""
    del db
    with shared_world(whole_cluster, tmp_path) as world:
        node = f"{world.name}-n"
        world.admin.wait_alone()
        world.admin.make_node(node, nvidia_com__gpu=1)
        world.admin.wait_node(node)
        yield office_of(world)


def preempt(office: Office) -> tuple[str, str]:
    """A pod pushes another out; uids of the one that went and the one that came."""
    admin, name = office.world.admin, office.world.name
    place = {"nodeSelector": {"kubernetes.io/hostname": f"{name}-n"}}
    old = admin.make_pod(name, "old", 1, **place)
    wait_until(lambda: admin.phase(name, "old") == "Running", 60)
    urgent = "system-node-critical"
    new = admin.make_pod(name, "new", 1, priorityClassName=urgent, **place)
    wait_until(lambda: admin.phase(name, "new") == "Running", 60)
    return old["metadata"]["uid"], new["metadata"]["uid"]


def forget(office: Office) -> None:
    """What the API server does an hour later."""
    events = f"/api/v1/namespaces/{office.world.name}/events"

    def found() -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = office.world.admin.get(events)["items"]
        return items

    # the scheduler sends it after the pod that came is running already
    wait_until(lambda: any(one["reason"] == "Preempted" for one in found()), 60)
    for one in found():
        office.world.admin.delete(f"{events}/{one['metadata']['name']}")


def test_t30d_a_preemption_outlives_its_event(office: Office) -> None:
    victim, winner = preempt(office)
    observe_once(office.cluster, now=office.now)
    row = Preemption.objects.get(pod_uid=victim)
    assert winner in row.message
    forget(office)
    observe_once(office.cluster, now=office.now)

    assert Preemption.objects.get(pod_uid=victim) == row
    vision = Team.objects.get(slug="vision").pk
    [shown] = preempted_rows(vision, office.now())
    assert (shown.pod, shown.namespace) == ("old", office.world.name)
    assert shown.message == row.message
    assert preempted_rows(Team.objects.get(slug="speech").pk, office.now()) == []


def test_t30d_the_victim_is_known_by_its_condition_alone(office: Office) -> None:
    """Events may be lost, or not ours to read."""
    victim, _ = preempt(office)
    forget(office)
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "PreemptionByScheduler",
    }
    Observation.objects.create(
        cluster=office.cluster,
        kind="Pod",
        namespace="elsewhere",
        name="gone",
        uid="uid-gone",
        manifest={"metadata": {}, "status": {"conditions": [condition]}},
        changed_at=office.now(),
    )
    with office.world.client() as client:
        note_preemptions(office.cluster, client)
        note_preemptions(office.cluster, client)
    here = ("elsewhere", office.world.name)  # other tests' namespaces have events too
    [row] = Preemption.objects.filter(namespace__in=here)
    assert (row.pod_uid, row.message) == ("uid-gone", "")
    assert row.pod_uid != victim
    assert not ObservationRun.objects.exclude(error="").exists()
