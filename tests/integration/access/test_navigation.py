"""The navigation of each person: its entries and tabs, and which of them a page marks.

The cast: Ana is an admin, Fin finance, Luis leads vision, Mia views vision and speech, Omar is in
no team. Pages with a row of their own are in tests/browser/test_every_page.py.
"""

import re
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.auth import get_user_model

from accounting.access.models.people import Membership, TeamRole
from accounting.access.scope import EVERYTHING, scope_of
from portal.shell.navigation import NAVIGATION, place_of
from tests.integration.access.routes import PAGES, PEOPLE
from tests.integration.conftest import SignIn
from tests.page_html import html_of
from tests.story import Story

SETTINGS = "Prices, Data health, Account, Notifications, API"
WHOLE = {
    "Overview": "Overview, Explore",
    "Teams": "Teams",
    "Workloads": "Waiting, Idle now",
    "GPUs": "GPUs and nodes, Pools",
    "Quotas": "Quotas, Limits, Changes, Tiers",
    "Savings": "Recommendations, Waste, Unusual days, Before and after",
    "Billing": "Months, Charges, Contests, Bills, Exports",
    "Budgets": "Budgets",
    "Settings": "Prices, Attribution, Data health, Audit log, Account, Notifications, API",
}
OF_ADMIN = {
    "Savings": "Recommendations, Waste, Unusual days, Before and after, What-if",
    "Settings": (
        "Prices, Attribution, People, Teams and cost centers, Data health, Audit log, Setup, "
        "Account, Notifications, API"
    ),
}
SHOWN: dict[str, dict[str, str]] = {
    "ana": WHOLE | OF_ADMIN,
    "fin": WHOLE,
    "luis": {
        "Overview": "Overview, Explore, Budgets",
        "Workloads": "Waiting, Idle now",
        "GPUs": "GPUs and nodes, Pools",
        "Quotas": "Quotas, Limits, Changes, Tiers",
        "Savings": "Recommendations, Waste, Unusual days",
        "Billing": "Charges, Contests, Exports",
        "Settings": SETTINGS,
    },
    "mia": {
        "Overview": "Overview, Teams, Explore",
        "Workloads": "Waiting",
        "GPUs": "GPUs and nodes, Pools",
        "Quotas": "Quotas, Limits, Changes, Tiers",
        "Settings": SETTINGS,
    },
    "omar": {
        "Overview": "Overview",
        "GPUs": "GPUs and nodes",
        "Quotas": "Quotas, Limits",
        "Settings": "Data health, Account, Notifications, API",
    },
}
"""Entries of each person with their tabs: nine, a lead seven."""

WITHOUT_A_MARK = {"/find"}  # its link is beside the brand, and is marked itself
NOT_FOR_OMAR = {"/queues"}
"""A page that opens without a team, to say so; nothing leads there."""


@dataclass(frozen=True)
class Found:
    """A link of the navigation: what is written on it, where it leads, and its mark."""

    label: str
    url: str
    current: str


def links(answer: Any, css: str) -> list[Found]:
    """The entries (`nav-link`) or the tabs (`tab`) of a page."""
    found = []
    pattern = rf'<a class="{css}" href="([^"]*)"([^>]*)>(.*?)</a>'
    for url, rest, inner in re.findall(pattern, html_of(answer)):
        current = re.search(r'aria-current="(\w+)"', rest)
        label = re.sub(r"<[^>]+>", "", inner).partition(",")[0].strip()
        found.append(Found(label, url, current[1] if current else ""))
    return found


@pytest.mark.parametrize("name", PEOPLE)
def test_a_person_has_entries_and_each_of_their_tabs_opens(
    sign_in: SignIn, name: str
) -> None:
    client = sign_in(name)
    entries = links(client.get("/account"), "nav-link")
    assert [one.label for one in entries] == [*SHOWN[name]]
    for item in NAVIGATION:
        scope = scope_of(get_user_model().objects.get(username=name))
        tabs = item.tabs_for(scope)
        if item.label not in SHOWN[name]:
            assert tabs == [], item.label
            continue
        assert ", ".join(tab.label for tab in tabs) == SHOWN[name][item.label]
        [entry] = [one for one in entries if one.label == item.label]
        page = client.get(entry.url, follow=True)
        assert page.status_code == 200
        assert [one.label for one in links(page, "nav-link") if one.current] == [
            item.label
        ]
        for tab in links(page, "tab"):
            opened = client.get(tab.url, follow=True)
            assert opened.status_code == 200, tab
            if tab.label not in ("API", "Overview"):  # API has a frame of its own
                [current] = [one for one in links(opened, "tab") if one.current]
                assert (current.label, current.current) == (tab.label, "page")


@pytest.mark.parametrize("name", PEOPLE)
def test_every_page_marks_one_entry(sign_in: SignIn, name: str) -> None:
    client = sign_in(name)
    wrong = {}
    seen = 0
    for route in PAGES.values():
        codes = route.get
        if not codes or codes[PEOPLE.index(name)] != 200 or "{" in route.at:
            continue
        answer = client.get(route.at)
        if 'class="frame"' not in html_of(answer):
            continue
        path = route.at.partition("?")[0]
        marked = [one.label for one in links(answer, "nav-link") if one.current]
        none = path in WITHOUT_A_MARK or (name == "omar" and path in NOT_FOR_OMAR)
        if path.startswith("/alerts"):  # marked by the symbol beside the search
            none = re.search(r'"/alerts"\s+aria-current="', html_of(answer)) is not None
        seen += 1
        if len(marked) != (0 if none else 1):
            wrong[route.at] = marked
    assert wrong == {}
    assert seen >= 15


