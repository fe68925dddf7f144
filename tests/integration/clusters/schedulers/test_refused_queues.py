"""Queues of others: what is refused, and that nothing of another manager changes.

The answers of the API server are those of Kubernetes 1.34; see docs/quotas.md.
"""

from typing import Any

import pytest

from accounting.access.scope import EVERYTHING
from accounting.metering.models.cluster import Cluster
from scheduler_view.changes.actions.change_sets import ChangeRefused, request_apply
from scheduler_view.changes.actions.due_work import work
from scheduler_view.changes.pages.diffs import after_text
from scheduler_view.changes.reads.change_sets import change_row
from scheduler_view.changes.rules.edit import EditsRefused
from scheduler_view.clusters.client.access import AccessRole, access_of
from scheduler_view.clusters.client.client import ClusterClient
from tests.control_plane.admin import GPU, RefusedByServer
from tests.integration.changes.office import quota, said
from tests.integration.clusters.schedulers.queues import (
    BORROWING,
    LENDING,
    NOMINAL,
    QueueOffice,
    edit,
    groups,
    nominal,
)

pytestmark = pytest.mark.control_plane
KIND = "ClusterQueue"


def applied_by(queues: QueueOffice, name: str, manager: str, a100: object = 4) -> None:
    """What a GitOps tool applies."""
    spec = {"cohortName": "all", "resourceGroups": groups(a100)}
    body = queues.body(KIND, name, spec=spec)
    queues.admin.apply(queues.path(KIND, name), body, manager)


def test_a_list_that_another_manager_applies_is_offered_for_git(
    queues: QueueOffice,
) -> None:
    name, office = queues.name(), queues.office
    applied_by(queues, name, "argocd")
    before = queues.live(KIND, name)
    change_set = office.planned(nominal(name, 12))
    (step,) = change_set.steps.all()
    assert "argocd applies spec.resourceGroups as a whole" in step.blocked
    row = change_row(EVERYTHING, change_set.pk)
    assert row is not None
    patch = after_text(row.steps[0])
    assert "nominalQuota: '12'" in patch
    assert "name: h100" in patch  # a part would remove the other flavor
    with pytest.raises(ChangeRefused, match="cannot be changed"):
        office.approve(change_set)
    forced = office.planned(nominal(name, 12), forced=(f"ClusterQueue {name}",))
    assert forced.steps.get().blocked  # never taken over
    assert queues.live(KIND, name) == before


def test_a_part_of_the_list_that_is_forced_removes_the_rest(
    queues: QueueOffice,
) -> None:
    """Why numbers are patched: this is what an apply would do."""
    name = queues.make_cluster_queue()
    part = groups("12")
    del part[0]["flavors"][1]
    body = queues.body(KIND, name, spec={"resourceGroups": part})
    with pytest.raises(RefusedByServer) as caught:
        queues.admin.apply(queues.path(KIND, name), body, "other")
    assert caught.value.code == 409
    queues.admin.apply(queues.path(KIND, name), body, "other", force=True)
    live = queues.live(KIND, name)["spec"]["resourceGroups"]
    assert [one["name"] for one in live[0]["flavors"]] == ["a100"]


def test_a_patched_list_changes_hands_as_a_whole(queues: QueueOffice) -> None:
    """Why a list that others apply is refused."""
    name, office = queues.make_cluster_queue(), queues.office
    office.applied(nominal(name, 12))
    with pytest.raises(RefusedByServer) as caught:
        applied_by(queues, name, "argocd", 5)
    assert caught.value.code == 409
    assert "gpu-ledger" in caught.value.message


def test_a_status_does_not_make_a_plan_stale_and_an_edit_does(
    queues: QueueOffice,
) -> None:
    name, office = queues.make_cluster_queue(), queues.office
    first = office.agreed(nominal(name, 12))
    queues.write_status(KIND, name, {"pendingWorkloads": 3})
    assert office.apply(first).state == "applied"
    second = office.agreed(nominal(name, 13))
    change = {"spec": {"stopPolicy": "Hold"}}
    queues.admin.edit(queues.path(KIND, name), change)
    office.apply(second)
    assert second.state == "refused"
    assert "was changed since this plan" in second.error
    assert queues.live(KIND, name)["spec"]["resourceGroups"] == groups("12")


def test_a_queue_that_was_made_again_is_another_one(queues: QueueOffice) -> None:
    name, office = queues.make_cluster_queue(), queues.office
    change_set = office.agreed(nominal(name, 12))
    queues.admin.delete(queues.path(KIND, name))
    queues.make_cluster_queue()
    office.apply(change_set)
    assert "removed and created again" in change_set.error


def test_a_step_that_arrived_is_not_sent_again(queues: QueueOffice) -> None:
    """The worker was killed between sending and storing: the result is read back."""
    name, office = queues.make_cluster_queue(), queues.office
    change_set = office.agreed(nominal(name, 12))
    change_set.steps.update(state="sent")
    queues.admin.edit(
        queues.path(KIND, name), {"spec": {"resourceGroups": groups("12")}}
    )
    before = queues.live(KIND, name)
    office.apply(change_set)
    assert change_set.state == "applied"
    assert "read back" in change_set.steps.get().message
    assert queues.live(KIND, name) == before


