"""A link that somebody else made, about teams that the reader may see and about others.

Covers the pages with a filter by team. `test_access.py` covers that data of other teams
stays hidden.
"""

import re
from collections.abc import Iterator
from html import unescape

import pytest
import time_machine
from django.test import Client

from tests.integration.conftest import NOW, SignIn
from tests.page_html import html_of

SECRET, INVENTED = "search", "no-such-team"  # one is a team, the other is not


@pytest.fixture(autouse=True)
def clock_stands_still() -> Iterator[None]:
    """A page says when it was made; two pages are compared."""
    with time_machine.travel(NOW, tick=False):
        yield


def said(client: Client, path: str) -> tuple[str, str]:
    """Where a link ends, and what the page says of it."""
    answer = client.get(path, follow=True)
    assert answer.status_code == 200
    page = html_of(answer)
    address = answer.redirect_chain[-1][0] if answer.redirect_chain else path
    strips = re.findall(r'<div class="strip warn" role="status">.*?<p>(.*?)</p>', page)
    return address, unescape(" ".join(strips))


def test_a_link_about_another_team_says_so_to_who_has_one(sign_in: SignIn) -> None:
    client = sign_in("luis")
    for slug in (SECRET, INVENTED):
        address, words = said(
            client, f"/?team={slug}&range=last-week&model=NVIDIA-L40S"
        )
        assert address == "/teams/vision?range=last-week&model=NVIDIA-L40S"
        assert words == (
            f'This link is about the team "{slug}", which is not one of your teams. '
            "Vision is shown instead."
        )
        assert said(client, address)[1] == ""  # once


@pytest.mark.parametrize("path", ["/", "/teams"])
def test_a_link_about_another_team_says_so_to_who_has_two(
    sign_in: SignIn, path: str
) -> None:
    client = sign_in("mia")
    pages = []
    for slug in (SECRET, INVENTED):
        words = said(client, f"{path}?team={slug}")[1]
        assert words == (
            f'This link is about the team "{slug}", which is not one of your teams. '
            "Your teams are shown instead."
        )
        answer = client.get(f"{path}?team={slug}&team=speech")
        assert [line.key for line in answer.context["teams"].lines] == ["speech"]
        page = html_of(answer)
        assert f"team={slug}" not in page  # its links lead on without it
        page = re.sub(r'name="csrf[^>]*>|content="[^"]{64}"', "", page)
        pages.append(page.replace(f"&quot;{slug}&quot;", "*"))
    assert pages[0] == pages[1]  # nothing tells a hidden team from an invented one


def test_an_old_link_to_the_page_of_ones_team_says_so_too(sign_in: SignIn) -> None:
    for path in ("/teams/vision", "/teams/vision/workloads"):
        words = said(sign_in("luis"), f"{path}?team={SECRET}")[1]
        assert f'about the team "{SECRET}"' in words
        assert words.endswith("Vision is shown instead.")


def test_who_sees_the_team_reads_nothing_of_it(sign_in: SignIn) -> None:
    assert said(sign_in("ana"), f"/?team={SECRET}")[1] == ""
    assert said(sign_in("ana"), f"/teams/vision?team={SECRET}")[1] == ""
    assert said(sign_in("luis"), "/?team=vision")[1] == ""
    assert said(sign_in("mia"), "/?team=vision&team=speech")[1] == ""


def test_several_teams_and_none_of_ones_own(sign_in: SignIn) -> None:
    words = said(sign_in("omar"), f"/?team={SECRET}&team=<b>")[1]
    assert words == (
        'This link is about the teams "search", "<b>", which are not your teams.'
    )
