"""Queues of others: a number is taken over if a person selects the object, and given back."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from scheduler_view.changes.actions.change_sets import ChangeRefused, undo
from scheduler_view.changes.actions.ending import discard
from scheduler_view.changes.models import ChangeSet
from scheduler_view.quotas.models import QueueTarget
from tests.control_plane.admin import GPU
from tests.integration.changes.agreement import somebody
from tests.integration.changes.office import REASON, quota
from tests.integration.clusters.schedulers.queues import (
    NOMINAL,
    QueueOffice,
    edit,
    groups,
    nominal,
)
from tests.page_html import html_of

pytestmark = pytest.mark.control_plane
QUEUE, VOLCANO, KAI = "ClusterQueue", "VolcanoQueue", "KaiQueue"
PRIORITY = "WorkloadPriorityClass"
CAPABILITY, DESERVED = f"{GPU}/capability", f"{GPU}/deserved"
MADE: dict[str, dict[str, Any]] = {
    QUEUE: {"spec": {"cohortName": "all", "resourceGroups": groups()}},
    VOLCANO: {"spec": {"weight": 1, "capability": {GPU: "8", "cpu": "64"}}},
    KAI: {"spec": {"resources": {"gpu": {"quota": 4}, "cpu": {"quota": -1}}}},
    PRIORITY: {"value": 100, "description": "of the platform"},
}
CHANGED = {
    QUEUE: (NOMINAL, 12),
    VOLCANO: (CAPABILITY, 9),
    KAI: ("gpu/quota", 6),
    PRIORITY: ("description", "For nights."),
}
CLIENTS = ("kubectl-create", "kubectl-client-side-apply", "python-requests", "argocd")


def content(live: dict[str, Any]) -> str:
    """All of an object that does not change with each write, as text."""
    meta = dict(live["metadata"])
    for name in ("resourceVersion", "generation"):
        meta.pop(name, None)
    meta["managedFields"] = sorted(
        meta["managedFields"], key=lambda e: (e["operation"], e["manager"])
    )
    return json.dumps(live | {"metadata": meta}, sort_keys=True)


def made_by(queues: QueueOffice, kind: str, client: str) -> str:
    """An object of another client, with labels and an annotation; its name."""
    name = queues.name("q")
    body = queues.body(kind, name, **MADE[kind])
    body["metadata"] |= {"labels": {"team": "a"}, "annotations": {"why": "nights"}}
    path = queues.path(kind, name)
    if client == "argocd":
        queues.admin.apply(path, body, client)
    else:
        queues.admin.create(path.rpartition("/")[0], body, fieldManager=client)
    return name


def asked_undo(queues: QueueOffice, change_set: ChangeSet, *forced: str) -> ChangeSet:
    office = queues.office
    change_set.refresh_from_db()
    draft = undo(change_set, actor="ana", reason=REASON, at=office.now(), forced=forced)
    return office.plan(draft)


def undone(queues: QueueOffice, change_set: ChangeSet, *forced: str) -> ChangeSet:
    planned = asked_undo(queues, change_set, *forced)
    assert planned.state == "planned", planned.error
    done = queues.office.apply(queues.office.approve(planned))
    assert done.state == "applied", done.error
    return done


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("kind", [VOLCANO, KAI, PRIORITY])
def test_a_number_of_another_client_is_taken_over_and_given_back(
    queues: QueueOffice, kind: str, client: str
) -> None:
    name, office = made_by(queues, kind, client), queues.office
    before = content(queues.live(kind, name))
    field, value = CHANGED[kind]
    blocked = office.planned(edit(kind, name, field, value))
    assert f"conflict with {client}" in blocked.steps.get().blocked
    with somebody() as browser:
        page = html_of(browser.get(f"/changes/{blocked.pk}"))
    assert f'value="{kind} {name}"' in page  # a person can select it
    change_set = office.applied(
        edit(kind, name, field, value), forced=(f"{kind} {name}",)
    )
    found = queues.live(kind, name)
    assert str(value) in json.dumps(found)
    assert found["metadata"]["labels"] == {"team": "a"}
    back = undone(queues, change_set)
    assert back.steps.get().action == "restore"
    assert content(queues.live(kind, name)) == before
    assert not QueueTarget.objects.exists()


@pytest.mark.parametrize("client", CLIENTS[:3])
def test_a_cluster_queue_goes_back_to_its_manager(
    queues: QueueOffice, client: str
) -> None:
    name = made_by(queues, QUEUE, client)
    before = content(queues.live(QUEUE, name))
    first = queues.office.applied(nominal(name, 12))
    second = queues.office.applied(nominal(name, 14))
    undone(queues, second)
    assert queues.live(QUEUE, name)["spec"]["resourceGroups"] == groups("12")
    undone(queues, first)
    assert content(queues.live(QUEUE, name)) == before


def test_what_kubectl_set_since_is_asked_about(queues: QueueOffice) -> None:
    """12 by GPU Ledger, 20 by kubectl edit."""
    name, office = queues.make_cluster_queue(), queues.office
    change_set = office.applied(nominal(name, 12))
    path = queues.path(QUEUE, name)
    queues.admin.edit(path, {"spec": {"resourceGroups": groups("20")}})
    draft = asked_undo(queues, change_set)
    step = draft.steps.get()
    assert step.blocked == (
        f"{NOMINAL} was set to 20 by kubectl-edit since; before, it was 4. "
        "It changes only if you select it"
    )
    with pytest.raises(ChangeRefused, match="set to 20 by kubectl-edit"):
        office.approve(draft)
    with somebody() as browser:
        page = html_of(browser.get(f"/changes/{draft.pk}"))
    assert f'value="{QUEUE} {name}"' in page
    discard(draft, version=draft.version, actor="ana", reason="Asked.", at=office.now())
    # another edit does not overwrite it without a word, either
    other = office.planned(edit(QUEUE, name, f"h100/{GPU}/nominalQuota", 9))
    assert "set to 20 by kubectl-edit" in other.steps.get().blocked
    assert queues.live(QUEUE, name)["spec"]["resourceGroups"] == groups("20")
    undone(queues, change_set, f"{QUEUE} {name}")
    assert queues.live(QUEUE, name)["spec"]["resourceGroups"] == groups()


def test_the_command_shows_the_conflict_and_needs_a_flag(
    queues: QueueOffice, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, cluster = queues.make_cluster_queue(), queues.office.cluster.name
    path = tmp_path / "change.yaml"
    path.write_text(
        f"cluster: {cluster}\nreason: Half of it is idle since the index ended.\n"
        f"queues:\n  - {{object: {QUEUE}, name: {name}, field: {NOMINAL}, value: 12}}\n"
    )
    call_command("change_set", "apply", str(path))
    spec = {"spec": {"resourceGroups": groups("20")}}
    queues.admin.edit(queues.path(QUEUE, name), spec)
    for _ in range(2):  # the refused undo does not stand in the way of the next
        with pytest.raises(SystemExit):
            call_command("change_set", "undo", str(path))
        assert "was set to 20 by kubectl-edit since" in capsys.readouterr().err
    assert queues.live(QUEUE, name)["spec"]["resourceGroups"] == groups("20")
    call_command("change_set", "undo", str(path), "--force", f"{QUEUE} {name}")
    assert queues.live(QUEUE, name)["spec"]["resourceGroups"] == groups()


def test_one_field_of_two_is_given_back_and_the_other_stays_ours(
    queues: QueueOffice,
) -> None:
    name, office = made_by(queues, VOLCANO, "kubectl-create"), queues.office
    before = content(queues.live(VOLCANO, name))
    forced = (f"{VOLCANO} {name}",)
    first = office.applied(edit(VOLCANO, name, CAPABILITY, 9), forced=forced)
    second = office.applied(edit(VOLCANO, name, DESERVED, 3))
    undone(queues, first)
    spec = queues.live(VOLCANO, name)["spec"]
    assert (spec["capability"][GPU], spec["deserved"][GPU]) == ("8", "3")
    undone(queues, second)
    assert content(queues.live(VOLCANO, name)) == before


def test_an_object_that_cannot_be_changed_does_not_keep_the_rest(
    queues: QueueOffice,
) -> None:
    name, office = made_by(queues, VOLCANO, "argocd"), queues.office
    other = queues.make_cluster_queue("cq")
    made = office.planned(
        edit(VOLCANO, name, CAPABILITY, 9), nominal(other, 12), quota(4)
    )
    with pytest.raises(ChangeRefused, match="1 of its objects cannot be changed"):
        office.approve(made)
    with somebody() as browser:
        page = html_of(browser.get(f"/changes/{made.pk}"))
        assert "Leave out what cannot be changed" in page
        body = {"version": made.version, "edit": "blocked"}
        ChangeSet.objects.filter(pk=made.pk).update(author_name="ana")
        browser.post(f"/changes/{made.pk}/leave-out", body)
    office.work()
    made.refresh_from_db()
    done = office.apply(office.approve(made))
    assert (done.state, len(done.edits)) == ("applied", 2)
    assert queues.live(QUEUE, other)["spec"]["resourceGroups"] == groups("12")
    assert queues.live(VOLCANO, name)["spec"]["capability"][GPU] == "8"
    assert office.hard()[f"requests.{GPU}"] == "4"


@pytest.mark.parametrize("kind", [VOLCANO, KAI])
def test_a_released_number_goes_back_to_who_had_set_it(
    queues: QueueOffice, kind: str
) -> None:
    """Left out of what is applied, it would be removed: no limit at all."""
    name, office = made_by(queues, kind, "kubectl-create"), queues.office
    before = content(queues.live(kind, name))
    field, value = CHANGED[kind]
    office.applied(edit(kind, name, field, value), forced=(f"{kind} {name}",))
    office.applied(edit(kind, name, field, None, release=True))
    assert content(queues.live(kind, name)) == before
    assert not QueueTarget.objects.exists()


def test_rest_takes_what_an_undo_may_overwrite(queues: QueueOffice) -> None:
    name, office = queues.make_cluster_queue(), queues.office
    change_set = office.applied(nominal(name, 12))
    spec = {"spec": {"resourceGroups": groups("20")}}
    queues.admin.edit(queues.path(QUEUE, name), spec)
    with somebody() as browser:
        answer = browser.post(
            f"/api/v1/change-sets/{change_set.pk}/undo",
            {"reason": REASON, "force": [f"{QUEUE} {name}"]},
            content_type="application/json",
            headers={"Idempotency-Key": "undo-of-this-test"},
        )
    assert answer.status_code == 201, answer.content
    draft = office.plan(ChangeSet.objects.get(pk=answer.json()["id"]))
    office.apply(office.approve(draft))
    assert queues.live(QUEUE, name)["spec"]["resourceGroups"] == groups()


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (VOLCANO, {DESERVED: 3, "weight": 1}),
        (KAI, {"gpu/limit": 8, "gpu/overQuotaWeight": 2, "priority": 7}),
        (QUEUE, {f"a100/{GPU}/borrowingLimit": 4, f"h100/{GPU}/lendingLimit": 2}),
    ],
)
def test_fields_that_were_not_set_are_gone_with_their_containers(
    queues: QueueOffice, kind: str, fields: dict[str, int]
) -> None:
    name, office = queues.name("bare"), queues.office
    spec: dict[str, Any] = {"resources": {"cpu": {"quota": -1}}}
    spec = {KAI: spec, VOLCANO: {"reclaimable": True}}.get(kind, MADE[QUEUE]["spec"])
    queues.make(kind, name, spec=spec)
    before = content(queues.live(kind, name))
    change_set = office.applied(*(edit(kind, name, f, n) for f, n in fields.items()))
    undone(queues, change_set)
    assert content(queues.live(kind, name)) == before


def test_a_number_that_git_applies_too_since_stays(queues: QueueOffice) -> None:
    name, office = queues.name("bare"), queues.office
    queues.make(VOLCANO, name, spec={"reclaimable": True})
    first = office.applied(
        edit(VOLCANO, name, CAPABILITY, 9), edit(VOLCANO, name, DESERVED, 3)
    )
    body = queues.body(VOLCANO, name, spec={"capability": {GPU: "9"}})
    queues.admin.apply(queues.path(VOLCANO, name), body, "argocd")
    undone(queues, first)
    live = queues.live(VOLCANO, name)
    assert live["spec"]["capability"] == {GPU: "9"}
    assert "deserved" not in live["spec"]
    managers = {one["manager"] for one in live["metadata"]["managedFields"]}
    assert managers == {"kubectl-create", "argocd"}
