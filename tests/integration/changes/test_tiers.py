"""Tiers as versioned PriorityClasses on a real API server (T28), and quotas of one tier (T26)."""

import pytest

from scheduler_view.changes.actions.change_sets import undo
from scheduler_view.quotas.models import Tier
from tests.control_plane.admin import RefusedByServer, class_path
from tests.control_plane.world import GPU_KEY
from tests.integration.changes.agreement import agree
from tests.integration.changes.office import REASON, Office, quota, said, steps, tier
from tests.processes import wait_until

real_only = pytest.mark.control_plane


def test_a_tier_is_a_class_with_a_version(both: Office) -> None:
    name = f"{both.world.name}-batch"
    both.applied(tier(name, 1000, preempts=False, description="queued"))
    found = both.priority_class(f"{name}-v1")
    assert (found["value"], found["preemptionPolicy"]) == (1000, "Never")
    assert found["description"] == "queued"
    row = Tier.objects.get(name=name)
    assert (row.class_name, row.old_classes, row.value) == (f"{name}-v1", [], 1000)
    agree(both)


def test_a_changed_value_is_a_new_version_and_undo_uses_the_old_one(
    both: Office,
) -> None:
    name = f"{both.world.name}-batch"
    both.applied(tier(name, 1000))
    change_set = both.applied(tier(name, 2000))
    assert both.priority_class(f"{name}-v1")["value"] == 1000
    assert both.priority_class(f"{name}-v2")["value"] == 2000
    assert f"{name}-v1 stays for workloads that use it" in said(change_set)
    row = Tier.objects.get(name=name)
    assert (row.class_name, row.old_classes) == (f"{name}-v2", [f"{name}-v1"])
    agree(both)
    back = undo(change_set, actor="ana", reason=REASON, at=both.now())
    both.apply(both.approve(both.plan(back)))
    assert back.state == "applied"
    row.refresh_from_db()
    assert (row.class_name, row.value) == (f"{name}-v1", 1000)
    assert row.old_classes == [f"{name}-v2"]
    agree(both)


def test_a_description_changes_in_place(both: Office) -> None:
    name = f"{both.world.name}-batch"
    both.applied(tier(name, 1000))
    change_set = both.applied(tier(name, 1000, description="new words"))
    assert both.priority_class(f"{name}-v1")["description"] == "new words"
    assert steps(change_set) == [(f"PriorityClass {name}-v1", "change", "applied")]


def test_a_class_is_replaced_in_place_only_where_a_person_says_so(both: Office) -> None:
    name = f"{both.world.name}-batch"
    both.applied(tier(name, 1000))
    uid = both.priority_class(f"{name}-v1")["metadata"]["uid"]
    change_set = both.applied(tier(name, 2000, in_place=True))
    found = both.priority_class(f"{name}-v1")
    assert (found["value"], steps(change_set)[0][1]) == (2000, "replace")
    assert found["metadata"]["uid"] != uid


def test_the_default_passes_from_one_to_the_other(both: Office) -> None:
    one, two = f"{both.world.name}-one", f"{both.world.name}-two"
    both.applied(tier(one, 10, is_default=True))
    refused = both.planned(tier(two, 20, is_default=True))
    assert "would both be the default class" in refused.error
    both.applied(tier(one, 10), tier(two, 20, is_default=True))
    assert not both.priority_class(f"{one}-v1").get("globalDefault")
    assert both.priority_class(f"{two}-v1")["globalDefault"]
    assert Tier.objects.get(is_default=True).name == two
    agree(both)
    both.applied(tier(two, 20))


def test_a_foreign_default_is_named(both: Office) -> None:
    foreign = f"{both.world.name}-foreign"
    body = {"metadata": {"name": foreign}, "value": 5, "globalDefault": True}
    both.world.admin.create(class_path(), body)
    try:
        refused = both.planned(tier(f"{both.world.name}-x", 20, is_default=True))
        assert foreign in refused.error
    finally:
        both.world.admin.delete(class_path(foreign))


