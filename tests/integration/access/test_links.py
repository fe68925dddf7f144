"""Every link of every page, and every choice of its forms, followed as each role.

No dead end (404, 403), no error, no link without effect. Lists have no row, one, or more than a
page. Rows of one pattern are sampled (crawler.py).
"""

from collections.abc import Iterator

import pytest
import time_machine
from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import transaction
from django.test import Client
from pytest_django import DjangoDbBlocker

from tests.integration.access.crawler import ALL, OF_LISTS, Crawler
from tests.integration.access.long_lists import LEAD, MANY, fill
from tests.integration.conftest import NOW
from tests.sessions import give
from tests.story import Story

EVERYONE = ("mia", LEAD, "fin", "ana")


def crawl(name: str, *, is_brief: bool, only: frozenset[str] = ALL) -> Crawler:
    """Follow all that a person's first page leads to."""
    client = Client()
    user = get_user_model().objects.get(username=name)
    give(client, user, settings.AUTHENTICATION_BACKENDS[0])
    crawler = Crawler(client, is_brief=is_brief, only=only)
    crawler.follow(["/"])
    return crawler


@pytest.fixture(scope="module", params=[1, MANY])
def rows(
    request: pytest.FixtureRequest, story: Story, django_db_blocker: DjangoDbBlocker
) -> Iterator[int]:
    """The story with lists of one row, then with lists of more than a page."""
    with (
        django_db_blocker.unblock(),
        time_machine.travel(NOW, tick=False),
        transaction.atomic(),
    ):
        fill(story, request.param)
        yield request.param
        transaction.set_rollback(True)


@pytest.mark.parametrize("name", EVERYONE)
@pytest.mark.usefixtures("db")
def test_every_link_leads_somewhere(rows: int, name: str) -> None:
    only = OF_LISTS if rows > 1 else ALL  # the others are tried with lists of one row
    crawler = crawl(name, is_brief=rows > 1 or name != "ana", only=only)
    assert crawler.faults == {}
    assert len(crawler.visited) > 30
