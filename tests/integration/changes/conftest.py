"""An organization whose teams have namespaces on a real API server (or the demo's)."""

import contextlib
from collections.abc import Iterator

import pytest

from accounting.access.models.billing import Billing
from accounting.access.models.teams import Binding, BindingKind, Team
from accounting.metering.models.cluster import Cluster
from scheduler_view.changes.models import ChangeSet
from tests.control_plane.admin import RefusedByServer, class_path
from tests.control_plane.world import World
from tests.integration.changes.office import EPOCH, Office
from tests.integration.clusters.client.conftest import real as real  # noqa: PLC0414
from tests.integration.clusters.client.conftest import simulated_api as simulated_api  # noqa: PLC0414
from tests.integration.clusters.client.conftest import world as world  # noqa: PLC0414
from tests.integration.quotas.conftest import desk as desk  # noqa: PLC0414
from tests.integration.quotas.conftest import desks as desks  # noqa: PLC0414


def office_of(world: World) -> Office:
    """Team vision has the world's namespace, team speech a second one."""
    cluster = Cluster.objects.create(name=world.name, kubernetes=world.settings)
    Billing.objects.create(currency="EUR", timezone="Europe/Berlin", valid_from=EPOCH)
    second = f"{world.name}-b"
    world.admin.make_namespace(second)
    for position, (slug, name) in enumerate(
        {"vision": world.name, "speech": second}.items()
    ):
        team = Team.objects.create(slug=slug, name=slug.title())
        Binding.objects.create(
            kind=BindingKind.NAMESPACE,
            glob=name,
            team=team,
            position=position,
            valid_from=EPOCH,
        )
    return Office(world, cluster)


@pytest.fixture
def office(real: World, db: None) -> Iterator[Office]:
    """On the real API server; the test carries the mark `control_plane`."""
    del db
    yield office_of(real)
    _remove_classes(real)


@pytest.fixture
def both(world: World, db: None) -> Iterator[Office]:
    """On the real API server and on the demo's in turn."""
    del db
    yield office_of(world)
    _remove_classes(world)


def _remove_classes(world: World) -> None:
    """Cluster-wide objects outlive a namespace: the next test must not meet them."""
    found = ChangeSet.objects.values_list("steps__kind", "steps__name").distinct()
    for name in {name for kind, name in found if kind == "PriorityClass"}:
        with contextlib.suppress(RefusedByServer):
            world.admin.delete(class_path(name))
