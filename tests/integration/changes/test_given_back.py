"""An undo gives objects of others back as they were, byte by byte, on a real API server.

Three other clients make the objects: `kubectl create`, `kubectl apply` and a client in Python.
"""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from scheduler_view.changes.actions.change_sets import request_apply, undo
from scheduler_view.changes.actions.ending import discard
from scheduler_view.changes.models import ChangeSet
from scheduler_view.clusters.client.client import ClusterClient
from scheduler_view.clusters.client.errors import Unreachable
from scheduler_view.quotas.models import QuotaTarget, Tier
from tests.control_plane.admin import class_path, quota_path
from tests.control_plane.world import GPU_KEY
from tests.integration.changes.office import REASON, Office, quota, said, steps, tier

real_only = pytest.mark.control_plane
Manifest = dict[str, Any]
LABELS = {"app.kubernetes.io/managed-by": "gpu-ledger", "team": "search"}


def content(live: Manifest) -> str:
    """All of an object that does not change with each write, as text."""
    meta = dict(live["metadata"])
    meta.pop("resourceVersion")
    meta["managedFields"] = sorted(
        (e for e in meta["managedFields"] if "subresource" not in e),
        key=lambda e: (e["operation"], e["manager"]),
    )
    found = {k: v for k, v in live.items() if k != "status"} | {"metadata": meta}
    return json.dumps(found, sort_keys=True)


def kubectl_create(office: Office, hard: Manifest, name: str = "gpu-ledger") -> None:
    """`kubectl create quota`, then `kubectl label`."""
    body = {"metadata": {"name": name}, "spec": {"hard": hard}}
    admin, place = office.world.admin, office.world.name
    admin.create(quota_path(place), body, fieldManager="kubectl-create")
    labels = {"metadata": {"labels": LABELS}}
    admin.edit(quota_path(place, name), labels, "kubectl-label")


def kubectl_apply(office: Office, hard: Manifest, name: str = "gpu-ledger") -> None:
    """`kubectl apply -f`, with its annotation."""
    body: Manifest = {"metadata": {"name": name}, "spec": {"hard": hard}}
    kept = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(body)}
    body["metadata"]["annotations"] = kept
    path = quota_path(office.world.name)
    office.world.admin.create(path, body, fieldManager="kubectl-client-side-apply")


def python_client(office: Office, hard: Manifest, name: str = "gpu-ledger") -> None:
    """Server-side apply by a program of one's own."""
    body = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": name, "labels": {"team": "search"}},
        "spec": {"hard": hard},
    }
    path = quota_path(office.world.name, name)
    office.world.admin.apply(path, body, "OpenAPI-Generator")


CLIENTS = (kubectl_create, kubectl_apply, python_client)
Make = Callable[[Office, Manifest], None]


def live(office: Office, name: str = "gpu-ledger") -> Manifest:
    return office.world.admin.get(quota_path(office.world.name, name))


def taking_over(office: Office, name: str = "gpu-ledger") -> list[str]:
    return [f"ResourceQuota {office.world.name}/{name}"]


def undone(office: Office, change_set: ChangeSet, **more: Any) -> ChangeSet:
    """Undone, planned, approved and applied."""
    draft = undo(change_set, actor="ana", reason=REASON, at=office.now(), **more)
    planned = office.plan(draft)
    assert planned.state == "planned", planned.error
    done = office.apply(office.approve(planned))
    assert done.state == "applied", done.error
    return done


@pytest.mark.parametrize("make", CLIENTS)
def test_a_quota_of_others_comes_back(both: Office, make: Make) -> None:
    make(both, {GPU_KEY: "12", "requests.cpu": "100", "pods": "20"})
    before = content(live(both))
    change_set = both.applied(quota(6), forced=taking_over(both))
    assert f"it had 12 in {both.world.name}" in said(change_set)
    assert "it had no quota" not in said(change_set)
    assert both.hard() == {GPU_KEY: "6", "requests.cpu": "100", "pods": "20"}
    higher = both.applied(quota(8))
    undone(both, higher)
    assert both.hard()[GPU_KEY] == "6"
    back = undone(both, change_set)
    assert f"12 in {both.world.name}" in said(back)
    assert steps(back)[0][1:] == ("restore", "applied")
    assert content(live(both)) == before
    assert not QuotaTarget.objects.exists()


