"""Filters: kept in the address, shown as chips, in force for every number and link.

Left out: how chips and menus look and answer to keys (tests/browser).
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest
import time_machine
from django.test import Client

from accounting.access.scope import EVERYTHING
from accounting.core.billing_calendar import preset_range
from accounting.core.interval import HOUR_MS
from accounting.kit.reads.selection import Selection
from accounting.kit.tags import units
from accounting.usage.reads.usage import usage_total
from tests.euros import number
from tests.integration.conftest import NOW, SignIn
from tests.page_html import html_of
from tests.story import ZONE

WEEK = "range=last-7-days"


@pytest.fixture(autouse=True)
def right_after_the_story() -> Iterator[None]:
    """The process clock stands still; the story's newest window has just ended."""
    with time_machine.travel(NOW, tick=False):
        yield


def selection(**filters: str) -> Selection:
    """The last seven days with some filters, as the API would ask."""
    period = preset_range("last-7-days", NOW.astimezone(ZONE).date()).period(ZONE)
    return Selection(EVERYTHING, period, {k: (v,) for k, v in filters.items()})


def models(client: Client) -> list[str]:
    """GPU models of the week, the dearest first."""
    split = client.get(f"/?{WEEK}").context["split"]
    return [line.value for line in split.lines]


@pytest.mark.parametrize("path", ["/", "/teams", "/teams/vision"])
def test_a_filter_is_in_force_on_every_number(sign_in: SignIn, path: str) -> None:
    client = sign_in("ana")
    team = {"team": "vision"} if path == "/teams/vision" else {}
    model = (
        client.get(f"{path if team else '/'}?{WEEK}").context["split"].lines[0].value
    )
    found = client.get(f"{path}?{WEEK}&model={model}")
    expected = usage_total(selection(model=model, **team))
    total = found.context["breakdown"].summary.total
    assert expected.allocated_ms
    assert total.allocated_ms == expected.allocated_ms
    assert units.money(total.charge, "EUR") == units.money(expected.charge, "EUR")
    assert [(chip.label, chip.value) for chip in found.context["chips"]] == [
        ("GPU model", model)
    ]


def test_a_chip_leads_to_the_page_without_it(sign_in: SignIn) -> None:
    client = sign_in("ana")
    chips = client.get(
        f"/?{WEEK}&team=vision&team=speech&lifecycle=on-demand&sort=team&page=3"
    ).context["chips"]
    assert [chip.value for chip in chips] == ["Vision", "Speech", "on-demand"]
    assert parse_qs(urlsplit(chips[0].url).query) == {
        "range": ["last-7-days"],
        "lifecycle": ["on-demand"],
        "sort": ["team"],
        "team": ["speech"],
    }


def test_a_name_of_the_split_adds_a_filter_and_ends_as_a_word(sign_in: SignIn) -> None:
    client = sign_in("ana")
    line = client.get(f"/?{WEEK}").context["split"].lines[0]
    after = client.get(line.url)
    assert [one.value for one in after.context["split"].lines] == [line.value]
    assert after.context["split"].lines[0].url == ""
    assert after.context["split"].lines[0].row.allocated_ms == line.row.allocated_ms


@pytest.mark.parametrize("by", ["model", "lifecycle", "tier", "namespace"])
def test_every_split_adds_up_and_each_of_its_names_can_be_chosen(
    sign_in: SignIn, by: str
) -> None:
    client = sign_in("ana")
    context = client.get(f"/?{WEEK}&split={by}").context
    split, total = context["split"], context["breakdown"].summary.total
    shown = sum(line.row.allocated_ms for line in split.lines)
    assert shown + (split.rest.allocated_ms if split.rest else 0) == total.allocated_ms
    assert split.total.charge == total.charge
    for line in split.lines:
        only = client.get(line.url).context["breakdown"].summary.total
        assert only.allocated_ms == line.row.allocated_ms


def test_links_of_the_page_carry_the_filter(sign_in: SignIn) -> None:
    client = sign_in("ana")
    model = models(client)[0]
    html = html_of(client.get(f"/?{WEEK}&model={model}"))
    for pattern in (
        r'href="(/teams/vision\?[^"]+)"',
        r'href="(/api/v1/usage\?by=team&amp;[^"]+)"',
        r'href="(/explain\?what=charge&amp;[^"]+)"',
    ):
        url = re.search(pattern, html)
        assert url is not None, pattern
        query = parse_qs(urlsplit(url[1].replace("&amp;", "&")).query)
        assert query["model"] == [model], pattern


