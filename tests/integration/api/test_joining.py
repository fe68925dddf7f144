"""Edits that join an open change set over the API, and leave it: who, when, and what is kept."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone

from accounting.access.models.people import Person
from accounting.access.scope import Scope
from accounting.kit.inbox import Asker
from scheduler_view.changes.models import ChangeSet
from scheduler_view.changes.reads.drafts import asked_before, editors
from scheduler_view.inbox.reads import counts_by_place
from tests.integration.api.conftest import Ask, problem
from tests.integration.api.test_changes import EDIT, JSON, REASON, made, planned, post

SEARCH = EDIT | {"team": "search", "gpus": 3}
TIER = {"kind": "tier", "name": "batch", "value": 2000}


def join(client: Any, number: int, *edits: dict[str, Any], **more: Any) -> Any:
    version = more.pop("version", None)
    headers = {} if version is None else {"If-Match": f'"{version}"'}
    address = f"/api/v1/change-sets/{number}"
    values = {"edits": list(edits), **more}
    return client.patch(address, values, content_type=JSON, headers=headers)


def test_edits_join_a_draft_and_replace_those_of_the_same_object(ask: Ask) -> None:
    ana = ask("ana")
    number = made(ana, EDIT, SEARCH)["id"]
    answer = join(ana, number, TIER, EDIT | {"gpus": 9}, version=1)
    assert answer.status_code == 200
    found = answer.json()
    assert answer.headers["ETag"] == f'"{found["version"]}"' == '"2"'
    asked = [(e.get("team") or e["name"], e.get("gpus")) for e in found["edits"]]
    assert asked == [("vision", 9), ("search", 3), ("batch", None)]
    assert found["reason"] == REASON
    before = asked_before(number)
    assert [(key, one["gpus"]) for key, one in before.items()] == [
        (("vision", "nvidia.com/gpu", ""), 8)
    ]
    again = join(ana, number, EDIT, version=2, reason="Eight after all, as agreed.")
    assert again.json()["reason"] == "Eight after all, as agreed."
    assert asked_before(number)["vision", "nvidia.com/gpu", ""]["gpus"] == 9


def test_a_plan_is_void_once_an_edit_joins(ask: Ask) -> None:
    ana = ask("ana")
    number = made(ana)["id"]
    planned(number)
    found = join(ana, number, SEARCH, version=7).json()
    assert (found["state"], found["plan_expires_at"], found["summary"]) == (
        "draft",
        None,
        "",
    )
    late = post(ana, f"/{number}/approve", {}, **{"If-Match": '"7"'})
    assert late.status_code == 409  # what was reviewed is not what would be applied
    assert "draft" in problem(late)["detail"].lower()


@pytest.mark.parametrize(
    "state",
    ["approved", "scheduled", "applied", "refused", "expired", "declined", "discarded"],
)
def test_what_is_decided_takes_no_more_edits(ask: Ask, state: str) -> None:
    ana = ask("ana")
    number = made(ana)["id"]
    ChangeSet.objects.filter(pk=number).update(state=state)
    answer = join(ana, number, SEARCH, version=1)
    assert answer.status_code == 409
    assert f"is {state}" in problem(answer)["detail"]
    assert "create a new change set" in problem(answer)["detail"]
    assert len(ChangeSet.objects.get(pk=number).edits) == 1


def test_an_undo_keeps_its_edits(ask: Ask) -> None:
    ana = ask("ana")
    first, back = made(ana)["id"], made(ana)["id"]
    ChangeSet.objects.filter(pk=back).update(undoes_id=first)
    answer = join(ana, back, SEARCH, version=1)
    assert answer.status_code == 409
    assert f"undoes CS-{first}" in problem(answer)["detail"]


@pytest.mark.parametrize(
    ("edits", "version", "status"),
    [
        ([SEARCH], None, 428),
        ([SEARCH], 99, 412),
        ([], 1, 400),
        ([SEARCH, SEARCH], 1, 400),
        ([SEARCH | {"gpus": -1}], 1, 400),
        ([SEARCH | {"team": "nobody"}], 1, 400),
        ([SEARCH | {"version": 4}], 1, 409),
    ],
)
def test_bad_joins_are_refused_and_write_nothing(
    ask: Ask, edits: list[dict[str, Any]], version: int | None, status: int
) -> None:
    ana = ask("ana")
    number = made(ana)["id"]
    answer = join(ana, number, *edits, version=version)
    assert answer.status_code == status
    problem(answer)
    kept = ChangeSet.objects.get(pk=number)
    assert (len(kept.edits), kept.version) == (1, 1)


def test_leads_join_their_own_with_their_teams_only(ask: Ask) -> None:
    luis = ask("luis")
    own, others = made(luis)["id"], made(ask("ana"))["id"]
    assert join(luis, own, EDIT | {"gpus": 2}, version=1).status_code == 200
    assert join(luis, own, SEARCH, version=2).status_code == 403
    assert join(luis, others, EDIT, version=1).status_code == 403
    assert join(ask("mia"), own, EDIT, version=2).status_code == 403
    assert join(ask("omar"), own, EDIT, version=2).status_code == 403


def test_who_joined_an_edit_is_not_the_second_person(ask: Ask) -> None:
    number = made(ask("ana"))["id"]
    for name in ("bea", "cleo"):
        user = get_user_model().objects.create_user(name)
        Person.objects.create(user=user, role="admin")
    assert join(ask("bea"), number, SEARCH, version=1).status_code == 200
    assert editors(number) == {"ana", "bea"}
    planned(number)
    now = timezone.now()
    valid = now + timedelta(minutes=5)
    ChangeSet.objects.update(needs_second=True, plan_expires_at=valid)
    admin = Scope(None, is_admin=True)
    waiting = {
        n: counts_by_place(Asker(admin, 0, n, now))["changes"]
        for n in ("ana", "bea", "cleo")
    }
    assert waiting == {"ana": 0, "bea": 0, "cleo": 1}
    refused = post(ask("bea"), f"/{number}/approve", {}, **{"If-Match": '"7"'})
    assert refused.status_code == 409
    assert "a person who edited it" in problem(refused)["detail"]
    agreed = post(ask("cleo"), f"/{number}/approve", {}, **{"If-Match": '"7"'})
    assert agreed.json()["approved_by"] == "cleo"
