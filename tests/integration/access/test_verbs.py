"""A verb that a page and REST have is allowed to the same people, about the same object.

The tables of `docs/access.md` name addresses; this is about what exists: change sets, contests,
budgets, what-ifs and files. Each try is valid, and rolled back. Tim led vision when he asked for a
quota, and views it now.
"""

import json
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpResponseBase
from django.test import Client

from accounting.access.models.people import Membership, TeamRole
from accounting.access.models.teams import Team
from accounting.budgets.models import Budget, BudgetUnit
from accounting.exports.models import ExportJob
from accounting.metering.models.cluster import Cluster
from accounting.months.models.contest import Contest, ContestStep
from scheduler_view.changes.actions.change_sets import (
    create,
)
from scheduler_view.changes.models import ChangeSet
from scheduler_view.changes.rules.edit import Draft, QuotaEdit
from scheduler_view.what_if.models import WhatIfRun
from tests.integration.conftest import NOW, SignIn
from tests.story import Story

REASON = "Agreed in the round of November."
PEOPLE = ("omar", "mia", "tim", "luis", "fin", "ana")


@dataclass(frozen=True)
class Pair:
    """One verb: the address and fields of its page, those of REST, and who may do it."""

    page: str
    rest: str
    fields: dict[str, str]
    body: dict[str, Any]
    may: str
    method: str = "post"


VERSION = {"version": "1"}
WHY = {"reason": REASON}
CHANGES = "/changes/{change}/{verb}", "/api/v1/change-sets/{change}/{verb}"
FORMER = "/changes/{former}/{verb}", "/api/v1/change-sets/{former}/{verb}"
CONTEST = "/contests/{open}/{verb}", "/api/v1/contests/{open}/{verb}"
ANSWERED = "/contests/{answered}/{verb}", "/api/v1/contests/{answered}/{verb}"


def verb(name: str, addresses: tuple[str, str], may: str, **more: Any) -> Pair:
    """A verb whose name ends both addresses."""
    page, rest = (one.replace("{verb}", name) for one in addresses)
    fields, body = more.get("fields", VERSION | WHY), more.get("body", WHY)
    return Pair(page, rest, fields, body, may)


PAIRS = {
    "discard": verb("discard", CHANGES, "luis ana"),
    "discard, of one who led": verb("discard", FORMER, "ana"),
    "plan": verb("plan", CHANGES, "ana", body={}),
    "decline": verb("decline", CHANGES, "ana"),
    "answer": verb(
        "answer",
        CONTEST,
        "fin ana",
        fields={"answer": "reason", **WHY},
        body={"answer": "reason", **WHY},
    ),
    "withdraw": verb("withdraw", CONTEST, "luis", body={}),
    "accept": verb("accept", ANSWERED, "luis", body={}),
    "reopen": verb("reopen", ANSWERED, "luis"),
    "end a budget": Pair(
        "/budgets/{budget}/end",
        "/api/v1/budgets/{budget}/end",
        {"ended_on": "2026-11-30", **WHY},
        {"ended_on": "2026-11-30", **WHY},
        "fin ana",
    ),
    "cancel a what-if": verb(
        "cancel",
        ("/what-if/{what_if}/{verb}", "/api/v1/what-ifs/{what_if}/{verb}"),
        "ana",
    ),
    "download a file": Pair(
        "/exports/{export}/file",
        "/api/v1/exports/{export}/file",
        {},
        {},
        "luis fin ana",
        "get",
    ),
    "read a change": Pair(
        "/changes/{change}",
        "/api/v1/change-sets/{change}",
        {},
        {},
        "mia tim luis fin ana",
        "get",
    ),
    "read a contest": Pair(
        "/contests/{open}", "/api/v1/contests/{open}", {}, {}, "luis fin ana", "get"
    ),
}


@pytest.fixture
def objects(story: Story, db: None) -> dict[str, int]:
    """What the verbs are about, all of vision; numbers by their names in addresses."""
    del story, db
    people = get_user_model().objects
    vision, north = Team.objects.get(slug="vision"), Cluster.objects.get(name="north")
    luis, tim = people.get(username="luis"), people.create_user("tim")
    membership = Membership.objects.create(user=tim, team=vision, role=TeamRole.LEAD)
    found = {"change": _asked(luis), "former": _asked(tim)}
    membership.role = TeamRole.VIEWER
    membership.save()
    for state in ("open", "answered"):
        contest = Contest.objects.create(
            team=vision,
            period=f"2026-0{len(found)}",
            revision=1,
            of="statement",
            title="The whole statement",
            currency="EUR",
            state=state,
        )
        ContestStep.objects.create(
            contest=contest, act="contested", text=REASON, by=luis, at=NOW
        )
        found[state] = contest.pk
    budget, _ = Budget.objects.get_or_create(
        team=vision, unit=BudgetUnit.QUARTER, currency="EUR"
    )
    budget.versions.create(number=1, amount=10, from_on="2026-10-01")
    what_if = WhatIfRun.objects.create(
        cluster=north, request={"scenarios": [{"name": "all"}]}, requested_at=NOW
    )
    export = ExportJob.objects.create(
        what="charges",
        period="2026-10",
        profile="focus-1.4",
        team="vision",
        format="csv",
        requested_by=luis,
        requested_at=NOW,
    )
    return found | {
        "budget": budget.pk,
        "what_if": what_if.pk,
        "export": export.pk,
    }


def _asked(author: User) -> int:
    """A request of a lead for a quota of vision."""
    edit = QuotaEdit(
        team="vision", resource="nvidia.com/gpu", gpus=len(author.username)
    )
    made: ChangeSet = create(
        cluster=Cluster.objects.get(name="north"),
        draft=Draft([edit], REASON),
        actor=author,
        at=NOW,
    )
    return made.pk


def _is_allowed(answer: HttpResponseBase) -> bool:
    """Whether it was not refused to this person; a file that is not written yet is 409."""
    assert answer.status_code in (200, 201, 202, 302, 403, 404, 409), answer
    return answer.status_code not in (403, 404)


def _tried(client: Client, method: str, address: str, **fields: Any) -> bool:
    """Whether a person may do it; nothing stays of it."""
    with transaction.atomic():
        answer = getattr(client, method)(address, **fields)
        transaction.set_rollback(True)
    return _is_allowed(answer)


@pytest.mark.parametrize("name", PAIRS)
def test_a_page_and_rest_allow_a_verb_to_the_same_people(
    sign_in: SignIn, objects: dict[str, int], name: str
) -> None:
    pair = PAIRS[name]
    page, rest = (one.format(**objects) for one in (pair.page, pair.rest))
    body: dict[str, Any] = {}
    if pair.method == "post":
        body = {"data": json.dumps(pair.body), "content_type": "application/json"}
    fields = {"data": pair.fields} if pair.method == "post" else {}
    on_page, over_rest = [], []
    for person in PEOPLE:
        client = sign_in(person)
        if _tried(client, pair.method, page, **fields):
            on_page.append(person)
        headers = {"If-Match": '"1"'} if pair.method == "post" else {}
        if _tried(client, pair.method, rest, headers=headers, **body):
            over_rest.append(person)
    assert (on_page, over_rest) == (pair.may.split(), pair.may.split())


def test_a_person_who_led_sees_no_button_to_discard(
    sign_in: SignIn, objects: dict[str, int]
) -> None:
    address = f"/changes/{objects['former']}"
    assert f"{address}/discard" not in sign_in("tim").get(address).content.decode()
    own = f"/changes/{objects['change']}"
    assert f"{own}/discard" in sign_in("luis").get(own).content.decode()
