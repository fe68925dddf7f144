"""The audit list page by page: every change once, to the first one, however many there are."""

import csv
import io
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from structlog.contextvars import bound_contextvars

from accounting.access.models.people import OrganizationRole, Person
from accounting.access.models.teams import Team
from accounting.kit.audit import act
from accounting.kit.reads.paging import Seek
from accounting.organization.actions.teams import save_team
from accounting.organization.reads.audit_entries import (
    AuditFilter,
    AuditRow,
    audit_key,
    audit_page,
    audit_rows,
)
from tests.page_html import html_of

CHANGES = 130
PAGE = 50


@pytest.fixture
def record(db: None) -> Client:
    """A record of some changes, and a browser of finance."""
    for number in range(CHANGES):
        with bound_contextvars(request_id=f"request-{number}"):  # each on its own row
            save_team(
                slug="vision",
                name=f"Vision {number}",
                department="",
                cost_centre="",
                actor="ana",
            )
    connection.check_constraints()  # as a commit does: the chain is made then
    user = get_user_model().objects.create_user("fin")
    Person.objects.create(user=user, role=OrganizationRole.FINANCE)
    connection.check_constraints()
    client = Client()
    client.force_login(user)
    return client


def numbers(answer: Any) -> list[int]:
    """The changes of a page, in its order."""
    return [line.row.id for group in answer.context["groups"] for line in group.lines]


def test_a_page_ends_with_a_whole_request(record: Client) -> None:
    with bound_contextvars(request_id="many"), act("ana", "Teams of the year"):
        for number in range(PAGE + 5):
            Team.objects.create(slug=f"t{number}", name="New")
    connection.check_constraints()
    answer = record.get("/audit?what=team")
    first = answer.context["groups"][0]
    assert len(first.lines) == PAGE + 5
    assert first.summary == (f"{PAGE + 5} teams added",)
    assert len(answer.context["groups"]) == PAGE
    older = record.get(f"/audit{answer.context['older']}")
    assert numbers(older)[0] == numbers(answer)[-1] - 1


def test_pages_are_all_of_the_list(record: Client) -> None:
    del record
    every = list(audit_rows(AuditFilter(what="team"), chunk=7))
    assert len(every) == CHANGES
    found: list[AuditRow] = []
    for _ in range(CHANGES):
        after = audit_key(found[-1]) if found else None
        page = audit_page(AuditFilter(what="team"), Seek(after, PAGE))
        found += page
        if len(page) < PAGE:
            break
    assert found == every


def test_the_page_goes_back_to_the_first_change(record: Client) -> None:
    address, seen = "?what=team", []
    for _ in range(CHANGES):
        answer = record.get(f"/audit{address}")
        seen += numbers(answer)
        if not answer.context["older"]:
            break
        address = answer.context["older"]
    assert len(seen) == len(set(seen)) == CHANGES
    assert seen == sorted(seen, reverse=True)
    assert "No older changes" in html_of(answer)
    newest = record.get(f"/audit{answer.context['newest']}")
    assert numbers(newest) == seen[:PAGE]


def test_rest_goes_back_to_the_first_change_and_no_cursor_grows_stale(
    record: Client,
) -> None:
    seen, cursor = [], ""
    for number in range(CHANGES):
        address = f"/api/v1/audit?what=team&limit={PAGE}{cursor}"
        answer = record.get(address).json()
        seen += [row["after"]["name"] for row in answer["rows"]]
        if number == 0:  # somebody changes something meanwhile
            save_team(
                slug="newer", name="New", department="", cost_centre="", actor="ana"
            )
            connection.check_constraints()
        if answer["next"] is None:
            break
        cursor = f"&cursor={answer['next']}"
    assert seen == [f"Vision {n}" for n in reversed(range(CHANGES))]


def test_a_cursor_fits_its_question(record: Client) -> None:
    found = record.get("/api/v1/audit?what=team&limit=5").json()["next"]
    assert record.get(f"/api/v1/audit?what=team&limit=9&cursor={found}").json()["rows"]
    for wrong in (f"/api/v1/audit?cursor={found}", "/api/v1/audit?cursor=MQ"):
        answer = record.get(wrong)
        assert answer.status_code == 400
        assert answer.json()["errors"][0]["parameter"] == "cursor"


@pytest.mark.parametrize(
    ("address", "headers"),
    [
        ("/audit?csv=audit&what=team", {}),
        ("/audit?csv=audit&what=team&before=2", {}),
        ("/api/v1/audit?what=team", {"Accept": "text/csv"}),
    ],
)
def test_a_file_has_every_change(
    record: Client, address: str, headers: dict[str, str]
) -> None:
    answer = record.get(address, headers=headers)
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert "no-store" in answer.headers["Cache-Control"]
    lines = list(csv.reader(io.StringIO(answer.getvalue().decode())))
    assert lines[0][:4] == ["id", "at", "actor", "action"]
    assert len(lines) == CHANGES + 1


def test_a_file_of_nothing_has_a_head(record: Client) -> None:
    text = record.get("/audit?csv=audit&actor=nobody").getvalue().decode()
    assert text == (
        "id,at,actor,action,what,object,reason,request_id,address,before,after,"
        "by_worker,requested_by\n"
    )


def test_an_odd_place_in_the_list_is_said(record: Client) -> None:
    page = html_of(record.get("/audit?before=x"))
    assert "&#x27;before&#x27; in the address is not a number" in page
    assert record.get("/audit?before=0").context["groups"] == []
