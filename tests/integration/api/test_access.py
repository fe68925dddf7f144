"""Who gets what by a token: rows of teams, and what is not there. Deny unless granted.

One address of every route, as each person in a session, is
tests/integration/access/test_routes.py's.

Ana is an admin, Fin finance, Luis leads vision, Mia views vision and speech, Omar is in no
team; "" has no token.
"""

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from accounting.access.models.teams import Team
from accounting.organization.actions.tokens import SCOPES
from tests.integration.api.conftest import CSV, Ask, problem
from tests.story import TEAMS, Story

PEOPLE = ("", "omar", "mia", "luis", "fin", "ana")
EXPECTED: dict[str, tuple[int, ...]] = {
    "usage?by=pod": (401, 200, 200, 200, 200, 200),
    "usage?team=vision": (401, 404, 200, 200, 200, 200),
    "usage?team=speech": (401, 404, 200, 404, 200, 200),
    "usage?team=search": (401, 404, 404, 404, 200, 200),
    "usage?team=vision&team=search": (401, 404, 404, 404, 200, 200),
    "usage?team=unmapped": (401, 404, 404, 404, 200, 200),
    "usage?team=nobody": (401, 404, 404, 404, 404, 404),
    "explanation": (401, 200, 200, 200, 200, 200),
    "explanation?team=vision": (401, 404, 200, 200, 200, 200),
    "explanation?team=search": (401, 404, 404, 404, 200, 200),
    "explanation?what=ledger": (401, 404, 404, 404, 200, 200),
    "ledger?by=gpu": (401, 404, 404, 404, 200, 200),
    "holds?team=vision": (401, 404, 200, 200, 200, 200),
    "holds?team=search": (401, 404, 404, 404, 200, 200),
    "gpu-holders?team=vision": (401, 404, 200, 200, 200, 200),
    "gpu-holders?team=search": (401, 404, 404, 404, 200, 200),
    "gpu-steps": (401, 404, 404, 404, 400, 400),
    "budgets?team=vision": (401, 404, 404, 200, 200, 200),
    "budgets?team=search": (401, 404, 404, 404, 200, 200),
    "contests?team=search": (401, 404, 404, 404, 200, 200),
    "contests/1": (401, 404, 404, 404, 404, 404),
    "bills/1/variance": (401, 404, 404, 404, 404, 404),
    "periods/2026-11/bill-variance": (401, 404, 404, 404, 200, 200),
    "recommendations?team=search": (401, 404, 404, 404, 200, 200),
    "waste?team=search": (401, 404, 404, 404, 200, 200),
    "waste-bridge?team=search": (401, 404, 404, 404, 200, 200),
    "anomalies?team=search": (401, 404, 404, 404, 200, 200),
    "quotas?team=vision": (401, 404, 200, 200, 200, 200),
    "quotas?team=search": (401, 404, 404, 404, 200, 200),
    "limits?team=vision": (401, 404, 200, 200, 200, 200),
    "limits?team=search": (401, 404, 404, 404, 200, 200),
    "waiting?team=vision": (401, 404, 200, 200, 200, 200),
    "waiting?team=search": (401, 404, 404, 404, 200, 200),
    "queued-units?team=vision": (401, 404, 200, 200, 200, 200),
    "queued-units?team=search": (401, 404, 404, 404, 200, 200),
    "preemptions?team=search": (401, 404, 404, 404, 200, 200),
    "change-sets?team=search": (401, 404, 404, 404, 200, 200),
    "change-sets/1": (401, 404, 404, 404, 404, 404),
    "what-ifs/1": (401, 404, 404, 404, 404, 404),
    "nothing-here": (401, 404, 404, 404, 404, 404),
    "schema": (200, 200, 200, 200, 200, 200),  # of the program, not of the data
    "docs": (200, 200, 200, 200, 200, 200),
}
LISTS = (
    *("usage", "ledger", "holds", "teams", "bindings", "prices", "clusters"),
    *(
        "gpus",
        "gpu-holders",
        "audit",
        "quotas",
        "limits",
        "tiers",
        "queues",
        "queue-values",
        "waiting",
        "preemptions",
    ),
)
WRITES = ("teams", "bindings", "prices")
READS = tuple(scope for scope in SCOPES if scope.startswith("read:"))
INCOMPLETE = ("read:gpu-steps",)  # the list of one GPU, which the address does not name


