"""Worlds: the real API server and the demo's, one namespace a test."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from portal.demo.kube_api.server import serving
from portal.demo.kube_api.store import Store
from portal.demo.kube_api.users import User
from tests.control_plane.server import ADMIN
from tests.control_plane.world import World, shared_world, simulated_world

BOTH = [pytest.param("real", marks=pytest.mark.control_plane), "simulated"]


@pytest.fixture(params=BOTH)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    """Each server in turn: what holds for one holds for the other."""
    if request.param == "real":
        found: World = request.getfixturevalue("real")
        return found
    name = f"t-{uuid.uuid4().hex[:10]}"
    return simulated_world(request.getfixturevalue("simulated_api"), tmp_path, name)


@pytest.fixture
def real(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """The real server; the test carries the mark `control_plane`."""
    with shared_world(request.getfixturevalue("whole_cluster"), tmp_path) as found:
        yield found


@pytest.fixture(scope="session")
def simulated_api() -> Iterator[str]:
    """The demo's API server; its address."""
    users = {ADMIN: User("admin", is_admin=True), "stranger-token": User("stranger")}
    with serving(Store(), users) as api:
        yield api.url
