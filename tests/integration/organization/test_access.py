"""Who may open what: pages of other teams, and what is not there. Deny unless granted.

One address of every route, as each of the cast, is tests/integration/access/test_routes.py's.

Ana is an admin, Fin finance, Luis leads vision, Mia is in vision and speech, Omar in none.
"""

import pytest
from django.test import Client
from django.urls import reverse

from tests.integration.conftest import SignIn
from tests.page_html import html_of
from tests.story import Story

PEOPLE = ("ana", "fin", "luis", "mia", "omar")
OTHER = "/teams/search"
EXPECTED: dict[str, tuple[int, int, int, int, int]] = {
    OTHER: (200, 200, 404, 404, 404),
    f"{OTHER}/workloads": (200, 200, 404, 404, 404),
    f"{OTHER}/rules": (200, 200, 404, 404, 404),
    f"{OTHER}/quota": (200, 200, 404, 404, 404),
    "/teams/nobody": (404, 404, 404, 404, 404),
    "/gpus/GPU-none": (404, 404, 404, 404, 404),
    "/explain?what=charge&team=search": (200, 200, 404, 404, 404),
    "/explain?what=charge&team=unmapped": (200, 200, 404, 404, 404),
    "/explain?what=ledger": (200, 200, 404, 404, 404),
    "/explain?what=secrets": (404, 404, 404, 404, 404),
    "/quotas/yaml?cluster=north&team=search": (200, 200, 404, 404, 404),
}


@pytest.mark.parametrize(
    ("path", "name", "status"),
    [
        (path, name, status)
        for path, row in EXPECTED.items()
        for name, status in zip(PEOPLE, row, strict=True)
    ],
)
def test_a_page_answers_each_person(
    sign_in: SignIn, path: str, name: str, status: int
) -> None:
    assert sign_in(name).get(path).status_code == status


@pytest.mark.django_db
@pytest.mark.parametrize(
    "path", [path for path in EXPECTED if path != "/explain?what=secrets"]
)
def test_nobody_sees_a_page_without_signing_in(client: Client, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 302
    assert answer.headers["Location"].startswith("/sign-in?next=")


def test_a_lead_lands_on_the_only_team(sign_in: SignIn) -> None:
    answer = sign_in("luis").get("/?range=last-7-days")
    assert answer.headers["Location"] == "/teams/vision?range=last-7-days"


def test_a_member_of_two_teams_sees_both_and_no_other(sign_in: SignIn) -> None:
    page = html_of(sign_in("mia").get("/teams"))
    assert "Vision" in page
    assert "Speech" in page
    for name in ("Language", "Search", "Robotics", "Unmapped"):
        assert f">{name}<" not in page


def test_someone_without_a_team_is_told_who_can_help(sign_in: SignIn) -> None:
    page = html_of(sign_in("omar").get("/"))
    assert "You are not in a team yet" in page
    assert "An administrator can add you" in page


def test_members_see_their_teams_gpus_only(sign_in: SignIn, story: Story) -> None:
    luis = sign_in("luis")
    page = html_of(luis.get("/gpus")) + html_of(luis.get("/gpus/table"))
    ours = [
        gpu
        for held in story.held
        if held.team and held.team.slug == "vision"
        for gpu in held.gpus
    ]
    others = [
        gpu
        for held in story.held
        if held.team and held.team.slug != "vision"
        for gpu in held.gpus
    ]
    assert all(gpu.uuid in page for gpu in ours)
    assert not any(gpu.uuid in page for gpu in others)


def test_search_finds_nothing_of_other_teams(sign_in: SignIn) -> None:
    page = sign_in("luis").get("/find?q=serving", headers={"HX-Request": "true"})
    assert "rerank-serving" not in html_of(page)
    mine = sign_in("luis").get("/find?q=sweep", headers={"HX-Request": "true"})
    assert "sweep-resnet" in html_of(mine)


def test_a_refusal_says_who_may_and_a_missing_page_does_not_tell(
    sign_in: SignIn,
) -> None:
    refused = html_of(sign_in("luis").get("/audit"))
    assert "finance and administrators" in refused
    missing = html_of(sign_in("luis").get(OTHER))
    assert "or it belongs to a team that you are not in" in missing


def test_administration_is_in_the_navigation_of_those_who_may(sign_in: SignIn) -> None:
    admin = html_of(sign_in("ana").get("/teams"))
    member = html_of(sign_in("mia").get("/teams"))
    assert f'href="{reverse("setup")}"' in admin
    assert f'href="{reverse("setup")}"' not in member
    assert f'href="{reverse("prices")}"' in member
    assert f'href="{reverse("prices")}"' not in html_of(sign_in("omar").get("/teams"))


@pytest.mark.parametrize("name", ["fin", "luis", "omar"])
def test_only_admins_change_prices_and_rules(sign_in: SignIn, name: str) -> None:
    client = sign_in(name)
    assert client.post("/prices/new", {"model": "x"}).status_code == 403
    assert client.post("/attribution/new", {"glob": "x"}).status_code == 403
    assert client.post("/attribution/1/end", {}).status_code == 403