def test_an_explanation_ends_at_the_filtered_number(sign_in: SignIn) -> None:
    client = sign_in("ana")
    model = models(client)[0]
    total = (
        client.get(f"/teams/vision?{WEEK}&model={model}")
        .context["breakdown"]
        .summary.total
    )
    drawer = client.get(f"/explain?what=charge&team=vision&{WEEK}&model={model}")
    text = html_of(drawer)
    assert f"{number(total.charge):,.2f} EUR" in text
    assert f"Vision · {model}" in " ".join(text.split())


def test_time_that_nobody_held_is_not_shown_for_a_team(sign_in: SignIn) -> None:
    client = sign_in("ana")
    assert "ledger" in client.get(f"/?{WEEK}&model={models(client)[0]}").context
    assert "ledger" not in client.get(f"/?{WEEK}&team=vision").context


def test_a_filter_that_finds_nothing_is_named(sign_in: SignIn) -> None:
    page = html_of(sign_in("ana").get(f"/?{WEEK}&model=NVIDIA-NONE"))
    assert "matches" in page
    assert "GPU model is NVIDIA-NONE" in page
    assert "Clear filters" in page


def test_a_filter_shows_nothing_of_other_teams(sign_in: SignIn) -> None:
    client = sign_in("mia")
    context = client.get(f"/teams?{WEEK}&team=search&team=vision").context
    assert {line.key for line in context["teams"].lines} == {"vision"}
    offered = {facet.name: facet.options for facet in context["facets"]}
    assert {value for value, _, _ in offered["team"]} <= {"vision", "speech", "search"}
    assert client.get(f"/explain?what=charge&{WEEK}&team=search").status_code == 404
    both = f"/explain?what=charge&{WEEK}&team=vision&team=search"
    assert client.get(both).status_code == 404


@pytest.mark.parametrize("value", ["lifecycle=never", "model=", "nonsense=1"])
def test_an_unreadable_filter_is_none(sign_in: SignIn, value: str) -> None:
    answer = sign_in("ana").get(f"/?{WEEK}&{value}")
    assert answer.status_code == 200
    assert answer.context["chips"] == []
    assert answer.context["breakdown"].has_usage


def test_what_has_no_tier_can_be_chosen(sign_in: SignIn) -> None:
    client = sign_in("ana")
    split = client.get(f"/?{WEEK}&split=tier").context["split"]
    bare = next(line for line in split.lines if line.name == "No tier")
    after = client.get(bare.url).context
    assert after["breakdown"].summary.total.allocated_ms == bare.row.allocated_ms
    html = html_of(client.get(bare.url))
    url = re.search(r'href="(/api/v1/usage\?by=team&amp;[^"]+format=csv)"', html)
    assert url is not None
    text = client.get(url[1].replace("&amp;", "&")).getvalue().decode()
    hours = [line.split(",") for line in text.splitlines()]
    column = hours[0].index("allocated_gpu_hours")
    total = sum(Decimal(row[column]) for row in hours[1:])
    assert abs(total * HOUR_MS - bare.row.allocated_ms) < len(hours) * 2  # six places


def test_all_findings_of_a_team_are_those_of_the_team(sign_in: SignIn) -> None:
    """With a range in the address and without one; the default range has no parameters."""
    for name in ("luis", "ana"):
        client = sign_in(name)
        for query in ("", "?range=last-7-days"):
            page = html_of(client.get(f"/teams/vision/give-back{query}"))
            (link,) = re.findall(r'href="([^"]+)"[^>]*>All findings', page)
            answer = client.get(unescape(link))
            assert answer.status_code == 200
            assert answer.context["team"].slug == "vision"
            assert answer.context["state"].query.get("range", "") == query[7:]


def test_a_link_keeps_its_own_parameters_and_its_place(sign_in: SignIn) -> None:
    state = sign_in("ana").get("/?range=last-week&team=vision").context["state"]
    assert state.link("/waste?team=search#top") == (
        "/waste?range=last-week&team=search#top"
    )
    assert state.link("/waste", team="") == "/waste?range=last-week"
