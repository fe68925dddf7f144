"""Quotas on a real API server: plan, apply, refuse, undo; what pods then may do (T25, T26, T29).

Left out: tiers (`test_tiers`), faults of the API server (`test_faults`).
"""

from datetime import timedelta

import pytest

from accounting.access.models.teams import Binding, Team
from scheduler_view.changes.actions.change_sets import ChangeRefused, undo
from scheduler_view.changes.models import ChangeSet
from scheduler_view.quotas.models import QuotaTarget
from tests.control_plane.admin import RefusedByServer, quota_path
from tests.control_plane.world import GPU_KEY
from tests.integration.changes.agreement import agree, agree_after_a_look, somebody
from tests.integration.changes.office import REASON, Office, quota, said, steps
from tests.page_html import html_of

MIG_KEY = "requests.nvidia.com/mig-1g.10gb"
DRA_KEY = "gpu.nvidia.com.deviceclass.resource.k8s.io/devices"
real_only = pytest.mark.control_plane


def target(team: str = "vision") -> QuotaTarget:
    return QuotaTarget.objects.get(team__slug=team)


def test_a_first_quota_is_created_and_said(both: Office) -> None:
    change_set = both.planned(quota(4))
    assert change_set.state == "planned", change_set.error
    assert change_set.plan["summary"] == "1 quota added: 1 object created"
    assert (
        "Vision gets a quota of 4 GPUs; it had no quota. In use now: 0, so at most "
        "4 are free."
    ) in said(change_set)
    assert "Committed quota becomes 4" in said(change_set)
    assert not both.has_quota()  # a plan writes nothing
    both.apply(both.approve(change_set))
    assert change_set.state == "applied"
    assert both.hard() == {GPU_KEY: "4"}
    assert (target().gpus, target().split) == (4, {both.world.name: 4})
    assert steps(change_set)[0][1:] == ("create", "applied")
    agree(both)


def test_what_is_there_already_is_not_written(both: Office) -> None:
    both.applied(quota(4))
    before = both.version_of()
    again = both.applied(quota(4))
    assert both.version_of() == before
    assert steps(again)[0][1:] == ("keep", "unchanged")


@real_only
def test_raised_and_a_waiting_pod_gets_in(office: Office) -> None:
    admin, name = office.world.admin, office.world.name
    admin.make_node(f"{name}-n", nvidia_com__gpu=8)
    office.applied(quota(1))
    admin.wait_used(name, "gpu-ledger", GPU_KEY, "0")
    with pytest.raises(RefusedByServer, match="exceeded quota: gpu-ledger"):
        admin.make_pod(name, "train", 2)
    office.applied(quota(2))
    admin.wait_used(name, "gpu-ledger", GPU_KEY, "0")
    admin.make_pod(name, "train", 2)
    admin.wait_used(name, "gpu-ledger", GPU_KEY, "2")
    assert [row["live"] for row in agree(office)] == [{name: 2}]


@real_only
def test_lowered_below_use_stops_nothing_and_refuses_the_next(office: Office) -> None:
    admin, name = office.world.admin, office.world.name
    office.applied(quota(4))
    admin.wait_used(name, "gpu-ledger", GPU_KEY, "0")
    for pod in ("a", "b"):
        admin.make_pod(name, pod, 2)
    admin.wait_used(name, "gpu-ledger", GPU_KEY, "4")
    office.applied(quota(2))
    admin.wait_used(name, "gpu-ledger", GPU_KEY, "4")
    pods = admin.get(f"/api/v1/namespaces/{name}/pods")["items"]
    assert sorted(pod["metadata"]["name"] for pod in pods) == ["a", "b"]
    with pytest.raises(RefusedByServer, match=r"used: .*=4, limited: .*=2"):
        admin.make_pod(name, "c", 1)
    agree(office)


def test_each_mig_profile_and_device_class_is_its_own_key(both: Office) -> None:
    both.applied(
        quota(4),
        quota(7, resource="nvidia.com/mig-1g.10gb"),
        quota(3, resource=DRA_KEY),
    )
    assert both.hard() == {GPU_KEY: "4", MIG_KEY: "7", DRA_KEY: "3"}
    assert len(agree(both)) == 3
    both.applied(quota(None, resource="nvidia.com/mig-1g.10gb"))
    assert both.hard() == {GPU_KEY: "4", DRA_KEY: "3"}
    assert len(agree(both)) == 2


