"""How many statements a page asks the database, how long they are, and that it asks none twice."""

import re
from collections import Counter

import pytest
import time_machine
from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounting.access.models.teams import Team
from accounting.explain.reads.explain import FIGURES
from accounting.kit.pages.fragments import FRAGMENT, card_address, every_card
from accounting.metering.models.cluster import Cluster
from scheduler_view.quotas.models import QuotaTarget, Tier
from tests.answers.addresses import api_reads
from tests.integration.conftest import NOW
from tests.sessions import give
from tests.story import Story

MOST = {
    "/": 21,  # with who is idle now, and what waits
    "/?range=last-7-days": 23,
    "/overview/changes": 13,
    "/overview/changes?range=last-7-days": 14,
    "/overview/idle": 10,
    "/explore": 17,  # the sums of the chart by its axis
    "/explore?by=family&then=tier&not_team=vision&range=last-month": 18,  # and teams of families
    "/teams": 16,
    "/teams?range=last-7-days": 16,
    "/teams/vision": 27,
    "/teams/vision?range=last-7-days": 29,
    "/teams/vision/idle": 10,
    "/teams/vision/week": 10,
    "/teams/vision/give-back": 14,
    "/teams/vision/workloads": 16,  # compared, with the runs of each family
    "/teams/vision/workloads?by=run": 13,
    "/teams/vision/families/vision-prod/sweep-resnet": 21,
    "/teams/vision/runs/vision-prod/Job/sweep-resnet": 26,
    "/quotas": 24,
    "/quotas/pending": 9,
    "/quotas/limits": 21,
    "/tiers": 19,
    "/queues": 15,
    "/gpus/pools": 13,
    "/months": 15,
    "/waste": 20,
    "/waste/apart": 18,
    "/recommendations": 14,
    "/gpus": 27,
    "/gpus/table": 25,
    "/explain?what=idle_charge&team=vision": 23,
    "/charges": 10,
    "/budgets": 11,
    "/contests": 9,
    "/bills": 12,
    "/prices": 13,
    "/audit": 16,
    "/data-health": 20,
    "/attribution": 13,
    "/before-after": 21,
    "/what-if": 13,
    "/setup": 12,
    "/account": 10,
    "/account/notifications": 11,
    "/account/weekly/vision": 29,  # all that a mail says
    "/people": 11,
    "/people/teams": 11,
}
"""Statements by page, of an administrator: five of them are who asks and what may be seen."""

WEEK = "from=2026-11-10T03:00Z&to=2026-11-17T05:00Z"
LINES = 60
LONGER = {
    "/gpus/table": 100,  # every GPU by days, hours and facts at once
    "/explain?what=idle_charge&team=vision": 90,  # facts with their prices, as of /gpus/table
    "/?range=last-7-days": 65,  # the first and last day are not whole
    "/teams/vision?range=last-7-days": 65,
}
"""Of a statement: one that is longer cannot be changed without fear, and takes long to plan."""


OF_CLUSTERS = ("/tiers", "/quotas/limits", "/quotas")
"""Pages that show all clusters."""


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize("page", OF_CLUSTERS)
def test_further_clusters_cost_no_statement(story: Story, page: str) -> None:
    asked = [_statements(page)]
    for name in ("second", "third"):
        cluster = Cluster.objects.create(name=name)
        Tier.objects.create(cluster=cluster, name="gold", value=10, version=1)
        team = Team.objects.get(slug="vision")
        QuotaTarget.objects.create(
            cluster=cluster, team=team, resource="nvidia.com/gpu", gpus=4, version=1
        )
        asked.append(_statements(page))
    assert len(asked[2]) == len(asked[1])


@pytest.mark.usefixtures("db")
def test_quotas_and_resources_read_holds_of_a_month_once(story: Story) -> None:
    QuotaTarget.objects.create(
        cluster=Cluster.objects.get(name="north"),
        team=Team.objects.get(slug="vision"),
        resource="nvidia.com/gpu",
        gpus=4,
        version=1,
    )
    holds = [sql for sql in _statements("/quotas") if "h.bound_ms" in sql]
    assert len(holds) == 1


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize("page", MOST)
def test_page_asks_little_and_nothing_twice(story: Story, page: str) -> None:
    asked = _statements(page)
    found = Counter(asked)
    assert [sql for sql, times in found.items() if times > 1] == []
    assert len(asked) <= MOST[page]
    longest = max(found, key=lambda sql: len(sql.strip().splitlines()))
    assert len(longest.strip().splitlines()) <= LONGER.get(page, LINES)


@pytest.mark.usefixtures("db")
def test_lists_ask_nothing_twice(story: Story) -> None:
    """Who asks, time zones and prices are read once for an answer, however many parts need them."""
    lists = [path for path in api_reads() if "{" not in path]
    lists += [f"/api/v1/explanation?what={what}&{WEEK}" for what in FIGURES]
    lists += [f"/api/v1/usage?by=team,hour&{WEEK}"]
    twice = {
        path: [sql for sql, times in Counter(_statements(path)).items() if times > 1]
        for path in lists
        if path != "/api/v1/gpu-steps"  # needs a GPU
    }
    assert {path: found for path, found in twice.items() if found} == {}


USAGE = re.compile(r"\busage_(window|hour|day|family_day|gpu_hour|gpu_day)\b")
WITHOUT_USAGE = ("/account", "/audit", "/changes", "/contests", "/prices", "/tiers")


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize("page", WITHOUT_USAGE)
def test_frame_of_a_page_sums_no_usage(story: Story, page: str) -> None:
    """The badge has a total of each hour: the day that it sums has a hundred thousand rows."""
    assert [sql for sql in _statements(page) if USAGE.search(sql)] == []


def _statements(page: str) -> list[str]:
    """Those of an answer; cards are asked for as a script of their page does."""
    cards = [card_address(card, slug="vision") for card in every_card()]
    headers = {FRAGMENT: "true"} if page.partition("?")[0] in cards else {}
    with time_machine.travel(NOW, tick=False):
        client = Client()
        user = get_user_model().objects.get(username="ana")
        give(client, user, settings.AUTHENTICATION_BACKENDS[0])
        assert client.get(page, headers=headers).status_code == 200
        with CaptureQueriesContext(connection) as asked:
            client.get(page, headers=headers)
    return [query["sql"] for query in asked.captured_queries]
