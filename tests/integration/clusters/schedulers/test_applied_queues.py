"""Fields with managers of their own: Volcano, KAI, priorities of Kueue; on a real API server.

No controller and no webhook runs.
"""

from typing import Any

import pytest

from scheduler_view.changes.rules.edit import EditsRefused
from scheduler_view.quotas.models import QueueTarget
from tests.control_plane.admin import GPU
from tests.integration.changes.office import said
from tests.integration.clusters.schedulers.queues import QueueOffice, edit

pytestmark = pytest.mark.control_plane
VOLCANO, KAI, PRIORITY = "VolcanoQueue", "KaiQueue", "WorkloadPriorityClass"
CAPABILITY, DESERVED = f"{GPU}/capability", f"{GPU}/deserved"


def test_a_key_of_volcano_goes_to_the_cluster_and_back(queues: QueueOffice) -> None:
    name, office = queues.name("v"), queues.office
    spec = {"capability": {"cpu": "64"}, "reclaimable": True}
    queues.make(VOLCANO, name, spec=spec)
    change_set = office.applied(
        edit(VOLCANO, name, CAPABILITY, 8), edit(VOLCANO, name, DESERVED, 4)
    )
    assert queues.live(VOLCANO, name)["spec"] == {
        "weight": 1,
        "reclaimable": True,
        "capability": {"cpu": "64", GPU: "8"},
        "deserved": {GPU: "4"},
    }
    assert "labels" not in queues.live(VOLCANO, name)["metadata"]
    drift = queues.drift(VOLCANO, name)
    assert drift is not None
    assert drift.state == "in_sync"
    queues.admin.edit(queues.path(VOLCANO, name), {"spec": {"capability": {GPU: "6"}}})
    queues.look()
    drift = queues.drift(VOLCANO, name)
    assert drift is not None
    assert (drift.state, drift.who) == ("differs", "kubectl-edit")
    assert drift.changes == [[CAPABILITY, "8", "6"]]
    queues.admin.edit(queues.path(VOLCANO, name), {"spec": {"capability": {GPU: None}}})
    office.applied(edit(VOLCANO, name, CAPABILITY, 8))
    queues.look()
    change_set.refresh_from_db()
    queues.undone(change_set)
    live = queues.live(VOLCANO, name)["spec"]
    assert live.pop("deserved", {}) == {}
    assert live == {"weight": 1, **spec}
    assert not QueueTarget.objects.exists()


def test_a_key_of_another_manager_is_taken_over_only_if_selected(
    queues: QueueOffice,
) -> None:
    name, office = queues.name("v"), queues.office
    queues.make(VOLCANO, name, spec={"capability": {GPU: "8"}})
    before = queues.live(VOLCANO, name)
    change_set = office.planned(edit(VOLCANO, name, CAPABILITY, 9))
    step = change_set.steps.get()
    assert step.code == 409
    assert "conflict with kubectl-create over .spec.capability" in step.blocked
    assert step.others == {CAPABILITY: ["kubectl-create"]}  # offers the patch for Git
    assert (step.body or {})["spec"] == {"capability": {GPU: "9"}}
    assert queues.live(VOLCANO, name) == before
    # another key of the same list is ours
    office.applied(edit(VOLCANO, name, DESERVED, 3))
    assert queues.live(VOLCANO, name)["spec"]["capability"] == {GPU: "8"}


def test_what_only_volcanos_webhook_checks_is_refused(queues: QueueOffice) -> None:
    office = queues.office
    parent, child, other = (queues.name(s) for s in ("p", "c", "d"))
    queues.make(VOLCANO, parent, spec={"deserved": {GPU: "8"}, "capability": {GPU: 10}})
    spec = {"parent": parent, "guarantee": {"resource": {GPU: "2"}}}
    queues.make(VOLCANO, child, spec=spec)
    queues.make(VOLCANO, other, spec={"parent": parent, "deserved": {GPU: "5"}})
    below = office.planned(edit(VOLCANO, child, DESERVED, 1))
    assert "guarantee of nvidia.com/gpu is 2, more than deserved 1" in below.error
    above = office.planned(edit(VOLCANO, child, DESERVED, 4))
    assert f"of the queues below {parent} adds up to 9, more than its 8" in above.error
    wide = office.planned(edit(VOLCANO, child, CAPABILITY, 11))
    assert f"is above that of its parent {parent}, 10" in wide.error
    for name, field, value in (
        ("root", "weight", 2),
        (child, "weight", 0),
        (child, "weight", 2**31),
        (child, "cpu/capability", 4),
        (child, CAPABILITY, -1),
    ):
        with pytest.raises(EditsRefused):
            office.draft(edit(VOLCANO, name, field, value))
    office.applied(edit(VOLCANO, child, DESERVED, 3))