@pytest.mark.parametrize(
    ("path", "entry", "tab"),
    [
        ("/", "Overview", "Overview"),
        ("/overview/changes", "Overview", "Overview"),
        ("/explain", "Overview", "Overview"),
        ("/teams/vision/quota", "Teams", "Teams"),
        ("/queues/7", "Workloads", "Waiting"),
        ("/idle/7/ask", "Workloads", "Idle now"),
        ("/alerts/7/archive", "Alerts", "Alerts"),
        ("/alerts/rules/idle", "Alerts", "Rules"),
        ("/gpus/GPU-1/2", "GPUs", "GPUs and nodes"),
        ("/gpus/pools", "GPUs", "Pools"),
        ("/quotas/file", "Quotas", "Quotas"),
        ("/quotas/limits", "Quotas", "Limits"),
        ("/changes/7", "Quotas", "Changes"),
        ("/tiers/change", "Quotas", "Tiers"),
        ("/recommendations", "Savings", "Recommendations"),
        ("/months/2026-10/methods", "Billing", "Months"),
        ("/statements/vision/2026-10", "Billing", "Months"),
        ("/entries/new", "Billing", "Months"),
        ("/contests/1", "Billing", "Contests"),
        ("/bills/months/2026-10", "Billing", "Bills"),
        ("/budgets/1/change", "Budgets", "Budgets"),
        ("/conversion-rates/new", "Settings", "Prices"),
        ("/data-health/proofs", "Settings", "Data health"),
        ("/clusters/retire", "Settings", "Data health"),
        ("/attribution/1/end", "Settings", "Attribution"),
        ("/people/7/role", "Settings", "People"),
        ("/people/teams/new", "Settings", "Teams and cost centers"),
    ],
)
def test_a_page_below_a_tab_belongs_to_it(path: str, entry: str, tab: str) -> None:
    found = place_of(path, EVERYTHING)
    assert found is not None
    assert (found[0].label, found[1].label) == (entry, tab)


def test_an_address_that_only_begins_like_a_tab_belongs_to_none() -> None:
    assert place_of("/quotasheet", EVERYTHING) is None


def test_a_lead_of_one_team_has_its_tabs_as_overview(sign_in: SignIn) -> None:
    client = sign_in("luis")
    page = client.get("/", follow=True)
    labels = ["Summary", "Workloads", "Quota", "Explore", "Budgets"]
    labels.append("Members and rules")
    assert [one.label for one in links(page, "tab")] == labels
    assert 'href="/teams"' not in html_of(page)
    budgets = client.get("/budgets")
    assert [one.label for one in links(budgets, "tab")] == labels
    assert [one.label for one in links(budgets, "nav-link") if one.current] == [
        "Overview"
    ]


def test_a_lead_of_several_teams_chooses_below_overview(
    sign_in: SignIn, story: Story
) -> None:
    luis = get_user_model().objects.get(username="luis")
    Membership.objects.create(user=luis, team=story.teams["search"], role=TeamRole.LEAD)
    client = sign_in("luis")
    page = client.get("/")
    assert [one.label for one in links(page, "tab")] == [
        "Overview",
        "Teams",
        "Explore",
        "Budgets",
    ]
    team = client.get("/teams/search")
    assert [one.label for one in links(team, "nav-link") if one.current] == ["Overview"]
    assert "Budgets" not in [one.label for one in links(team, "tab")]
    assert 'href="/teams"' in html_of(team)


def test_a_tab_carries_the_range_of_its_page(sign_in: SignIn) -> None:
    page = sign_in("luis").get("/teams/vision?range=last-7-days")
    at = {one.label: one.url for one in links(page, "tab")}
    assert at["Workloads"] == "/teams/vision/workloads?range=last-7-days"
    assert at["Quota"] == "/teams/vision/quota"


@pytest.mark.parametrize(
    ("name", "words", "pages"),
    [
        (
            "ana",
            "savings",
            ["Recommendations", "Waste", "Unusual days", "Before and after", "What-if"],
        ),
        ("luis", "billing", ["Charges", "Contests", "Exports"]),
        ("mia", "months", []),
    ],
)
def test_the_palette_finds_the_tabs_of_an_entry(
    sign_in: SignIn, name: str, words: str, pages: list[str]
) -> None:
    answer = sign_in(name).get(f"/find?q={words}", headers={"HX-Request": "true"})
    found = re.findall(r'<a class="menu-item" href="[^"]*">([^<]+)', html_of(answer))
    assert [label.strip() for label in found] == pages


def test_an_old_address_of_a_pool_leads_to_it(sign_in: SignIn) -> None:
    answer = sign_in("luis").get("/queues?pool=north%2Fgpu%2FA100&cluster=north")
    assert answer.status_code == 302
    assert answer.headers["Location"] == (
        "/gpus/pools?pool=north%2Fgpu%2FA100&cluster=north"
    )


def test_a_family_is_below_the_workloads_of_its_team(sign_in: SignIn) -> None:
    page = sign_in("luis").get("/teams/vision/families/vision-prod/sweep-resnet")
    marked = [one for one in links(page, "tab") if one.current]
    assert [(one.label, one.current) for one in marked] == [("Workloads", "true")]
