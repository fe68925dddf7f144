"""Held time of days on Data health: whole days of all teams are sums without money."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounting.access.models.teams import Team
from accounting.access.scope import Scope
from accounting.core.interval import Interval
from accounting.kit.reads.selection import Selection
from accounting.usage.reads.unobserved import held_by_day
from accounting.usage.reads.usage import usage_rows
from tests.integration.prices.books import TEN, Books
from tests.integration.usage.test_families import SET_UP

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
ALL = Scope(None)
MIDNIGHT = TEN.replace(hour=0)


@pytest.fixture(autouse=True)
def days(books: Books) -> None:
    """Three days with an hour busy, and a part of one idle, not observed or free."""
    books.configure(SET_UP)
    gpu, pod = books.gpu(), books.pod("train", space="a")
    for n, state in enumerate(["idle", "unknown", "free"]):
        start = TEN + n * DAY
        books.hours(gpu, start, start + HOUR, pod)
        books.hours(
            gpu, start + HOUR, start + 1.5 * HOUR, pod if n < 2 else None, state
        )
    books.settle()


@pytest.mark.parametrize("hours", [0, 5])
@pytest.mark.parametrize("scope", ["all", "team", "other"])
def test_days_have_the_time_of_a_report_by_day(scope: str, hours: int) -> None:
    start = MIDNIGHT + hours * HOUR
    period = Interval.of(start, start + 30 * DAY)
    slugs = {"team": "a", "other": "b"}
    seen = ALL
    if scope in slugs:
        team = Team.objects.get(slug=slugs[scope])
        seen = Scope(team_ids=frozenset({team.pk}))
    chosen = Selection(seen, period)
    found = held_by_day(chosen, period)
    assert {
        str(day): (row.allocated_ms, row.coverage) for day, row in found.items()
    } == {
        row.key["day"]: (row.allocated_ms, row.coverage)
        for row in usage_rows(chosen, ("day",))
    }
    assert len(found) == (0 if scope == "other" else 3)


def test_whole_days_of_all_are_one_short_statement() -> None:
    period = Interval.of(MIDNIGHT, MIDNIGHT + 30 * DAY)
    with CaptureQueriesContext(connection) as asked:
        held_by_day(Selection(ALL, period), period)
    reads = [q["sql"] for q in asked.captured_queries if "usage_" in q["sql"]]
    assert [len(sql.strip().splitlines()) for sql in reads] == [3]
