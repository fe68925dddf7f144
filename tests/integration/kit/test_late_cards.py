"""Cards that load by themselves: the same for a page and alone, with its rights and its state.

Scripts that ask for them: tests/browser/test_late_cards.py. Who may open them, and how many
statements they ask: tests/integration/access.
"""

import re
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
import time_machine
from django.test import Client
from django.urls import reverse

from accounting.kit.cards import LateCard
from accounting.kit.pages.fragments import card_address, every_card
from tests.integration.conftest import NOW, SignIn
from tests.page_html import html_of

PART = {"HX-Request": "true"}
WEEK = "range=last-7-days"
FILTERED = f"{WEEK}&team=vision&lifecycle=on-demand"
CARD = re.compile(r"<section\b.*</section>", re.DOTALL)


@pytest.fixture(autouse=True)
def right_after_the_story() -> Iterator[None]:
    """The process clock stands still; the story's newest window has just ended."""
    with time_machine.travel(NOW, tick=False):
        yield


def part_of(client: Client, address: str) -> str:
    """What a script gets."""
    answer = client.get(address, headers=PART)
    assert answer.status_code == 200
    return html_of(answer)


def placeholders(page: str) -> dict[str, str]:
    """The address of each card that a page leaves to its scripts, by title."""
    found = re.findall(r'data-card="([^"]+)" hx-get="([^"]+)"', page)
    return {title: address.replace("&amp;", "&") for title, address in found}


@pytest.mark.parametrize("query", ["", WEEK, FILTERED, f"{WEEK}&cmp=off"])
@pytest.mark.parametrize("card", every_card(), ids=lambda card: card.route)
def test_a_card_is_the_same_for_its_page_and_alone(
    sign_in: SignIn, card: LateCard, query: str
) -> None:
    """But for its width, and that its own links change the page which shows it."""
    client = sign_in("ana")
    path = card_address(card, slug="vision")
    address = f"{path}?{query}"
    part = part_of(client, address)
    assert CARD.fullmatch(part.strip())
    page = html_of(client.get(address))
    assert f"<h1>{card.title}</h1>" in page
    whole = CARD.search(page[page.index("<main") :])
    assert whole is not None
    alone = whole[0].replace("s12", card.css, 1)
    page_path = reverse(card.page, args=["vision"] if card.args else [])
    assert alone.replace(f'"{path}?', f'"{page_path}?') == part.strip()


def test_a_card_has_the_state_of_its_page(sign_in: SignIn) -> None:
    found = placeholders(html_of(sign_in("ana").get(f"/?{FILTERED}&page=2&cmp=month")))
    assert {*found} == {"Biggest changes", "Largest idle"}
    for address in found.values():
        assert urlsplit(address).path.startswith("/overview/")
        assert parse_qs(urlsplit(address).query) == {
            "range": ["last-7-days"],
            "team": ["vision"],
            "lifecycle": ["on-demand"],
            "cmp": ["month"],
        }


def test_cards_of_a_team_are_in_its_page_and_of_nobody_elses(sign_in: SignIn) -> None:
    page = html_of(sign_in("mia").get(f"/teams/vision?{WEEK}&lifecycle=on-demand"))
    found = placeholders(page)
    assert {*found} == {"Largest idle", "What to give back", "When it is busy"}
    for address in found.values():
        assert urlsplit(address).path.startswith("/teams/vision/")
        assert parse_qs(urlsplit(address).query) == {
            "range": ["last-7-days"],
            "lifecycle": ["on-demand"],
        }
        assert sign_in("mia").get(address, headers=PART).status_code == 200
        foreign = address.replace("vision", "search")
        assert sign_in("mia").get(foreign, headers=PART).status_code == 404


@pytest.mark.parametrize("asked", ["q=gpu", "sort=-earned", "page=2", "rows=25"])
def test_who_asks_for_rows_has_them_in_the_page(sign_in: SignIn, asked: str) -> None:
    ana = sign_in("ana")
    assert {*placeholders(html_of(ana.get("/gpus?over=hour")))} == {"Each GPU"}
    page = html_of(ana.get(f"/gpus?over=hour&{asked}"))
    assert not placeholders(page)
    assert 'id="table-title"' in page


def test_what_needs_no_statement_is_in_the_page(sign_in: SignIn) -> None:
    """Without anything to compare with there is nothing to wait for."""
    page = html_of(sign_in("ana").get(f"/?{WEEK}&cmp=off"))
    assert {*placeholders(page)} == {"Largest idle"}
    assert "No comparison chosen" in page


@pytest.mark.parametrize("route", ["overview-changes", "overview-idle"])
def test_a_card_is_of_the_teams_of_its_reader(sign_in: SignIn, route: str) -> None:
    address = f"{reverse(route)}?{WEEK}"
    assert "Search" in part_of(sign_in("ana"), address)
    own = part_of(sign_in("mia"), address)
    assert "Vision" in own
    for foreign in ("Search", "Robotics"):
        assert foreign not in own
    asked = part_of(sign_in("mia"), f"{address}&team=search")
    assert "Search" not in asked
    assert asked == part_of(sign_in("mia"), f"{address}&team=nobody")


def test_checks_stay_with_those_who_see_everything(sign_in: SignIn) -> None:
    for headers in (PART, {}):
        answer = sign_in("luis").get("/data-health/proofs", headers=headers)
        assert answer.status_code == 403


@pytest.mark.parametrize("address", ["/", "/overview/idle", "/explain?what=charge"])
def test_what_depends_on_the_header_says_so(sign_in: SignIn, address: str) -> None:
    """A cache between must not give a part to somebody who asks for the page."""
    assert "HX-Request" in sign_in("ana").get(address).headers["Vary"].split(", ")


def test_an_ended_session_leads_to_the_sign_in_page(sign_in: SignIn) -> None:
    answer = Client().get(f"/overview/changes?{WEEK}", headers=PART)
    assert answer.status_code == 302
    assert answer.headers["Location"].startswith("/sign-in?next=/overview/changes")