@pytest.mark.parametrize(
    ("address", "name", "status"),
    [
        (address, name, status)
        for address, row in EXPECTED.items()
        for name, status in zip(PEOPLE, row, strict=True)
    ],
)
def test_an_address_answers_each_person(
    ask: Ask, address: str, name: str, status: int
) -> None:
    answer = ask(name).get(f"/api/v1/{address}")
    assert answer.status_code == status
    if status >= 400:
        problem(answer)
    if status == 401:
        assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_what_is_hidden_and_what_is_not_there_look_the_same(ask: Ask) -> None:
    client = ask("luis")
    hidden = problem(client.get("/api/v1/usage?team=search"))
    missing = problem(client.get("/api/v1/usage?team=nobody"))
    for document in (hidden, missing):
        del document["instance"]
    assert hidden == missing


@pytest.mark.parametrize(
    ("name", "teams"),
    [
        ("omar", set()),
        ("luis", {"vision"}),
        ("mia", {"vision", "speech"}),
        ("fin", {team[0] for team in TEAMS} | {"unmapped"}),
        ("ana", {team[0] for team in TEAMS} | {"unmapped"}),
    ],
)
def test_each_person_reads_the_rows_of_their_teams(
    ask: Ask, name: str, teams: set[str]
) -> None:
    client = ask(name)
    for by in ("team", "team,namespace", "team,workload", "team,day"):
        rows = client.get(f"/api/v1/usage?by={by}&limit=5000").json()["rows"]
        assert {row["team"] for row in rows} == teams, by
    rows = client.get("/api/v1/teams").json()["rows"]
    assert {row["slug"] for row in rows} == teams - {"unmapped"}
    rows = client.get("/api/v1/bindings").json()["rows"]
    assert {row["team"] for row in rows} == teams - {"unmapped"}


def test_a_row_without_a_team_dimension_is_of_the_askers_teams(ask: Ask) -> None:
    by_team = ask("ana").get("/api/v1/usage?by=team").json()["rows"]
    ours = next(row for row in by_team if row["team"] == "vision")
    [total] = ask("luis").get("/api/v1/usage?by=").json()["rows"]
    assert total["allocated_ms"] == ours["allocated_ms"]
    spaces = ask("luis").get("/api/v1/usage?by=namespace").json()["rows"]
    assert [row["namespace"] for row in spaces] == ["vision-prod"]
    hidden = ask("luis").get("/api/v1/usage?by=pod&namespace=search-prod").json()
    assert hidden["rows"] == []


def test_costs_are_for_finance_and_admins(ask: Ask) -> None:
    for name, is_shown in (("luis", False), ("fin", True), ("ana", True)):
        rows = ask(name).get("/api/v1/prices").json()["rows"]
        assert any(row["kind"] == "rate" for row in rows)
        assert any(row["kind"] == "cost" for row in rows) == is_shown
        for row in rows:
            assert (row["rate_per_gpu_hour"] is None) == (row["kind"] == "cost")
            assert (row["cost_per_gpu_hour"] is None) == (row["kind"] == "rate")
    assert ask("omar").get("/api/v1/prices").json()["rows"] == []
    assert ask("omar").get("/api/v1/clusters").json()["rows"] == []


@pytest.mark.parametrize("name", PEOPLE[:-1])
@pytest.mark.parametrize("address", WRITES)
def test_only_admins_write(ask: Ask, name: str, address: str) -> None:
    answer = ask(name).post(f"/api/v1/{address}", {}, content_type="application/json")
    assert answer.status_code == (403 if name else 401)
    problem(answer)