def test_a_team_with_two_namespaces_is_divided_by_the_rule(both: Office) -> None:
    other = f"{both.world.name}-c"
    both.world.admin.make_namespace(other)
    vision = Team.objects.get(slug="vision")
    own = Binding.objects.get(team=vision)
    Binding.objects.create(
        kind=own.kind,
        glob=other,
        team=vision,
        position=9,
        valid_from=own.valid_from,
    )
    change_set = both.applied(quota(5))
    assert "evenly over 2 namespaces" in said(change_set)
    assert (both.hard()[GPU_KEY], both.hard(other)[GPU_KEY]) == ("3", "2")
    agree(both)
    both.applied(quota(5, rule="weights", weights={other: 1}))
    assert (both.hard()[GPU_KEY], both.hard(other)[GPU_KEY]) == ("0", "5")
    both.applied(quota(None))
    assert not both.has_quota()
    assert not both.has_quota(other)


def test_undo_leads_back_to_what_was_there(both: Office) -> None:
    first = both.applied(quota(4))
    second = both.applied(quota(9, rule="weights", weights={both.world.name: 1}))
    back = undo(second, actor="ana", reason=REASON, at=both.now())
    both.plan(back)
    assert "lowered from 9 to 4 GPUs" in said(back)
    both.apply(both.approve(back))
    second.refresh_from_db()
    assert (back.state, second.state) == ("applied", "undone")
    assert both.hard() == {GPU_KEY: "4"}
    assert (target().gpus, target().rule) == (4, "evenly")
    agree(both)
    with pytest.raises(ChangeRefused, match="nothing to undo"):
        undo(second, actor="ana", reason=REASON, at=both.now())
    away = undo(first, actor="ana", reason=REASON, at=both.now())
    both.apply(both.approve(both.plan(away)))
    assert not both.has_quota()
    assert not QuotaTarget.objects.exists()
    assert agree(both) == []


def test_a_pod_does_not_make_a_plan_stale_and_kubectl_does(both: Office) -> None:
    both.applied(quota(4))
    change_set = both.agreed(quota(5))
    both.world.admin.make_pod(both.world.name, "meanwhile", 1)
    both.apply(change_set)
    assert (change_set.state, both.hard()[GPU_KEY]) == ("applied", "5")

    change_set = both.agreed(quota(6))
    path = quota_path(both.world.name, "gpu-ledger")
    both.world.admin.edit(path, {"spec": {"hard": {GPU_KEY: "7"}}})
    both.apply(change_set)
    assert change_set.state == "refused"
    assert "changed since this plan" in change_set.error
    assert both.hard()[GPU_KEY] == "7"
    assert target().gpus == 5  # nothing was applied, so nothing else is wanted
    assert [row["sync"] for row in agree_after_a_look(both)] == ["differs"]


def test_another_manager_is_named_and_not_forced_unless_ticked(both: Office) -> None:
    both.applied(quota(4))
    path = quota_path(both.world.name, "gpu-ledger")
    both.world.admin.edit(path, {"spec": {"hard": {GPU_KEY: "7"}}})
    change_set = both.planned(quota(5))
    (step,) = change_set.steps.all()
    assert "kubectl-edit" in step.blocked
    assert "kubectl-edit" in said(change_set, "warnings")
    assert step.code == 409
    assert step.message  # message of the API server
    with pytest.raises(ChangeRefused, match="cannot be changed"):
        both.approve(change_set)
    ticked = f"ResourceQuota {both.world.name}/gpu-ledger"
    both.applied(quota(5), forced=[ticked])
    assert both.hard()[GPU_KEY] == "5"
    agree(both)


def test_foreign_keys_and_objects_stay(both: Office) -> None:
    """T29 a: cpu belongs to Git, the GPUs to us."""
    admin, name = both.world.admin, both.world.name
    both.applied(quota(4))
    body = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "gpu-ledger", "namespace": name},
        "spec": {"hard": {"requests.cpu": "10"}},
    }
    admin.apply(quota_path(name, "gpu-ledger"), body, "argocd-controller")
    admin.make_quota(name, "theirs", {GPU_KEY: "2", "limits.nvidia.com/gpu": "1"})
    change_set = both.applied(quota(6))
    assert both.hard() == {GPU_KEY: "6", "requests.cpu": "10"}
    assert both.hard(name="theirs") == {GPU_KEY: "2", "limits.nvidia.com/gpu": "1"}
    message = said(change_set, "warnings")
    assert "managed by Argo CD" in message
    assert "limits.nvidia.com/gpu is not enforced" in message
    assert "allows only 2" in message
    both.applied(quota(None))
    assert both.hard() == {"requests.cpu": "10"}


