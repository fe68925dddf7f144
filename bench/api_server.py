"""A real API server for K1 and K2, with the product's client."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests import programs
from tests.control_plane.server import control_plane
from tests.control_plane.world import World, world_of


@contextmanager
def bench_world(goal: str) -> Iterator[World | None]:
    """A separate cluster for a goal; None, with a message, if it cannot run here."""
    if why := programs.obstacle({"api_server"}):
        print(f"skipped {goal}: {why}")
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        plane = Path(folder) / "plane"
        plane.mkdir()
        with control_plane(plane, is_whole=False) as server:
            yield world_of(server, Path(folder), f"bench-{goal.lower()}")
