"""A real API server that knows the objects of Kueue, Volcano and KAI."""

from collections.abc import Iterator

import pytest

from tests.control_plane import queue_definitions
from tests.control_plane.admin import Admin
from tests.control_plane.server import ADMIN, ControlPlane
from tests.control_plane.world import World
from tests.integration.changes.conftest import office_of
from tests.integration.changes.office import Office
from tests.integration.clusters.client.conftest import real as real  # noqa: PLC0414
from tests.integration.clusters.schedulers.queues import QueueOffice, paths


def admin_of(plane: ControlPlane) -> Admin:
    return Admin(plane.url, ADMIN, str(plane.ca_file))


@pytest.fixture(scope="module")
def definitions(whole_cluster: ControlPlane) -> Iterator[None]:
    """All definitions; the test carries the mark `control_plane`."""
    found = [
        *queue_definitions.kueue(),
        *queue_definitions.volcano(),
        *queue_definitions.kai(),
    ]
    with queue_definitions.installed(admin_of(whole_cluster), found):
        yield


@pytest.fixture
def queues(definitions: None, real: World, db: None) -> Iterator[QueueOffice]:
    """People at work in such a cluster; its queues are removed afterwards."""
    del definitions, db
    yield QueueOffice(office_of(real))
    for path in paths().values():
        for one in real.admin.get(path)["items"]:
            namespace = one["metadata"].get("namespace")
            name = one["metadata"]["name"]
            real.admin.delete(
                f"{path}/{name}"
                if namespace is None
                else path.replace("/localqueues", "")
                + f"/namespaces/{namespace}/localqueues/{name}"
            )


@pytest.fixture
def office(real: World, db: None) -> Office:
    """A cluster without any of them."""
    del db
    return office_of(real)