@pytest.mark.parametrize("scope", READS)
def test_a_list_is_read_with_its_scope_and_with_no_other(ask: Ask, scope: str) -> None:
    address = f"/api/v1/{scope.removeprefix('read:')}"
    answer = ask("ana", scopes=(scope,)).get(address)
    assert answer.status_code == (400 if scope in INCOMPLETE else 200)
    answer = ask("ana", scopes=tuple({*SCOPES} - {scope})).get(address)
    assert answer.status_code == 403
    assert "scopes" in problem(answer)["detail"]


@pytest.mark.parametrize("address", WRITES)
def test_a_token_that_reads_does_not_write(ask: Ask, address: str) -> None:
    client = ask("ana", scopes=(f"read:{address}",))
    answer = client.post(f"/api/v1/{address}", {}, content_type="application/json")
    assert answer.status_code == 403
    writer = ask("ana", scopes=(f"write:{address}",))
    answer = writer.post(f"/api/v1/{address}", {}, content_type="application/json")
    assert answer.status_code == 400  # allowed, and the body is wrong
    assert writer.get(f"/api/v1/{address}").status_code == 403


@pytest.mark.parametrize("address", [*LISTS, "data-issues"])
def test_nothing_is_changed_or_deleted_in_place(ask: Ask, address: str) -> None:
    client = ask("ana")
    for method in ("put", "patch", "delete"):
        answer = getattr(client, method)(f"/api/v1/{address}")
        assert answer.status_code == 405
        assert answer.headers["Allow"].startswith("GET, ")
        problem(answer)


@pytest.mark.parametrize("accept", ["text/csv", "application/json", "text/html", "*/*"])
@pytest.mark.parametrize("name", ["", "luis"])
@pytest.mark.parametrize("address", ["usage", "teams", "change-sets", "docs", "schema"])
def test_options_names_the_methods(
    ask: Ask, address: str, name: str, accept: str
) -> None:
    headers = {"Accept": accept}
    answer = ask(name).options(f"/api/v1/{address}", headers=headers)
    is_open = name or address in ("docs", "schema")
    offered = accept in ("application/json", "*/*")
    assert answer.status_code == (401 if not is_open else 204 if offered else 406)
    if is_open:
        post = "POST, " if address in ("teams", "change-sets") else ""
        assert answer.headers["Allow"] == f"GET, {post}HEAD, OPTIONS"


def test_a_head_has_no_body_and_the_same_rights(ask: Ask) -> None:
    assert ask("").head("/api/v1/usage").status_code == 401
    assert ask("luis").head("/api/v1/ledger").status_code == 404
    answer = ask("luis").head("/api/v1/usage")
    assert (answer.status_code, answer.content) == (200, b"")


def test_refusals_are_problem_documents_also_for_csv(ask: Ask) -> None:
    for name, address, status in (
        ("", "usage", 401),
        ("luis", "ledger", 404),
        ("ana", "usage?by=colour", 400),
    ):
        answer = ask(name).get(f"/api/v1/{address}", headers=CSV)
        assert answer.status_code == status
        problem(answer)


def test_a_person_who_is_switched_off_is_refused_at_once(
    ask: Ask, story: Story
) -> None:
    client = ask("luis")
    assert client.get("/api/v1/usage").status_code == 200
    get_user_model().objects.filter(username="luis").update(is_active=False)
    answer = client.get("/api/v1/usage")
    assert answer.status_code == 401
    problem(answer)


def test_a_person_who_leaves_a_team_reads_it_no_more(ask: Ask, story: Story) -> None:
    client = ask("luis")
    Team.objects.get(slug="vision").memberships.all().delete()
    assert client.get("/api/v1/usage").json()["rows"] == []
    assert client.get("/api/v1/usage?team=vision").status_code == 404


def test_a_session_reads_and_needs_the_form_token_to_write(
    story: Story, db: None
) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(get_user_model().objects.get(username="ana"))
    assert strict.get("/api/v1/ledger").status_code == 200
    answer = strict.post("/api/v1/teams", {}, content_type="application/json")
    assert answer.status_code == 403
    assert "CSRF" in problem(answer)["detail"]
