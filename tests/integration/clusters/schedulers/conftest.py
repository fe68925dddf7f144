"""A real API server that knows the objects of Kueue, Volcano and KAI."""

from collections.abc import Iterator

import pytest

from tests.control_plane import queue_definitions
from tests.control_plane.admin import Admin
from tests.control_plane.server import ADMIN, ControlPlane
from tests.control_plane.world import World
from tests.integration.changes.conftest import office_of
from tests.integration.clusters.client.conftest import real as real  # noqa: PLC0414
from tests.integration.clusters.schedulers.queues import KUEUE, QueueOffice, paths

WORK = (
    f"{KUEUE}/workloads",
    "/apis/scheduling.volcano.sh/v1beta1/podgroups",
    "/apis/scheduling.run.ai/v2alpha2/podgroups",
)
"""What work leaves: it would wait in later tests of the folder."""


def admin_of(plane: ControlPlane) -> Admin:
    return Admin(plane.url, ADMIN, str(plane.ca_file))


@pytest.fixture(scope="package")
def definitions(whole_cluster: ControlPlane) -> Iterator[None]:
    """All definitions, for the tests of this folder: to make and remove them takes seconds.

    The test carries the mark `control_plane`. One that needs a cluster without them is elsewhere.
    """
    found = [
        *queue_definitions.kueue(),
        *queue_definitions.volcano(),
        *queue_definitions.kai(),
    ]
    with queue_definitions.installed(admin_of(whole_cluster), found):
        yield


@pytest.fixture
def queues(definitions: None, real: World, db: None) -> Iterator[QueueOffice]:
    """People at work in such a cluster; its queues and their work are removed afterwards."""
    del definitions, db
    yield QueueOffice(office_of(real))
    for path in (*paths().values(), *WORK):
        for one in real.admin.get(path)["items"]:
            root, _, kind = path.rpartition("/")
            meta = one["metadata"]
            place = f"/namespaces/{meta['namespace']}" if "namespace" in meta else ""
            real.admin.delete(f"{root}{place}/{kind}/{meta['name']}")