@pytest.mark.parametrize("make", CLIENTS)
def test_fields_of_others_stay_and_what_they_set_since_is_asked_about(
    both: Office, make: Make
) -> None:
    make(both, {GPU_KEY: "12", "requests.cpu": "100"})
    change_set = both.applied(quota(6), forced=taking_over(both))
    path = quota_path(both.world.name, "gpu-ledger")
    labels = {"metadata": {"labels": {"cost-center": "7"}}}
    both.world.admin.edit(path, labels, "kubectl-label")
    hard = {"spec": {"hard": {GPU_KEY: "20", "requests.cpu": "50"}}}
    both.world.admin.edit(path, hard)
    draft = undo(change_set, actor="ana", reason=REASON, at=both.now())
    (step,) = both.plan(draft).steps.all()
    assert step.blocked == (
        "requests.nvidia.com/gpu was set to 20 by kubectl-edit since; before, it was 12. "
        "It changes only if you select it"
    )
    assert both.hard()[GPU_KEY] == "20"
    discard(
        draft, version=draft.version, actor="ana", reason="Asked first.", at=both.now()
    )
    undone(both, change_set, forced=taking_over(both))
    found = live(both)
    assert found["spec"]["hard"] == {GPU_KEY: "12", "requests.cpu": "50"}
    assert found["metadata"]["labels"]["cost-center"] == "7"
    managers = {one["manager"] for one in found["metadata"]["managedFields"]}
    assert "gpu-ledger" not in managers
    assert "kubectl-edit" in managers  # of requests.cpu


def test_an_object_that_others_removed_is_made_again_only_if_selected(
    both: Office,
) -> None:
    kubectl_create(both, {GPU_KEY: "12", "requests.cpu": "100"})
    before = live(both)
    change_set = both.applied(quota(6), forced=taking_over(both))
    both.world.admin.delete(quota_path(both.world.name, "gpu-ledger"))
    draft = undo(change_set, actor="ana", reason=REASON, at=both.now())
    (step,) = both.plan(draft).steps.all()
    assert "it was removed since" in step.blocked
    discard(
        draft, version=draft.version, actor="ana", reason="Asked first.", at=both.now()
    )
    undone(both, change_set, forced=taking_over(both))
    found = live(both)
    for part in ("labels", "managedFields"):
        theirs = [before["metadata"][part], found["metadata"][part]]
        if part == "managedFields":
            theirs = [[e for e in one if "subresource" not in e] for one in theirs]
        assert theirs[0] == theirs[1]
    assert found["spec"] == before["spec"]


def test_an_object_that_a_change_removed_comes_back_with_what_others_had_set(
    both: Office,
) -> None:
    """Labels, annotations and fields of others are lost with the object."""
    both.applied(quota(4))
    path = quota_path(both.world.name, "gpu-ledger")
    theirs = {
        "metadata": {"labels": {"team": "vision"}, "annotations": {"why": "nights"}}
    }
    both.world.admin.edit(path, theirs, "kubectl-label")
    before = json.loads(content(live(both)))
    removal = both.applied(quota(None))
    assert not both.has_quota()
    back = undone(both, removal)
    assert steps(back)[0][1:] == ("restore", "applied")
    found = json.loads(content(live(both)))
    for one in (before, found):
        for name in ("uid", "creationTimestamp"):
            one["metadata"].pop(name)
        for entry in one["metadata"]["managedFields"]:
            entry.pop("time")
    assert found == before
    assert QuotaTarget.objects.get().gpus == 4
    both.applied(quota(5))
    assert live(both)["metadata"]["annotations"] == {"why": "nights"}


def test_two_resources_of_one_object_are_given_back_one_by_one(both: Office) -> None:
    mig, mig_key = "nvidia.com/mig-1g.10gb", "requests.nvidia.com/mig-1g.10gb"
    python_client(both, {GPU_KEY: "12", mig_key: "3"})
    before = content(live(both))
    first = both.applied(quota(6), forced=taking_over(both))
    second = both.applied(quota(9, resource=mig), forced=taking_over(both))
    undone(both, first)
    assert both.hard() == {GPU_KEY: "12", mig_key: "9"}
    assert live(both)["metadata"]["labels"]["app.kubernetes.io/managed-by"]
    undone(both, second)
    assert both.hard() == {GPU_KEY: "12", mig_key: "3"}
    assert content(live(both)) == before


def test_the_number_that_was_there_is_kept_as_it_was_written(both: Office) -> None:
    """Adopting the same number changes no number, and the undo none either."""
    kubectl_apply(both, {GPU_KEY: "12"})
    before = content(live(both))
    change_set = both.applied(quota(12), forced=taking_over(both))
    assert both.hard() == {GPU_KEY: "12"}
    undone(both, change_set)
    assert content(live(both)) == before


