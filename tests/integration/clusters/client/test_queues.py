"""Queues of Kueue beside quotas: LocalQueues from a real API server, figures from metrics.

The definition of LocalQueues is the least that such a server takes; Kueue itself is not run.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from accounting.access.models.teams import Team
from accounting.access.scope import EVERYTHING
from accounting.kit.serializers.declared import serializer_of
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.queue import QueueSample
from scheduler_view.clusters.models import Observation, ObservationRun
from scheduler_view.queues.tasks.look import observe_once
from scheduler_view.quotas.models import QuotaTarget
from scheduler_view.quotas.reads.queue_borrowing import served
from scheduler_view.quotas.reads.quotas import QuotaRow, quota_rows
from tests.control_plane.admin import RefusedByServer
from tests.control_plane.world import World
from tests.integration.changes.conftest import office_of
from tests.integration.changes.office import Office
from tests.processes import wait_until

pytestmark = pytest.mark.control_plane
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
RESOURCE = "nvidia.com/gpu"
AT_MS = 1_790_848_800_000


def definition(version: str) -> dict[str, object]:
    """LocalQueues of one version."""
    anything = {
        "openAPIV3Schema": {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
        }
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": "localqueues.kueue.x-k8s.io",
            "annotations": {"api-approved.kubernetes.io": "unapproved, of a test"},
        },
        "spec": {
            "group": "kueue.x-k8s.io",
            "scope": "Namespaced",
            "names": {
                "plural": "localqueues",
                "singular": "localqueue",
                "kind": "LocalQueue",
            },
            "versions": [
                {"name": version, "served": True, "storage": True, "schema": anything}
            ],
        },
    }


@pytest.fixture(params=["v1beta2", "v1beta1"])
def kueue(
    request: pytest.FixtureRequest, real: World, db: None
) -> Iterator[tuple[Office, str]]:
    """A cluster that knows LocalQueues; its address of them."""
    del db
    office, version = office_of(real), request.param
    real.admin.create(CRDS, definition(version))
    path = f"/apis/kueue.x-k8s.io/{version}/namespaces/{{}}/localqueues"

    def answers() -> bool:
        try:
            real.admin.get(path.format(real.name))
        except (RefusedByServer, ValueError):  # no such group: plain text
            return False
        return True

    wait_until(answers, 30)
    yield office, path
    real.admin.delete(f"{CRDS}/localqueues.kueue.x-k8s.io")
    wait_until(lambda: not answers(), 30)


def send(kueue: tuple[Office, str], namespace: str, queue: str) -> None:
    """A namespace sends its work to a ClusterQueue."""
    office, path = kueue
    version = path.split("/")[3]
    body = {
        "apiVersion": f"kueue.x-k8s.io/{version}",
        "kind": "LocalQueue",
        "metadata": {"name": f"to-{queue}"},
        "spec": {"clusterQueue": queue},
    }
    office.world.admin.create(path.format(namespace), body)


def figures(cluster: Cluster, queue: str, **values: float | None) -> None:
    """What Kueue's metrics said of a ClusterQueue."""
    for field, value in values.items():
        QueueSample.objects.create(
            cluster=cluster,
            scheduler="kueue",
            queue=queue,
            resource=RESOURCE,
            field=field,
            part="",
            value=value,
            at_ms=AT_MS,
        )


def test_what_a_teams_own_queue_borrows_stands_beside_its_quota(
    kueue: tuple[Office, str],
) -> None:
    office, _ = kueue
    own, other = office.world.name, f"{office.world.name}-b"
    for team, place in (("vision", own), ("speech", other)):
        QuotaTarget.objects.create(
            cluster=office.cluster,
            team=Team.objects.get(slug=team),
            resource=RESOURCE,
            gpus=8,
            split={place: 8},
            version=1,
        )
    send(kueue, own, "vision-cq")
    send(kueue, own, "shared")
    send(kueue, other, "shared")
    figures(office.cluster, "vision-cq", quota=4, used=7, pending=5)
    figures(office.cluster, "shared", quota=4, used=9, pending=2)
    observe_once(office.cluster, now=office.now)
    assert served(office.cluster.pk) == {
        ("kueue", "vision-cq"): {own},
        ("kueue", "shared"): {own, other},
    }
    rows = {row.team: row for row in quota_rows(EVERYTHING, datetime.now(UTC))}
    vision = serializer_of(QuotaRow).one(rows["vision"])
    assert (vision["borrowed"], vision["queued"]) == (3, 5)
    assert vision["queues"] == ["vision-cq"]
    speech = serializer_of(QuotaRow).one(
        rows["speech"]
    )  # the shared queue is nobody's alone
    assert (speech["borrowed"], speech["queued"], speech["queues"]) == (None, None, [])


def test_a_cluster_without_kueue_has_no_queue_and_no_fault(
    real: World, db: None, tmp_path: Path
) -> None:
    del db, tmp_path
    office = office_of(real)
    seen = observe_once(office.cluster, now=office.now)
    assert not seen.errors
    assert served(office.cluster.pk) == {}
    assert not Observation.objects.filter(kind="LocalQueue").exists()
    assert not ObservationRun.objects.filter(kind="LocalQueue").exists()
