"""The page of a team reads the time and money of that team, however many teams there are."""

import re
from collections.abc import Iterator

import pytest
import time_machine
from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.integration.conftest import NOW
from tests.more_teams import add_teams
from tests.plans import rows_read, steps
from tests.sessions import give
from tests.story import Story

pytestmark = pytest.mark.django_db
TEAM = "lab-007"
TABLES = (
    *("usage_hour", "usage_day", "usage_family_day", "intensity_day"),
    "scheduler_view_wastefinding",
)
LINES = ("charge_line", "running_line", "charge_family_day", "charge_family_hours")
PAGES = (
    f"/teams/{TEAM}",
    f"/teams/{TEAM}?range=last-month",
    f"/teams/{TEAM}?range=last-7-days",
    f"/teams/{TEAM}/workloads?show=hard",
)


@pytest.mark.parametrize("page", PAGES)
def test_pages_read_rows_of_their_team(story: Story, page: str) -> None:
    add_teams(story, 60)
    own = {}
    with connection.cursor() as cursor:
        for table in (*TABLES, *LINES):
            cursor.execute(f"ANALYZE {table}")
            of_team = "l.team_id = t.id" if table in TABLES else "l.team = t.slug"
            cursor.execute(
                f"SELECT count(*) FROM {table} l JOIN accounting_team t ON {of_team}"  # noqa: S608
                " WHERE t.slug = %s",
                [TEAM],
            )
            own[table] = cursor.fetchone()[0]
    assert own["usage_hour"] > own["usage_day"] > 0
    read = [scan for sql in _asked(page) for scan in _scans(sql)]
    assert read
    assert [(table, rows) for table, rows in read if rows > own[table]] == []


def _asked(page: str) -> list[str]:
    with time_machine.travel(NOW, tick=False):
        client = Client()
        user = get_user_model().objects.get(username="ana")
        give(client, user, settings.AUTHENTICATION_BACKENDS[0])
        with CaptureQueriesContext(connection) as asked:
            assert client.get(page).status_code == 200
    every = (one["sql"] for one in asked.captured_queries)
    return [sql for sql in every if sql.lstrip().startswith(("SELECT", "WITH"))]


def _scans(sql: str) -> Iterator[tuple[str, float]]:
    """The tables that a statement looks into, and how many of their rows it looks at."""
    for step in steps(sql):
        for table in (*TABLES, *LINES):
            if re.fullmatch(rf"{table}(_\d+)?", step.get("Relation Name", "")):
                yield table, rows_read(step)
