"""A page and its REST twin have the same rights: the tables of `docs/access.md`, executed.

Mia views vision and speech, Luis leads vision, Fin is finance, Ana an admin.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from accounting.access.models.people import TeamRole
from tests.integration.conftest import SignIn
from tests.page_html import html_of
from tests.story import TEAMS, Story

PAGE = Path(__file__).resolve().parents[3] / "docs" / "access.md"
PEOPLE = {"Viewer": "mia", "Lead": "luis", "Finance": "fin", "Admin": "ana"}
OWN = {"mia": {"vision", "speech"}, "luis": {"vision"}}
EVERY = {slug for slug, *_ in TEAMS}
REASON = "Agreed in the round of November."
BODIES: dict[str, dict[str, Any]] = {
    "prices": {
        "model": "NVIDIA-A10",
        "rate_per_gpu_hour": "0.75",
        "valid_from": "2026-11-20",
        "reason": REASON,
    },
    "price-lists": {
        "kind": "rate",
        "name": "Vendor",
        "currency": "USD",
        "reason": REASON,
    },
    "bindings": {
        "kind": "namespace",
        "glob": "scratch",
        "team": "vision",
        "valid_from": "2026-11-20",
        "reason": REASON,
    },
    "conversion-rates": {
        "from_currency": "USD",
        "to_currency": "EUR",
        "on": "2026-11-20",
        "rate": "0.92",
        "reason": REASON,
    },
    "teams": {"slug": "audio", "name": "Audio"},
    "change-sets": {
        "cluster": "north",
        "edits": [
            {"kind": "quota", "team": "vision", "resource": "nvidia.com/gpu", "gpus": 8}
        ],
        "reason": REASON,
    },
}


def rows(heading: str) -> list[dict[str, str]]:
    """The table under a heading: column -> cell."""
    text = PAGE.read_text().partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("|") and not line.startswith("|---")
    ]
    return [dict(zip(lines[0], line, strict=True)) for line in lines[1:]]


def cells(heading: str, column: str) -> list[Any]:
    """Address, person and cell of each pair that the table names in full."""
    return [
        pytest.param(
            row[column].strip("`"), name, row[title], id=f"{row['What']}-{name}"
        )
        for row in rows(heading)
        if row[column].startswith("`")
        for title, name in PEOPLE.items()
    ]


def test_the_tables_are_read() -> None:
    assert len(rows("Reading")) > 15
    assert len(rows("Writing")) > 4
    found = {row[title] for row in rows("Reading") for title in PEOPLE}
    assert found == {"own", "all", "-"}


@pytest.mark.parametrize(("address", "name", "cell"), cells("Reading", "Page"))
def test_a_page_is_as_documented(
    sign_in: SignIn, address: str, name: str, cell: str
) -> None:
    answer = sign_in(name).get(address, follow=True)
    if cell == "-":
        assert answer.status_code in (403, 404)
        return
    assert answer.status_code == 200
    page = html_of(answer)
    if cell == "own":
        for slug, title, *_ in TEAMS:
            if slug not in OWN[name]:
                assert f">{title}<" not in page


@pytest.mark.parametrize(("address", "name", "cell"), cells("Reading", "REST"))
def test_rest_is_as_documented(
    sign_in: SignIn, address: str, name: str, cell: str
) -> None:
    answer = sign_in(name).get(f"/api/v1/{address}")
    assert answer.status_code == (404 if cell == "-" else 200)
    if cell == "own":
        assert teams_of(answer) <= OWN[name]
    elif cell == "all" and "by=team" in address:
        assert teams_of(answer) >= EVERY


def teams_of(answer: Any) -> set[str]:
    """The teams that the rows of a list name; an explanation is one number, without rows."""
    rows = answer.json().get("rows", ())
    found = {row.get("team") or row.get("slug") for row in rows}
    return {str(team) for team in found if team}


def test_costs_are_for_those_who_see_bills(sign_in: SignIn, story: Story) -> None:
    for name in PEOPLE.values():
        client = sign_in(name)
        page = html_of(client.get("/prices"))
        shown = client.get("/api/v1/prices").json()["rows"]
        is_told = name in ("fin", "ana")
        assert (">Cost<" in page) == is_told
        assert any(row["cost_per_gpu_hour"] for row in shown) == is_told
        assert ("No current price for" in page) == is_told  # names the whole fleet
        for row in shown:
            assert row["model"] in page


def test_people_without_a_team_see_neither_prices_nor_tiers_nor_clusters(
    sign_in: SignIn,
) -> None:
    omar = sign_in("omar")
    for name in ("prices", "tiers", "clusters", "quotas", "limits", "teams"):
        assert omar.get(f"/api/v1/{name}").json()["rows"] == []
    for page in ("/prices", "/tiers", "/quotas", "/quotas/limits", "/teams", "/"):
        text = html_of(omar.get(page))
        assert "You are not in a team yet" in text, page
        assert "north" not in text, page
        assert "NVIDIA" not in text, page


@pytest.mark.parametrize(("address", "name", "cell"), cells("Writing", "Page"))
def test_a_form_is_as_documented(
    sign_in: SignIn, address: str, name: str, cell: str
) -> None:
    client = sign_in(name)
    assert client.get(address).status_code == (403 if cell == "-" else 200)
    posted = client.post(address, {"cluster": "north", "nothing": "known"})
    assert posted.status_code == (403 if cell == "-" else 422)


@pytest.mark.parametrize(("address", "name", "cell"), cells("Writing", "REST"))
def test_a_write_is_as_documented(
    sign_in: SignIn, address: str, name: str, cell: str
) -> None:
    path = address.removeprefix("POST ")
    body = BODIES.get(path, {})
    if "/1/" in path:
        path = path.replace("/1/", f"/{_request_of_luis(sign_in)}/")
    answer = sign_in(name).post(
        f"/api/v1/{path}",
        json.dumps(body),
        content_type="application/json",
        headers={"If-Match": '"1"'},
    )
    assert answer.status_code == (
        403 if cell == "-" else 202 if "/plan" in path else 201
    )


def _request_of_luis(sign_in: SignIn) -> int:
    answer = sign_in("luis").post(
        "/api/v1/change-sets",
        json.dumps(BODIES["change-sets"]),
        content_type="application/json",
    )
    number: int = answer.json()["id"]
    return number


def test_a_lead_asks_for_teams_that_they_lead_only(sign_in: SignIn) -> None:
    user = get_user_model().objects.get(username="luis")
    assert {m.role for m in user.memberships.all()} == {TeamRole.LEAD}
    body = BODIES["change-sets"]
    others = [{**body["edits"][0], "team": "search"}]
    client: Client = sign_in("luis")
    refused = client.post(
        "/api/v1/change-sets",
        json.dumps(body | {"edits": others}),
        content_type="application/json",
    )
    assert refused.status_code == 403
    assert client.post("/teams/search/quota", {}).status_code == 404


def test_every_address_of_the_tables_is_a_route() -> None:
    """A table that names what is gone would pass as refused."""
    for heading, column in (("Reading", "Page"), ("Reading", "REST")):
        for row in rows(heading):
            if row[column].startswith("`"):
                assert row["Admin"] == "all", row
    assert re.search(r"`accounting/access/rights\.py`", PAGE.read_text())
