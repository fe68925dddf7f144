"""Who changes the control plane of recorded cases: two administrators, and workers with tokens.

The workers have the tokens of the two service accounts of `deploy/rbac`, as in production.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from accounting.access.models.billing import Billing
from accounting.access.models.teams import Binding, BindingKind, Team
from accounting.metering.actions.resources import set_resources
from accounting.metering.models.cluster import Cluster
from scheduler_view.clusters.client.access import AccessRole
from tests.control_plane.owned_objects import OwnedObjects
from tests.control_plane.rbac import token_of
from tests.control_plane.recorded_case import RecordedCase
from tests.control_plane.server import ControlPlane
from tests.control_plane.world import world_of
from tests.integration.changes.office import EPOCH, REASON, Office
from tests.processes import wait_until


def office_of_roles(plane: ControlPlane, folder: Path, name: str = "people") -> Office:
    """A cluster with an access for each role; every change needs a second administrator."""
    world = world_of(plane, folder, name)
    settings: dict[str, Any] = {"second_approver_above": 0}
    for role in AccessRole:
        token = folder / role.value
        token.write_text(token_of(world.admin, role.value))
        settings[role.value] = world.settings[role.value] | {"token_file": str(token)}
    cluster = Cluster.objects.create(name="live", kubernetes=settings)
    Billing.objects.create(currency="EUR", timezone="Europe/Berlin", valid_from=EPOCH)
    return Office(world, cluster)


def make_teams(office: Office, cases: Iterable[RecordedCase]) -> None:
    """The namespaces of cases, a team of each with its name, and their GPU resources."""
    found = list(cases)
    names = [name for case in found for name in case.namespaces]
    for position, name in enumerate(names):
        office.world.admin.make_namespace(name)
        Binding.objects.create(
            kind=BindingKind.NAMESPACE,
            glob=name,
            team=Team.objects.create(slug=name, name=name),
            position=position,
            valid_from=EPOCH,
        )
    resources = {one for case in found for one in case.resources.values()}
    set_resources(dict.fromkeys(resources, Fraction(1)), actor="ana", reason=REASON)


def make_owned(office: Office, owned: Sequence[OwnedObjects]) -> None:
    """One change set creates all that GPU Ledger owns; returns when the quotas count pods."""
    change_set = office.applied(*[edit for one in owned for edit in one.made])
    assert {step.action for step in change_set.steps.all()} == {"create"}
    for namespace, name in (key for one in owned for key in one.quotas):
        wait_until(partial(_is_counted, office, namespace, name), 30)


def _is_counted(office: Office, namespace: str, name: str) -> bool:
    """Whether the controller has counted the use of every key of a quota."""
    used = office.world.admin.used(namespace, name)
    return office.hard(namespace, name).keys() <= used.keys()
