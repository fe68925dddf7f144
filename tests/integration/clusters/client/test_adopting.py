"""Adopting as the two service accounts of deploy/rbac, with its policy in force."""

from collections.abc import Iterator
from typing import Any

import pytest

from scheduler_view.changes.models import ChangeSet
from scheduler_view.queues.tasks.look import observe_once
from scheduler_view.quotas.reads.limits.rows import not_read
from tests.control_plane.admin import class_path, quota_path
from tests.control_plane.rbac import apply_manifests, token_of
from tests.control_plane.server import ControlPlane
from tests.control_plane.world import GPU_KEY, World
from tests.integration.changes.agreement import somebody
from tests.integration.changes.conftest import office_of
from tests.integration.changes.office import Office, quota
from tests.integration.changes.test_given_back import content, undone
from tests.integration.metering.support import report

pytestmark = pytest.mark.control_plane
LABEL = {"metadata": {"labels": {"app.kubernetes.io/managed-by": "gpu-ledger"}}}


@pytest.fixture
def guarded(whole_cluster: ControlPlane, real: World, db: None) -> Iterator[Office]:
    """A quota beside ours, one with the name of ours, and a class, all made by kubectl."""
    del db
    apply_manifests(whole_cluster)
    office, name, admin = office_of(real), real.name, real.admin
    settings = {}
    for role in ("reader", "pusher"):
        path = real.folder / f"{role}.token"
        path.write_text(token_of(admin, role))
        settings[role] = {**real.settings[role], "token_file": str(path)}
    office.cluster.kubernetes = settings
    office.cluster.save()
    admin.make_quota(name, "compute", {GPU_KEY: "16"})
    admin.make_quota(f"{name}-b", "gpu-ledger", {GPU_KEY: "6", "pods": "50"})
    head = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    body = {**head, "metadata": {"name": f"high-{name}"}, "value": 1000}
    admin.create(class_path(), body)
    observe_once(office.cluster, now=office.now)
    yield office
    admin.delete(class_path(f"high-{name}"))


def adopt(office: Office, kind: str, name: str, namespace: str = "") -> ChangeSet:
    """Press the button of a row; the plan that it leads to."""
    place = {"kind": kind, "namespace": namespace, "name": name}
    with somebody() as client:
        answer = client.post(
            "/quotas/limits/adopt", {"cluster": office.cluster.name, **place}
        )
    assert answer.status_code == 302
    change = ChangeSet.objects.get(pk=answer.headers["Location"].rsplit("/")[-1])
    office.work()
    change.refresh_from_db()
    assert change.state == "planned", change.error
    return change


def apply(office: Office, change: ChangeSet) -> None:
    done = office.apply(office.approve(change))
    assert done.state == "applied", done.error


def without_label(found: dict[str, Any]) -> dict[str, Any]:
    return {name: part for name, part in found.items() if name != "metadata"}


def test_what_is_taken_over_in_place_is_labelled_first(guarded: Office) -> None:
    world, name = guarded.world, guarded.world.name
    roles = {kind: one.role for one in not_read(name) for kind in one.kinds}
    assert roles["ClusterQueue"] == "schedulers/kueue.yaml"
    assert roles["VolcanoQueue"] == "schedulers/volcano.yaml"
    assert "ResourceQuota" not in roles

    apply(guarded, adopt(guarded, "ResourceQuota", "compute", name))
    assert guarded.hard()[GPU_KEY] == guarded.hard(name="compute")[GPU_KEY] == "16"

    paths = {
        ("ResourceQuota", "gpu-ledger", f"{name}-b"): quota_path(
            f"{name}-b", "gpu-ledger"
        ),
        ("PriorityClass", f"high-{name}", ""): class_path(f"high-{name}"),
    }
    for place, path in paths.items():
        before = without_label(world.admin.get(path))
        change = adopt(guarded, *place)
        (step,) = change.steps.all()
        assert "lacks the label app.kubernetes.io/managed-by=gpu-ledger" in step.blocked
        world.admin.edit(path, LABEL)
        assert adopt(guarded, *place) == change  # it is planned again there
        apply(guarded, guarded.plan(change))
        assert without_label(world.admin.get(path)) == before
    observe_once(guarded.cluster, now=guarded.now)
    found = {
        (row["kind"], row["name"], row["namespace"] or ""): row["sync"]
        for row in report("limits", cluster=name)
    }
    assert {found[place] for place in paths} == {"in_sync"}


def test_what_was_taken_over_is_given_back_as_it_was(guarded: Office) -> None:
    """The policy lets the pusher set values and managers of objects with the label."""
    admin, name = guarded.world.admin, guarded.world.name
    quota_at = quota_path(f"{name}-b", "gpu-ledger")
    class_at = class_path(f"high-{name}")
    for path in (quota_at, class_at):
        admin.edit(path, LABEL, "kubectl-label")
    before = [content(admin.get(path)) for path in (quota_at, class_at)]
    forced = (f"ResourceQuota {name}-b/gpu-ledger",)
    changes = [
        guarded.applied(quota(4, "speech"), forced=forced),
        adopt(guarded, "PriorityClass", f"high-{name}"),
    ]
    apply(guarded, changes[1])
    assert guarded.hard(f"{name}-b") == {GPU_KEY: "4", "pods": "50"}
    for change in changes:
        undone(guarded, change)
    after = [content(admin.get(path)) for path in (quota_at, class_at)]
    assert after == before
