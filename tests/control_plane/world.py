"""One API server as a test sees it: our door to it, and what others do to it."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scheduler_view.clusters.client.access import AccessRole, ClusterAccess
from scheduler_view.clusters.client.client import ClusterClient, connect
from scheduler_view.clusters.rules.live_objects import CLASS, OWNER, OWNER_LABEL, QUOTA
from tests.control_plane.admin import Admin
from tests.control_plane.server import ADMIN, ControlPlane

GPU_KEY = "requests.nvidia.com/gpu"


@dataclass(frozen=True, slots=True)
class World:
    """A server, a folder for credentials, and a name of one's own in it.

    Attributes:
        name: of a namespace that was made for this test, and the beginning of the
            names of its cluster-wide objects.
        settings: what `Cluster.kubernetes` says for the reader and the pusher.
    """

    url: str
    ca_file: str
    folder: Path
    name: str
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def admin(self) -> Admin:
        return Admin(self.url, ADMIN, self.ca_file)

    def client(
        self, token: str = ADMIN, *, url: str = "", timeout_s: float = 10.0
    ) -> ClusterClient:
        """Our door, as the user of a token, e.g. by way of a proxy at `url`."""
        path = self.folder / f"token-{token}"
        path.write_text(token)
        access = ClusterAccess(
            "test",
            AccessRole.PUSHER,
            server=url or self.url,
            token_file=str(path),
            ca_file=self.ca_file,
            timeout_s=timeout_s,
        )
        return connect(access)


@contextmanager
def shared_world(plane: ControlPlane, folder: Path) -> Iterator[World]:
    """A real server that other tests use too, with a new namespace; its work ends with the test.

    Namespaces stay, empty: to delete one takes the controllers some hundred requests.
    """
    world = world_of(plane, folder, f"t-{uuid.uuid4().hex[:10]}")
    try:
        yield world
    finally:
        world.admin.end_work(world.name)


def world_of(plane: ControlPlane, folder: Path, name: str) -> World:
    """A real server, with a new namespace."""
    return _world(plane.url, str(plane.ca_file), folder, name)


def _world(url: str, ca_file: str, folder: Path, name: str) -> World:
    token = folder / "token"
    token.write_text(ADMIN)
    access = {"server": url, "token_file": str(token)}
    access |= {"ca_file": ca_file} if ca_file else {}
    settings = {"reader": access, "pusher": access}
    world = World(url, ca_file, folder, name, settings)
    world.admin.make_namespace(name)
    return world


def simulated_world(url: str, folder: Path, name: str) -> World:
    """The demo's API server, with a new namespace."""
    return _world(url, "", folder, name)


def quota(namespace: str, hard: dict[str, str], name: str = "gpu-ledger") -> Any:
    """What the portal applies."""
    meta = {"name": name, "namespace": namespace, "labels": {OWNER_LABEL: OWNER}}
    return {
        "apiVersion": "v1",
        "kind": QUOTA,
        "metadata": meta,
        "spec": {"hard": hard},
    }


def priority_class(name: str, value: int, **more: Any) -> Any:
    """What the portal applies."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": CLASS,
        "metadata": {"name": name, "labels": {OWNER_LABEL: OWNER}},
        "value": value,
        **more,
    }