def test_an_object_of_our_name_that_is_not_ours_is_not_touched(both: Office) -> None:
    both.world.admin.make_quota(both.world.name, "gpu-ledger", {GPU_KEY: "2"})
    change_set = both.planned(quota(4))
    (step,) = change_set.steps.all()
    assert "not managed by GPU Ledger" in step.blocked


def test_a_namespace_that_went_or_came_again_is_seen(both: Office) -> None:
    admin, name = both.world.admin, both.world.name
    change_set = both.agreed(quota(4))
    admin.delete(f"/api/v1/namespaces/{name}")
    both.apply(change_set)
    assert change_set.state == "refused"
    assert "namespace" in change_set.error
    assert not QuotaTarget.objects.exists()


def test_bad_edits_are_refused_with_words(both: Office) -> None:
    both.world.admin.delete(f"/api/v1/namespaces/{both.world.name}")
    change_set = both.draft(quota(4))
    both.plan(change_set)
    assert change_set.state == "draft"
    is_going = "no namespace" in change_set.error
    is_blocked = "being deleted" in change_set.error
    assert is_going or is_blocked


def test_a_loan_returns_by_itself(both: Office) -> None:
    both.applied(quota(4))
    ends = both.now() + timedelta(hours=8)
    loan = both.applied(quota(10), ends_at=ends)
    both.work()
    assert both.hard()[GPU_KEY] == "10"
    agree(both)
    both.ahead = timedelta(hours=8, minutes=1)
    both.work()
    both.work()
    loan.refresh_from_db()
    assert loan.state == "undone"
    assert both.hard()[GPU_KEY] == "4"
    assert loan.undos.get().author_name == "system"
    agree(both)


def test_a_loan_that_was_changed_since_waits_for_a_person(both: Office) -> None:
    both.applied(quota(4))
    loan = both.applied(quota(10), ends_at=both.now() + timedelta(hours=8))
    both.applied(quota(12))
    both.ahead = timedelta(hours=9)
    both.work()
    both.work()
    back = loan.undos.get()
    assert back.state == "draft"
    assert "changed the same objects since" in back.error
    assert both.hard()[GPU_KEY] == "12"


def test_what_is_scheduled_begins_by_itself(both: Office) -> None:
    change_set = both.agreed(quota(4), starts_at=both.now() + timedelta(hours=2))
    assert change_set.state == "scheduled"
    both.ahead = timedelta(hours=1)
    both.work()
    assert not both.has_quota()
    both.ahead = timedelta(hours=2, minutes=1)
    both.work()
    change_set.refresh_from_db()
    assert change_set.state == "applied"
    assert both.hard() == {GPU_KEY: "4"}


def test_drift_by_kubectl_is_shown_by_all_and_restored_from_the_page(
    both: Office,
) -> None:
    both.applied(quota(4))
    path = quota_path(both.world.name, "gpu-ledger")
    both.world.admin.edit(path, {"spec": {"hard": {GPU_KEY: "7"}}})
    (row,) = agree_after_a_look(both)
    assert (row["sync"], row["live"]) == ("differs", {both.world.name: 7})
    asked = {
        "cluster": both.cluster.name,
        "team": "vision",
        "resource": row["resource"],
    }
    with somebody() as client:
        page = html_of(client.get("/quotas"))
        assert "Changed by kubectl-edit" in page
        answer = client.post("/quotas/settle", asked | {"tier": "", "verb": "restore"})
        assert answer.status_code == 302
    back = ChangeSet.objects.latest("pk")
    both.work()
    back.refresh_from_db()
    (step,) = back.steps.all()
    assert "kubectl-edit" in step.blocked  # it is theirs until a person ticks it
    back = both.applied(quota(4), forced=[str(step)])
    (row,) = agree(both)
    assert (row["sync"], row["live"]) == ("in_sync", {both.world.name: 4})


def test_an_object_that_was_removed_by_kubectl_is_shown_and_made_again(
    both: Office,
) -> None:
    both.applied(quota(4))
    both.world.admin.delete(quota_path(both.world.name, "gpu-ledger"))
    (row,) = agree_after_a_look(both)
    assert (row["sync"], row["live"]) == ("differs", {both.world.name: None})
    both.applied(quota(4))
    (row,) = agree(both)
    assert row["sync"] == "in_sync"
