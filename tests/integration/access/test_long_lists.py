"""Every list with pages: its second page opens for everyone who may open the first.

Not covered: lists over REST (tests/integration/api/test_lists.py, test_keyset_pages.py).
"""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from pytest_django import DjangoDbBlocker

from accounting.usage.tasks.rollup import roll_up_days
from tests.integration.access.long_lists import LEAD, LONG_CHANGE, MANY, fill
from tests.integration.conftest import NOW
from tests.sessions import give
from tests.story import Story

LISTS = {
    # address: who may open it (viewer mia, lead, finance, administrator)
    "/months/2026-10": ("fin", "ana"),
    "/budgets": (LEAD, "fin", "ana"),
    "/attribution": ("fin", "ana"),
    "/people": ("ana",),
    "/people/teams": ("ana",),
    "/teams": (LEAD, "fin", "ana"),
    "/teams?group=none": (LEAD, "fin", "ana"),
    "/charges?period=2026-11&by=workload": (LEAD, "fin", "ana"),
    "/charges?period=2026-11&team=vision&by=workload": (LEAD, "fin", "ana"),
    "/contests": (LEAD, "fin", "ana"),
    "/contests?state=withdrawn": (LEAD, "fin", "ana"),
    "/account/notifications?of=all": ("ana",),
    "/inbox": (LEAD, "fin", "ana"),
    "/exports": (LEAD, "fin", "ana"),
    "/what-if": ("ana",),
    "/idle?over=15": (LEAD, "fin", "ana"),
    "/alerts": (LEAD, "fin", "ana"),
    "/alerts/archived": (LEAD, "fin", "ana"),
    "/alerts/resolved": (LEAD, "fin", "ana"),
    "/waste": (LEAD, "fin", "ana"),
    "/waste?apart=1": (LEAD, "fin", "ana"),
    "/waste?team=vision": (LEAD, "fin", "ana"),
    "/recommendations": (LEAD, "fin", "ana"),
    "/anomalies?rows=25": (LEAD, "fin", "ana"),
    "/explore?by=workload&then=none": ("mia", LEAD, "fin", "ana"),
    "/explore/views": ("mia", LEAD, "fin", "ana"),
    "/teams/vision/workloads": ("mia", LEAD, "fin", "ana"),
    "/gpus?sort=gpu": ("mia", LEAD, "fin", "ana"),
    "/teams/vision/workloads?by=run": ("mia", LEAD, "fin", "ana"),
    "/teams/vision/families/vision-prod/many0x-run": ("mia", LEAD, "fin", "ana"),
    "/teams/vision/runs/vision-prod/Job/wide-train": ("mia", LEAD, "fin", "ana"),
    "/gpus?view=timeline": ("mia", LEAD, "fin", "ana"),
    "/prices": ("mia", LEAD, "fin", "ana"),
    "/conversion-rates": ("mia", LEAD, "fin", "ana"),
    "/audit?rows=25": ("fin", "ana"),
    "/quotas?rows=50": ("mia", LEAD, "fin", "ana"),
    "/quotas/limits": ("mia", LEAD, "fin", "ana"),
    "/changes": ("mia", LEAD, "fin", "ana"),
    "/changes?state=discarded": ("mia", LEAD, "fin", "ana"),
    f"/changes/{LONG_CHANGE}": ("mia", LEAD, "fin", "ana"),
}
PAGER = re.compile(r'<nav class="pager" aria-label="([^"]+)">(.*?)</nav>', re.DOTALL)
NEXT = re.compile(r'href="([^"]+)"[^>]*>\s*(?:Next|Older)')


@pytest.fixture(scope="module")
def filled(story: Story, django_db_blocker: DjangoDbBlocker) -> Iterator[Story]:
    """The story with more rows than a page has, on its last day."""
    with django_db_blocker.unblock(), time_machine.travel(NOW, tick=False):
        fill(story)
        _odd_days(story)
        yield story


def _odd_days(story: Story) -> None:
    """On five days every team's charge is far above all before."""
    days = ["2026-11-14", "2026-11-15", "2026-11-16", "2026-11-17", "2026-11-18"]
    with connection.cursor() as cursor:
        for n, day in enumerate(days, start=1):
            cursor.execute(
                "UPDATE usage_hour SET busy_ms = busy_ms * %s WHERE billing_on = %s",
                [30**n, day],
            )
    roll_up_days(story.cluster.pk, [NOW.date().replace(day=int(d[-2:])) for d in days])


def _client(name: str) -> Client:
    client = Client()
    give(
        client,
        get_user_model().objects.get(username=name),
        settings.AUTHENTICATION_BACKENDS[0],
    )
    return client


def _pagers(answer: Any) -> dict[str, str]:
    """The label of each pager of a page: the address behind "Next"."""
    found = PAGER.findall(answer.content.decode())
    links = {label: NEXT.search(html) for label, html in found}
    return {label: unescape(link[1]) for label, link in links.items() if link}


def _join(address: str, link: str) -> str:
    return address.partition("?")[0] + link if link.startswith("?") else link


@pytest.mark.parametrize("address", LISTS)
@pytest.mark.usefixtures("filled", "db")
def test_the_second_page_of_a_list_opens(address: str) -> None:
    for name in LISTS[address]:
        client = _client(name)
        first = client.get(address)
        assert first.status_code == 200, name
        pagers = _pagers(first)
        assert pagers, f"{name} sees no pager on {address}"
        for link in pagers.values():
            second = client.get(_join(address, link))
            assert second.status_code == 200, (name, link)
            assert second.content != first.content
            html = second.content.decode()
            assert re.search(r">\s*(Previous|Newest)\s*</a>", html), (name, link)


@pytest.mark.usefixtures("filled", "db")
def test_every_template_with_pages_is_opened_here() -> None:
    """A new list with a pager gets its line in `LISTS`."""
    root = Path(settings.BASE_DIR) / "templates"
    with_pager = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.html")
        if 'class="pager"' in (text := path.read_text()) or "components/pager" in text
    }
    client = _client("ana")
    seen = {
        str(template.name)
        for address in LISTS
        for template in client.get(address).templates
    }
    assert with_pager <= seen


@pytest.mark.usefixtures("filled", "db")
def test_long_pages_stay_short() -> None:
    """A thousand prices were 940 kB, and their import made the audit log 1.65 MB."""
    client = _client("ana")
    prices = client.get("/prices")
    labels = {"Pages of rates", "Pages of costs", "Pages of price lists"}
    assert _pagers(prices).keys() == labels
    for name in ("rates", "costs", "lists"):
        assert len(prices.context[name].lines) == 50
    drawn = [row.key for row in prices.context["timeline"].rows]
    assert len(drawn) == 51  # of the page, and the model that has no price
    assert "NVIDIA-A10" in drawn
    second = client.get("/prices?costs=2").content.decode()
    assert "page=2&amp;costs=2" in second or "costs=2&amp;page=2" in second


@pytest.mark.usefixtures("filled", "db")
def test_a_request_of_many_entries_lists_some_and_leads_to_the_rest() -> None:
    client = _client("ana")
    first = client.get("/audit?what=unitprice&rows=250")
    group = next(
        g for g in first.context["groups"] if g.newest.reason.startswith("Costs")
    )
    assert (len(group.lines), len(group.shown)) == (MANY, 20)
    (link,) = re.findall(
        r'href="([^"]+)"[^>]*>\s*31 more entries', first.content.decode()
    )
    rest = client.get(_join("/audit", unescape(link))).context["groups"][0]
    assert [one.row.id for one in rest.lines] == [
        one.row.id for one in group.lines[20:]
    ]
