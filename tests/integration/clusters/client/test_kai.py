"""Queues of KAI, as objects of a real API server and of the demo's.

The definition is the least that a real server takes; KAI itself is not run. The shapes of
the objects are those of its custom resource definition.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from scheduler_view.clusters.models import Observation, ObservationRun
from scheduler_view.queues.tasks.look import observe_once
from scheduler_view.waits.reads.scheduler_queues import all_queue_rows
from tests.control_plane.admin import RefusedByServer
from tests.control_plane.world import World
from tests.integration.changes.conftest import office_of
from tests.integration.changes.office import Office
from tests.integration.metering.support import report
from tests.processes import wait_until

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
QUEUES = "/apis/scheduling.run.ai/v2/queues"
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def definition() -> dict[str, Any]:
    names = {"plural": "queues", "singular": "queue", "kind": "Queue"}
    version = {"name": "v2", "served": True, "storage": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "queues.scheduling.run.ai"},
        "spec": {
            "group": "scheduling.run.ai",
            "scope": "Cluster",
            "names": names,
            "versions": [version | {"schema": {"openAPIV3Schema": ANYTHING}}],
        },
    }


@pytest.fixture
def kai(world: World, db: None) -> Iterator[Office]:
    """A cluster that knows KAI's queues, and has none yet."""
    del db
    office, is_real = office_of(world), bool(world.ca_file)

    def answers() -> bool:
        try:
            world.admin.get(QUEUES)
        except (RefusedByServer, ValueError):  # no such group: plain text
            return False
        return True

    if is_real:
        world.admin.create(CRDS, definition())
        wait_until(answers, 30)
    yield office
    for one in world.admin.get(QUEUES)["items"]:
        world.admin.delete(f"{QUEUES}/{one['metadata']['name']}")
    if is_real:
        world.admin.delete(f"{CRDS}/queues.scheduling.run.ai")
        wait_until(lambda: not answers(), 30)


def queue(office: Office, name: str, gpu: dict[str, Any], **status: Any) -> None:
    """What KAI's people and its controller write."""
    body = {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"parentQueue": "all", "resources": {"gpu": gpu, "cpu": {"quota": -1}}},
        "status": status,
    }
    office.world.admin.create(QUEUES, body)


def shown(office: Office) -> dict[str, tuple[Any, ...]]:
    observe_once(office.cluster, now=office.now)
    rows = all_queue_rows(cluster=office.cluster.name)
    assert {row.facts.scheduler for row in rows} <= {"kai"}
    return {row.facts.queue: row.facts.figures[:5] for row in rows}


def test_queues_of_kai_stand_beside_the_others(kai: Office) -> None:
    queue(
        kai,
        "vision",
        {"quota": 4, "limit": 8, "overQuotaWeight": 1},
        allocated={"nvidia.com/gpu": "5500m", "cpu": "12"},
        requested={"nvidia.com/gpu": "9", "cpu": "12"},
    )
    queue(kai, "half", {"quota": 0.5, "limit": -1}, allocated={"nvidia.com/gpu": "0"})
    queue(kai, "open", {"quota": -1, "limit": -1})
    queue(kai, "odd", {"quota": "many"}, allocated={"nvidia.com/gpu": "x"})
    assert shown(kai) == {  # quota, may borrow, used, borrowed, pending
        "vision": (4, 4, 5.5, 1.5, 3.5),
        "half": (0.5, "unlimited", 0, 0, None),
        "open": ("unlimited", "unlimited", None, None, None),
        "odd": (None, None, 0, None, None),
    }
    rows = {row["queue"]: row for row in report("queues", cluster=kai.cluster.name)}
    assert (rows["vision"]["scheduler"], rows["vision"]["used"]) == ("kai", 5.5)
    assert rows["vision"]["sampled"] is not None
    kai.world.admin.delete(f"{QUEUES}/vision")
    assert "vision" not in shown(kai)
    assert not ObservationRun.objects.exclude(error="").exists()


@pytest.mark.control_plane
def test_a_cluster_without_kai_has_no_row_of_it(office: Office) -> None:
    observe_once(office.cluster, now=office.now)
    assert not Observation.objects.filter(kind="KaiQueue").exists()
    assert not ObservationRun.objects.filter(kind="KaiQueue").exists()


@pytest.fixture
def office(real: World, db: None) -> Office:
    """A real API server, which does not know KAI's queues."""
    del db
    return office_of(real)
