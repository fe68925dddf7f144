"""A report reads the booked lines of its days, and no others, however many months are closed."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounting.access.models.teams import Team
from accounting.access.scope import Scope
from accounting.budgets.reads.history import LedgerTime, history
from accounting.core.billing_calendar import DayRange
from accounting.core.interval import Interval
from accounting.core.money import Money
from accounting.explain.reads.closed_days import closed_days
from accounting.explain.reads.prices import HELD_TIME
from accounting.kit.reads.selection import Selection
from accounting.months.models.charge import ChargeLine
from accounting.months.models.period import PeriodRevision
from accounting.usage.reads.usage import usage_rows
from tests.integration.exports.bookings import book, random_lines
from tests.plans import rows_read, steps

pytestmark = pytest.mark.django_db
LINES = 3_000
DAY = datetime(2026, 10, 12, tzinfo=UTC)
MONTH = Interval.of(
    datetime(2026, 10, 1, tzinfo=UTC), datetime(2026, 11, 1, tzinfo=UTC)
)


@pytest.fixture
def closed() -> PeriodRevision:
    lines = random_lines(5, LINES)
    found = book([replace(one, team=f"team-{at}") for at, one in enumerate(lines)])
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE charge_line")
    return found


def scans(read: Callable[[], object]) -> list[dict[str, Any]]:
    """The steps of the plans of `read` that look into closed lines, or into an index of them."""
    with CaptureQueriesContext(connection) as asked:
        read()
    texts = [query["sql"] for query in asked if "charge_line" in query["sql"]]
    return [
        step
        for text in texts
        for step in steps(text)
        if step.get("Relation Name") == "charge_line"
        or step.get("Index Name", "").startswith("charge_")
    ]


def test_a_day_reads_the_lines_of_that_day(
    closed: PeriodRevision,
) -> None:
    day = Selection(Scope(team_ids=None), Interval.of(DAY, DAY + timedelta(days=1)))
    found = scans(lambda: usage_rows(day, ("workload",)))
    assert {one["Index Name"] for one in found if "Index Name" in one} == {"charge_day"}
    of_day = ChargeLine.objects.filter(billing_on=date(2026, 10, 12)).count()
    assert 0 < of_day < LINES / 10
    assert sum(one.get("Rows Removed by Filter", 0) for one in found) < of_day


def test_corrections_are_found_without_the_lines_of_time(
    closed: PeriodRevision,
) -> None:
    month = Selection(Scope(team_ids=None), MONTH)

    def later() -> None:
        nothing = Money(Decimal(0), "EUR")
        closed_days(month, [closed], HELD_TIME, lambda _: nothing)

    assert ChargeLine.objects.exclude(corrects="").count() > LINES / 10
    found = scans(later)
    assert sum(one.get("Rows Removed by Filter", 0) for one in found) < LINES / 10


def test_a_budget_reads_the_lines_of_its_team(closed: PeriodRevision) -> None:
    team = Team.objects.create(slug="team-7", name="Seven")
    days = DayRange(date(2026, 10, 1), date(2026, 11, 1))
    time = LedgerTime(days.first, days.after, MONTH.end, "EUR")
    found = scans(lambda: history(days, time, [team.pk], frozenset()))
    own = ChargeLine.objects.filter(team="team-7").count()
    assert own == 1
    assert found
    assert max(rows_read(one) for one in found) <= own