@real_only
@pytest.mark.parametrize("calls", [1, 2])
def test_killed_between_values_and_managers_the_next_worker_ends_it(
    office: Office, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubectl_create(office, {GPU_KEY: "12"})
    before = content(live(office))
    change_set = office.applied(quota(6), forced=taking_over(office))
    draft = undo(change_set, actor="ana", reason=REASON, at=office.now())
    planned = office.approve(office.plan(draft))
    request_apply(planned, version=planned.version, actor="ana", at=office.now())
    patch, done = ClusterClient.patch, []

    def dying(*given: Any, **more: Any) -> Any:
        done.append(given)
        if len(done) == calls:
            raise Unreachable("the worker was killed", "reset")
        return patch(*given, **more)

    monkeypatch.setattr(ClusterClient, "patch", dying)
    office.work()
    planned.refresh_from_db()
    assert planned.state == "applying"
    office.ahead = timedelta(minutes=2)
    office.work()
    planned.refresh_from_db()
    assert planned.state == "applied", planned.error
    assert content(live(office)) == before


def test_classes_of_a_removed_tier_come_back_by_name_and_value(both: Office) -> None:
    """Pods name a class: under its name, it has its value again."""
    name = f"{both.world.name}-t"
    both.applied(tier(name, 1000, description="first"))
    both.applied(tier(name, 2000, description="second"))
    path = class_path(f"{name}-v1")
    both.world.admin.edit(path, {"metadata": {"labels": {"team": "a"}}})
    before = [classes(both, f"{name}-{version}") for version in ("v1", "v2")]
    removal = both.applied(tier(name, 2000, remove=True))
    undone(both, removal)
    after = [classes(both, f"{name}-{version}") for version in ("v1", "v2")]
    assert after == before
    row = Tier.objects.get(name=name)
    assert (row.class_name, row.old_classes) == (f"{name}-v2", [f"{name}-v1"])


def test_a_class_of_others_comes_back(both: Office) -> None:
    """`kubectl create priorityclass`, labelled, becomes that of a tier."""
    name = f"{both.world.name}-t"
    body = {"metadata": {"name": f"{name}-v1"}, "value": 1000, "description": "mine"}
    admin, path = both.world.admin, class_path(f"{name}-v1")
    admin.create(class_path(), body, fieldManager="kubectl-create")
    admin.edit(path, {"metadata": {"labels": LABELS}}, "kubectl-label")
    before = content(admin.get(path))
    forced = (f"PriorityClass {name}-v1",)
    change_set = both.applied(tier(name, 1000, description="ours"), forced=forced)
    assert both.priority_class(f"{name}-v1")["description"] == "ours"
    undone(both, change_set)
    assert content(admin.get(path)) == before


def classes(office: Office, name: str) -> Manifest:
    """A class without what differs after it was created again."""
    found = json.loads(content(office.priority_class(name)))
    for part in ("uid", "creationTimestamp", "generation", "managedFields"):
        found["metadata"].pop(part, None)
    return dict(found)


def test_the_scope_of_a_quota_of_a_tier_comes_back(both: Office) -> None:
    """A quota of others for one priority class, named like that of a tier."""
    name = f"{both.world.name}-t"
    quota_name = f"gpu-ledger-{name}"
    term = {
        "scopeName": "PriorityClass",
        "operator": "In",
        "values": ["theirs", "more"],
    }
    body = {
        "metadata": {"name": quota_name, "annotations": {"why": "nights"}},
        "spec": {
            "hard": {GPU_KEY: "0", "pods": "5"},
            "scopeSelector": {"matchExpressions": [term]},
        },
    }
    path = quota_path(both.world.name)
    both.world.admin.create(path, body, fieldManager="kubectl-create")
    before = content(live(both, quota_name))
    both.applied(tier(name, 1000))
    change_set = both.applied(quota(6, tier=name), forced=taking_over(both, quota_name))
    found = live(both, quota_name)["spec"]
    assert found["hard"] == {GPU_KEY: "6", "pods": "5"}
    (now,) = found["scopeSelector"]["matchExpressions"]
    assert now["values"] == [f"{name}-v1"]
    undone(both, change_set)
    assert content(live(both, quota_name)) == before  # 0 is a number, not nothing


def test_a_key_that_git_applies_too_since_stays(both: Office) -> None:
    kubectl_apply(both, {"pods": "5"})
    change_set = both.applied(quota(6), forced=taking_over(both))
    body = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "gpu-ledger"},
        "spec": {"hard": {GPU_KEY: "6"}},
    }
    path = quota_path(both.world.name, "gpu-ledger")
    both.world.admin.apply(path, body, "argocd")
    undone(both, change_set)
    found = live(both)
    assert found["spec"]["hard"] == {"pods": "5", GPU_KEY: "6"}
    assert "labels" not in found["metadata"]
    managers = {one["manager"] for one in found["metadata"]["managedFields"]}
    assert "gpu-ledger" not in managers
    assert "argocd" in managers