def test_a_tier_with_quotas_cannot_be_removed(both: Office) -> None:
    name = f"{both.world.name}-batch"
    both.applied(tier(name, 1000), quota(2, tier=name))
    refused = both.planned({"kind": "tier", "name": name, "remove": True})
    assert "has quotas of vision" in refused.error
    both.applied({"kind": "tier", "name": name, "remove": True}, quota(None, tier=name))
    assert not Tier.objects.filter(name=name).exists()
    with pytest.raises(RefusedByServer):
        both.priority_class(f"{name}-v1")
    assert not both.has_quota(name=f"gpu-ledger-{name}")


def test_a_new_version_opens_no_gap_in_the_tiers_quota(both: Office) -> None:
    name = f"{both.world.name}-batch"
    both.applied(tier(name, 1000), quota(2, tier=name))
    change_set = both.applied(tier(name, 2000))
    assert {action for _, action, _ in steps(change_set)} == {"create", "change"}
    path = f"/api/v1/namespaces/{both.world.name}/resourcequotas/gpu-ledger-{name}"
    selector = both.world.admin.get(path)["spec"]["scopeSelector"]
    assert selector["matchExpressions"][0]["values"] == [f"{name}-v1", f"{name}-v2"]
    (row,) = agree(both)
    assert (row["tier"], row["live"]) == (name, {both.world.name: 2})


@real_only
def test_the_least_of_all_quotas_counts(office: Office) -> None:
    """T26: a critical pod is refused though the general quota has room."""
    admin, name = office.world.admin, office.world.name
    critical = f"{name}-critical"
    office.applied(tier(critical, 9000), quota(10), quota(2, tier=critical))
    scoped = f"gpu-ledger-{critical}"
    admin.wait_used(name, "gpu-ledger", GPU_KEY, "0")
    admin.wait_used(name, scoped, GPU_KEY, "0")
    wanted = {"priorityClassName": f"{critical}-v1"}
    with pytest.raises(RefusedByServer, match=f"exceeded quota: {scoped}"):
        admin.make_pod(name, "big", 3, **wanted)
    admin.make_pod(name, "small", 2, **wanted)
    admin.wait_used(name, scoped, GPU_KEY, "2")
    admin.wait_used(name, "gpu-ledger", GPU_KEY, "2")
    assert {row["tier"]: row["live"] for row in agree(office)} == {
        "": {name: 10},
        critical: {name: 2},
    }


@real_only
def test_a_changed_tier_is_followed_by_a_real_preemption(office: Office) -> None:
    """T28: pods that run keep their number; a pod of the new version pushes one out."""
    admin, name = office.world.admin, office.world.name
    batch = f"{name}-batch"
    node = f"{name}-n"
    admin.wait_alone()
    admin.make_node(node, nvidia_com__gpu=1)
    admin.wait_node(node)
    place = {"nodeSelector": {"kubernetes.io/hostname": node}}
    office.applied(tier(batch, 1000))
    made = admin.make_pod(name, "old", 1, priorityClassName=f"{batch}-v1", **place)
    assert made["spec"]["priority"] == 1000
    wait_until(lambda: admin.phase(name, "old") == "Running", 60)
    office.applied(tier(batch, 2000))
    pods = f"/api/v1/namespaces/{name}/pods"
    assert admin.get(f"{pods}/old")["spec"]["priority"] == 1000
    new = admin.make_pod(name, "new", 1, priorityClassName=f"{batch}-v2", **place)
    assert new["spec"]["priority"] == 2000
    wait_until(lambda: admin.phase(name, "new") == "Running", 60)
    names = [pod["metadata"]["name"] for pod in admin.get(pods)["items"]]
    assert names == ["new"]
    agree(office)


@pytest.mark.parametrize(
    ("value", "name"), [(2_000_000_000, "big"), (10, "system-batch")]
)
def test_what_kubernetes_refuses_is_refused_in_the_draft(
    both: Office, value: int, name: str
) -> None:
    with pytest.raises(ValueError, match=r"value|name"):
        both.draft(tier(name, value))
