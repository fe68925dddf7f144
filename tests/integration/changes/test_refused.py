"""A pusher that the cluster refuses on one object: shown per object, in the server's words.

The manifests of `deploy/rbac` are in force on the real API server, and the portal is their
pusher. What they refuse to the client: `tests/integration/clusters/client/test_rbac.py`.
"""

from pathlib import Path
from typing import Any

import pytest

from accounting.access.models.billing import Billing
from scheduler_view.changes.actions.change_sets import ChangeRefused, again
from scheduler_view.changes.models import ChangeSet, StepState
from scheduler_view.clusters.client.access import AccessRole
from scheduler_view.clusters.client.errors import Forbidden
from scheduler_view.clusters.tasks.cluster_connection import connect_to
from tests.control_plane.rbac import token_of
from tests.control_plane.server import ControlPlane
from tests.control_plane.world import GPU_KEY, World
from tests.control_plane.world import quota as quota_body
from tests.integration.changes.agreement import agree, somebody
from tests.integration.changes.conftest import office_of
from tests.integration.changes.office import REASON, Office, quota, tier
from tests.integration.clusters.client.test_rbac import guarded as guarded  # noqa: PLC0414
from tests.integration.faults.support import environment, process, started
from tests.page_html import html_of
from tests.processes import wait_until

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.control_plane,
    pytest.mark.redis,
    pytest.mark.timeout(300),
]


@pytest.fixture
def place(
    guarded: ControlPlane, real: World, transactional_db: None, tmp_path: Path
) -> Office:
    """Vision and speech; reader and pusher are what the manifests give us."""
    del guarded, transactional_db
    Billing.objects.all().delete()
    office = office_of(real)
    settings: dict[str, Any] = {}
    for role in ("reader", "pusher"):
        path = tmp_path / f"{role}.token"
        path.write_text(token_of(real.admin, role))
        settings[role] = real.settings[role] | {"token_file": str(path)}
    office.cluster.kubernetes = settings
    office.cluster.save()
    return office


def keep_out(office: Office, namespace: str) -> None:
    """Its owner labels a namespace, and the policy follows."""
    change = {"metadata": {"labels": {"gpu-ledger/managed": "false"}}}
    office.world.admin.edit(f"/api/v1/namespaces/{namespace}", change)
    wait_until(lambda: _is_kept_out(office, namespace), 30)


def _is_kept_out(office: Office, namespace: str) -> bool:
    with connect_to(office.cluster, AccessRole.PUSHER) as client:
        try:
            client.apply(quota_body(namespace, {GPU_KEY: "1"}), dry_run=True)
        except Forbidden:
            return True
    return False


def let_in(office: Office, namespace: str) -> None:
    change = {"metadata": {"labels": {"gpu-ledger/managed": None}}}
    office.world.admin.edit(f"/api/v1/namespaces/{namespace}", change)
    wait_until(lambda: not _is_kept_out(office, namespace), 30)


def change_file(office: Office, path: Path) -> Path:
    path.write_text(f"""
cluster: {office.world.name}
reason: Both teams get what they asked for.
quotas:
  - {{team: vision, resource: nvidia.com/gpu, gpus: 4}}
  - {{team: speech, resource: nvidia.com/gpu, gpus: 6}}
""")
    return path


def has_sent_one() -> bool:
    return ChangeSet.objects.filter(steps__state=StepState.SENT).exists()


def test_one_of_two_objects_is_refused_and_everybody_is_told(
    place: Office, tmp_path: Path, redis_url: str
) -> None:
    other = f"{place.world.name}-b"
    message = f"namespace {other} is labelled gpu-ledger/managed=false"
    path = change_file(place, tmp_path / "change.yaml")
    changed = tmp_path / "changed"  # the cluster, between plan and apply
    held = environment(redis_url, f"step_marked:until:{changed}")
    with started(held, "change_set", "apply", path) as child:
        wait_until(has_sent_one, 60)
        keep_out(place, other)
        changed.touch()
        said, complaint = child.communicate(timeout=120)
    change_set = ChangeSet.objects.get()
    assert child.returncode == 1, complaint
    assert message in said  # beside its object
    assert "is partly applied: 1 refused, first" in complaint
    assert change_set.state == "partly_applied"
    found = {step.namespace: step for step in change_set.steps.all()}
    assert found[place.world.name].state == "applied"
    assert (found[other].state, found[other].code) == ("refused", 403)
    assert message in found[other].message

    with somebody() as client:
        page = html_of(client.get(f"/changes/{change_set.pk}"))
        rest = client.get(f"/api/v1/change-sets/{change_set.pk}").json()
        listed = client.get("/api/v1/change-sets").json()["rows"][0]
    assert ">Applied<" in page
    assert ">Refused<" in page
    assert message in page
    assert "403: " in page
    assert (rest["state"], rest["steps_applied"], rest["steps_refused"]) == (
        "partly_applied",
        1,
        1,
    )
    steps = {step["namespace"]: step for step in rest["steps"]}
    assert (steps[other]["code"], message in steps[other]["message"]) == (403, True)
    assert steps[place.world.name]["state"] == "applied"
    assert (listed["state"], listed["steps_refused"]) == ("partly_applied", 1)
    rows = {row["team"]: row for row in agree(place)}
    assert rows["vision"]["sync"] == "in_sync"
    assert (rows["speech"]["sync"], rows["speech"]["live"]) == (
        "differs",
        {other: None},
    )

    planned = process(environment(redis_url), "change_set", "plan", path)
    assert planned.returncode == 1
    assert message in planned.stdout  # the dry run was refused in the same words
    refused = process(environment(redis_url), "change_set", "apply", path)
    assert refused.returncode == 1
    assert message in refused.stderr

    let_in(place, other)
    rest_of_it = again(change_set, actor="ana", reason=REASON, at=place.now())
    place.apply(place.approve(place.plan(rest_of_it)))
    states = {step.namespace: step.state for step in rest_of_it.steps.all()}
    assert states == {place.world.name: "unchanged", other: "applied"}
    assert place.hard(other) == {GPU_KEY: "6"}
    agree(place)


def test_what_a_dry_run_refuses_is_planned_with_the_words_and_not_sent(
    place: Office,
) -> None:
    name = f"{place.world.name}-high"
    change_set = place.planned(quota(4), tier(name, 100_001))
    assert change_set.state == "planned", change_set.error
    blocked = {step.kind: step for step in change_set.steps.all() if step.blocked}
    assert list(blocked) == ["PriorityClass"]
    message = "may set priorities up to 100000, not 100001"
    assert blocked["PriorityClass"].code == 403
    assert message in blocked["PriorityClass"].message
    with somebody() as client:
        page = html_of(client.get(f"/changes/{change_set.pk}"))
        rest = client.get(f"/api/v1/change-sets/{change_set.pk}").json()
    assert "Cannot be applied" in page
    assert "Accepted in a dry run" in page
    assert message in page
    assert [
        message in step["message"] for step in rest["steps"] if step["blocked"]
    ] == [True]
    with pytest.raises(ChangeRefused, match="1 of its objects cannot be changed"):
        place.approve(change_set)
    assert not place.has_quota()
