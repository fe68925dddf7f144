"""No team is called like another party of the ledger: a statement is read by its slug.

Covers REST, the setup file, the model behind every other way, the scope of a person in a database
of an earlier version that has such a team, and what `verify`, Setup and `rename_team` say of it.
"""

import json
from datetime import date
from pathlib import Path

import pytest
from django.core.exceptions import ValidationError
from django.test import Client

from accounting.access.models.people import Membership, OrganizationRole, TeamRole
from accounting.access.models.teams import Team
from accounting.months.tasks.close import close_period
from accounting.organization.actions.teams import save_team
from accounting.setup.reads import setup_steps
from tests import sessions
from tests.integration.commands.conftest import run
from tests.integration.months.days import Days
from tests.integration.months.people import person

DAY = date(2026, 10, 5)
HOUR = 3_600_000
SLUGS = ("platform", "Platform", "unmapped", "new")
NAMES = ("Platform", " unmapped ")


def client_of(name: str, role: str = OrganizationRole.NONE) -> Client:
    """A browser of a signed-in person."""
    client = Client()
    sessions.give(
        client, person(name, role), "django.contrib.auth.backends.ModelBackend"
    )
    return client


@pytest.fixture
def old_team(days: Days) -> Team:
    """A closed month of a database in which an earlier version made the team `platform`."""
    team = Team.objects.create(slug="platform", name="Platform")
    days.price("A", "2.00")
    days.use("vision", DAY, HOUR, model="A")
    days.use("", DAY, HOUR, model="A", state="free")
    close_period("2026-10")
    return team


@pytest.mark.django_db
@pytest.mark.parametrize("slug", SLUGS)
def test_a_reserved_slug_is_refused(slug: str, tmp_path: Path) -> None:
    ana = client_of("ana", OrganizationRole.ADMIN)
    body = json.dumps({"slug": slug, "name": "Core"})
    answer = ana.post("/api/v1/teams", body, content_type="application/json")
    assert answer.status_code == 400, answer.content
    assert "is reserved for" in answer.content.decode()
    setup = tmp_path / "setup.yaml"
    setup.write_text(f"teams:\n  - slug: {slug}\n    name: Core\n")
    refused = run("configure", str(setup))
    assert refused.code == 2
    assert f"use another, like {slug.lower()}-team" in refused.err
    with pytest.raises(ValidationError, match="is reserved for"):
        save_team(slug=slug, name="Core", department="", cost_centre="", actor="test")
    assert not Team.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_another_party_is_refused(name: str, tmp_path: Path) -> None:
    ana = client_of("ana", OrganizationRole.ADMIN)
    body = json.dumps({"slug": "core", "name": name})
    answer = ana.post("/api/v1/teams", body, content_type="application/json")
    assert answer.status_code == 400
    setup = tmp_path / "setup.yaml"
    setup.write_text(f"teams:\n  - slug: core\n    name: '{name}'\n")
    assert run("configure", str(setup)).code == 2
    assert not Team.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize("role", TeamRole.values)
def test_no_role_in_a_team_opens_the_statement_of_the_platform(
    old_team: Team, role: str
) -> None:
    sol = client_of("sol")
    Membership.objects.create(user=person("sol"), team=old_team, role=role)
    vision = Team.objects.get(slug="vision")
    Membership.objects.create(user=person("sol"), team=vision, role=TeamRole.LEAD)
    for address in (
        "/statements/platform/2026-10",
        "/charges?period=2026-10&team=platform",
        "/months/2026-10/files/charges?team=platform",
        "/teams/platform",
        "/api/v1/statements/platform/2026-10",
        "/api/v1/charges?period=2026-10&team=platform",
    ):
        assert sol.get(address).status_code == 404, address
    listed = sol.get("/api/v1/statements?period=2026-10").json()["rows"]
    assert {row["team"] for row in listed} == {"vision"}
    finance = client_of("finn", OrganizationRole.FINANCE)
    assert finance.get("/statements/platform/2026-10").status_code == 200


@pytest.mark.django_db(transaction=True)
def test_verify_and_setup_name_such_a_team_until_it_is_renamed(old_team: Team) -> None:
    found = run("verify")
    assert found.code == 1
    assert "manage.py rename_team platform platform-team" in found.out
    assert [s.state for s in setup_steps() if "rename_team" in s.advice] == ["bad"]
    refused = run("rename_team", "vision", "seeing")
    assert refused.code == 2
    assert "'vision' is not reserved" in refused.err
    assert run("rename_team", "platform", "unmapped").code == 2
    renamed = run("rename_team", "platform", "platform-team")
    assert renamed.out == "team platform is platform-team now, named Platform team\n"
    old_team.refresh_from_db()
    assert old_team.slug == "platform-team"
    assert run("verify").code == 0
    assert not [s for s in setup_steps() if "rename_team" in s.advice]