def test_a_queue_that_is_gone_is_given_up(queues: QueueOffice) -> None:
    name, office = queues.make_cluster_queue(), queues.office
    office.applied(nominal(name, 12))
    queues.admin.delete(queues.path(KIND, name))
    queues.look()
    drift = queues.drift(KIND, name)
    assert drift is not None
    assert (drift.state, drift.message) == ("differs", "It was removed.")
    office.applied(nominal(name, None, release=True) | {"value": "4"})
    queues.look()
    assert queues.drift(KIND, name) is None
    with pytest.raises(RefusedByServer):
        queues.live(KIND, name)  # nothing is created


@pytest.mark.parametrize("is_other_number", [True, False])
def test_a_write_between_reading_and_patching_is_read_again(
    queues: QueueOffice, is_other_number: bool
) -> None:
    """The real server's 422 of a `test` operation: retried if names and numbers are as planned."""
    name, office = queues.make_cluster_queue(), queues.office
    change_set = office.agreed(nominal(name, 12))
    between = iter([groups("9") if is_other_number else groups("4000m")])

    class Overtaken(ClusterClient):
        """Somebody else writes just before our first patch arrives."""

        def patch(self, *given: Any, **more: Any) -> Any:
            spec = next(between, None)
            if spec is not None:
                path = queues.path(KIND, name)
                queues.admin.edit(path, {"spec": {"resourceGroups": spec}})
            return super().patch(*given, **more)

    def connect(cluster: Cluster, role: AccessRole) -> ClusterClient:
        return Overtaken(access_of(cluster.name, cluster.kubernetes, role))

    request_apply(change_set, version=change_set.version, actor="ana", at=office.now())
    work(office.cluster.pk, now=office.now, connect=connect)
    change_set.refresh_from_db()
    live = queues.live(KIND, name)["spec"]["resourceGroups"]
    if is_other_number:
        assert change_set.state == "refused"
        assert f"{NOMINAL} is 9, not 4 as in this plan" in change_set.error
        assert live == groups("9")
    else:  # the same number, typed differently
        assert change_set.state == "applied", change_set.error
        assert live == groups("12")


def test_numbers_are_compared_as_quantities(queues: QueueOffice) -> None:
    name, office = queues.make_cluster_queue(), queues.office
    spec = {"resourceGroups": groups("2000m")}
    queues.admin.edit(queues.path(KIND, name), {"spec": spec})
    live = queues.live(KIND, name)
    assert live["spec"]["resourceGroups"] == groups("2000m")  # stored as typed
    change_set = office.planned(nominal(name, 2))
    assert change_set.steps.get().action == "keep"
    assert office.apply(office.approve(change_set)).state == "applied"
    assert queues.live(KIND, name) == live
    queues.look()
    drift = queues.drift(KIND, name)
    assert drift is not None
    assert drift.state == "in_sync"


def test_what_only_the_webhook_checks_is_refused(queues: QueueOffice) -> None:
    name, office = queues.make_cluster_queue(), queues.office
    change_set = office.planned(edit(KIND, name, LENDING, 5))
    assert change_set.state == "draft"
    assert "lendingLimit of a100/nvidia.com/gpu is 5, more than its" in change_set.error
    for value in ("-8", "0.5", "many"):
        with pytest.raises(EditsRefused):
            office.draft(nominal(name, value))
    with pytest.raises(EditsRefused, match="cannot be removed"):
        office.draft(nominal(name, None))
    missing = office.planned(edit(KIND, name, f"v100/{GPU}/nominalQuota", 1))
    assert f"v100/{GPU}/nominalQuota is not a field of {name}" in missing.error
    assert f"{NOMINAL}, {BORROWING}" in missing.error
    nobody = office.planned(nominal("nobody", 1))
    assert "the cluster has no ClusterQueue 'nobody'" in nobody.error


def test_a_rule_of_the_definition_is_the_servers_message(queues: QueueOffice) -> None:
    name, office = queues.make_cluster_queue(), queues.office
    queues.admin.edit(queues.path(KIND, name), {"spec": {"cohortName": None}})
    change_set = office.planned(edit(KIND, name, BORROWING, 5))
    step = change_set.steps.get()
    assert step.code == 422
    assert "borrowingLimit must be nil when cohort is empty" in step.blocked


def test_a_limit_is_added_and_removed(queues: QueueOffice) -> None:
    name, office = queues.make_cluster_queue(), queues.office
    change_set = office.applied(
        edit(KIND, name, BORROWING, 5), edit(KIND, name, LENDING, "3")
    )
    more = {"borrowingLimit": "5", "lendingLimit": "3"}
    assert queues.live(KIND, name)["spec"]["resourceGroups"] == groups(4, **more)
    office.applied(edit(KIND, name, BORROWING, None))
    live = queues.live(KIND, name)["spec"]["resourceGroups"]
    assert live == groups(4, lendingLimit="3")
    del change_set


def test_a_namespace_that_is_limited_twice_is_named(queues: QueueOffice) -> None:
    name, office = queues.make_cluster_queue(), queues.office
    place = office.world.name
    queues.admin.create(
        f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{place}/localqueues",
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "LocalQueue",
            "metadata": {"name": "main"},
            "spec": {"clusterQueue": name},
        },
    )
    queues.look()
    first = office.planned(nominal(name, 6))
    assert "limited twice" not in said(first, "warnings")
    text = f"{GPU} in {place} is limited twice: by ClusterQueue {name} and by a"
    assert text in said(office.planned(quota(4)), "warnings")
    office.applied(quota(4))
    assert text in said(office.planned(nominal(name, 6)), "warnings")
