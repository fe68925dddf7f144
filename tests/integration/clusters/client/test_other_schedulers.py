"""Clusters whose Kueue has only the older version of its API, or no scheduler of queues at all."""

from collections.abc import Iterator

import pytest

from scheduler_view.clusters.models import Observation, ObservationRun
from scheduler_view.queues.tasks.look import observe_once
from tests.control_plane import queue_definitions
from tests.control_plane.world import World
from tests.integration.changes.conftest import office_of
from tests.integration.changes.office import Office
from tests.integration.clusters.schedulers.queues import groups, nominal

pytestmark = pytest.mark.control_plane
OLD = "/apis/kueue.x-k8s.io/v1beta1"


@pytest.fixture
def old_kueue(real: World, db: None) -> Iterator[Office]:
    """A cluster whose Kueue has only v1beta1."""
    del db
    with queue_definitions.installed(real.admin, queue_definitions.kueue("v1beta1")):
        yield office_of(real)
        for one in real.admin.get(f"{OLD}/clusterqueues")["items"]:
            real.admin.delete(f"{OLD}/clusterqueues/{one['metadata']['name']}")


def test_a_cluster_with_the_older_version_is_changed_in_it(old_kueue: Office) -> None:
    admin, name = old_kueue.world.admin, f"{old_kueue.world.name}-cq"
    body = {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "ClusterQueue",
        "metadata": {"name": name},
        "spec": {"cohort": "all", "resourceGroups": groups()},
    }
    admin.create(f"{OLD}/clusterqueues", body)
    old_kueue.applied(nominal(name, 12))
    live = admin.get(f"{OLD}/clusterqueues/{name}")
    assert live["spec"]["resourceGroups"] == groups("12")
    assert live["spec"]["cohort"] == "all"
    seen = Observation.objects.get(kind="ClusterQueue", name=name)
    assert seen.manifest["spec"]["cohort"] == "all"


@pytest.mark.django_db
def test_a_cluster_without_schedulers_stores_nothing_of_them(real: World) -> None:
    office = office_of(real)
    observe_once(office.cluster, now=office.now)
    kinds = ("ClusterQueue", "Cohort", "WorkloadPriorityClass", "VolcanoQueue")
    assert not ObservationRun.objects.filter(kind__in=kinds).exists()
    planned = office.planned(nominal("vision", 4))
    assert "the cluster has no ClusterQueue 'vision'" in planned.error