def test_numbers_of_kai_go_to_the_cluster_and_back(queues: QueueOffice) -> None:
    name, office = queues.name("k"), queues.office
    queues.make(KAI, name, spec={"resources": {"cpu": {"quota": -1}}})
    change_set = office.applied(
        edit(KAI, name, "gpu/quota", 0.5),
        edit(KAI, name, "gpu/limit", -1),
        edit(KAI, name, "priority", 120),
    )
    resources: dict[str, Any] = {
        "cpu": {"quota": -1},
        "gpu": {"quota": 0.5, "limit": -1},
    }
    spec = queues.live(KAI, name)["spec"]
    assert spec == {"priority": 120, "resources": resources}
    queues.admin.edit(
        queues.path(KAI, name), {"spec": {"resources": {"gpu": {"quota": 2}}}}
    )
    queues.look()
    drift = queues.drift(KAI, name)
    assert drift is not None
    assert drift.changes == [["gpu/quota", "0.5", "2"]]
    assert drift.who == "kubectl-edit"
    queues.undone(change_set)
    spec = queues.live(KAI, name)["spec"]
    assert "priority" not in spec
    assert spec["resources"]["gpu"] == {"quota": 2}  # it belongs to kubectl-edit now
    assert spec["resources"]["cpu"] == {"quota": -1}


def test_kai_answers_other_managers_as_measured(queues: QueueOffice) -> None:
    name, office = queues.name("k"), queues.office
    queues.make(KAI, name, spec={"resources": {"gpu": {"quota": 4}}})
    blocked = office.planned(edit(KAI, name, "gpu/quota", 5))
    assert "conflict with kubectl-create" in blocked.steps.get().blocked
    same = office.applied(
        edit(KAI, name, "gpu/quota", 4), edit(KAI, name, "priority", 9)
    )
    assert queues.live(KAI, name)["spec"]["priority"] == 9
    assert same.state == "applied"
    parent = queues.name("all")
    queues.make(KAI, parent, spec={"resources": {"gpu": {"quota": 3}}})
    queues.admin.edit(queues.path(KAI, name), {"spec": {"parentQueue": parent}})
    doubt = office.planned(edit(KAI, name, "gpu/limit", 8))
    assert f"below {parent} add up to 4 GPUs, more than its quota of 3" in said(
        doubt, "warnings"
    )


def test_a_priority_of_kueue_goes_to_the_cluster_and_back(queues: QueueOffice) -> None:
    name, office = queues.name("batch"), queues.office
    body = queues.body(PRIORITY, name, value=100)
    queues.admin.apply(queues.path(PRIORITY, name), body, "argocd")
    change_set = office.applied(edit(PRIORITY, name, "description", "For nights."))
    live = queues.live(PRIORITY, name)
    assert (live["value"], live["description"]) == (100, "For nights.")
    blocked = office.planned(edit(PRIORITY, name, "value", 200))
    assert "conflict with argocd over .value" in blocked.steps.get().blocked
    with pytest.raises(EditsRefused, match="is not between"):
        office.draft(edit(PRIORITY, name, "value", 3_000_000_000))
    queues.undone(change_set)
    assert "description" not in queues.live(PRIORITY, name)


def test_a_class_that_argo_no_longer_applies_is_set(queues: QueueOffice) -> None:
    """The value of a WorkloadPriorityClass may change, unlike that of a PriorityClass."""
    name, office = queues.name("mine"), queues.office
    head = queues.body(PRIORITY, name, value=100)
    queues.admin.apply(queues.path(PRIORITY, name), head, "gpu-ledger")
    change_set = office.applied(edit(PRIORITY, name, "value", 200))
    assert queues.live(PRIORITY, name)["value"] == 200
    assert "Existing Workloads keep their priority." in said(change_set)
