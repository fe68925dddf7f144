"""The story's organization with quotas on the demo's API server."""

import copy
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from accounting.metering.models.cluster import Cluster, NodeFact
from portal.demo.kube_api.server import serving
from portal.demo.kube_api.store import Store
from portal.demo.kube_api.users import User
from tests.control_plane.server import ADMIN
from tests.control_plane.world import simulated_world
from tests.integration.changes.office import Office, quota, tier
from tests.story import TEAMS, Story

GPUS = {"vision": 24, "search": 12, "language": 30}
NODES, PER_NODE = 12, 8


@contextmanager
def desk_of(story: Story, folder: Path, store: Store | None = None) -> Iterator[Office]:
    """Three teams with quotas, three tiers, and the worker at hand."""
    users = {ADMIN: User("admin", is_admin=True)}
    with serving(store or Store(), users) as api:
        world = simulated_world(api.url, folder, "scratch")
        for slug, *_ in TEAMS:
            world.admin.make_namespace(f"{slug}-prod")
        for number in range(1, NODES + 1):
            world.admin.make_node(f"gpu-{number:02d}", **{"nvidia.com/gpu": PER_NODE})
        NodeFact.objects.update(capacity={"nvidia_com_gpu": PER_NODE})
        story.cluster.kubernetes = world.settings
        story.cluster.save(update_fields=["kubernetes"])
        office = Office(world, story.cluster)
        office.applied(
            *(quota(gpus, team) for team, gpus in GPUS.items()),
            tier("urgent", 50_000),
            tier("batch", 1_000, is_default=True, description="queued training"),
        )
        yield office
        story.cluster.kubernetes = {}
        story.cluster.save(update_fields=["kubernetes"])


@contextmanager
def desks_of(
    story: Story, folder: Path
) -> Iterator[Callable[[], AbstractContextManager[Office]]]:
    """The same desk again and again, as it was at first; to apply its quotas takes long.

    What is in the database of a test is rolled back with its transaction.
    """
    store = Store()
    with desk_of(story, folder, store) as office:
        at_first = copy.deepcopy(_contents(store))

        @contextmanager
        def again() -> Iterator[Office]:
            try:
                yield Office(office.world, Cluster.objects.get(pk=story.cluster.pk))
            finally:
                with store.changed:
                    vars(store).update(copy.deepcopy(at_first))

        yield again


def _contents(store: Store) -> dict[str, Any]:
    """What a store has, without its lock."""
    return {name: value for name, value in vars(store).items() if name != "changed"}
