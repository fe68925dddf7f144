"""What a team is charged by day is read by family, and added up before periods are looked up.

Which days are complete is looked up: no window of the ledger is read that does not decide it.
"""

from datetime import date

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounting.access.models.teams import Team
from accounting.budgets.reads.history import LedgerTime, complete_days, history
from accounting.core.billing_calendar import DayRange
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.ledger import IngestWindow
from tests.plans import rows_read, steps
from tests.story import Story

pytestmark = pytest.mark.django_db
WINDOWS = "accounting_ingestwindow"
DAYS = DayRange(date(2026, 11, 1), date(2026, 11, 20))


def test_periods_are_looked_up_once_for_a_day_and_price(story: Story) -> None:
    team = Team.objects.get(slug="vision")
    time = LedgerTime(DAYS.first, DAYS.after, story.until, "EUR")
    with CaptureQueriesContext(connection) as asked:
        found = history(DAYS, time, [team.pk], frozenset())
    assert len(found.totals[team.pk]) > 10
    [sql] = [one["sql"] for one in asked if "WITH used" in one["sql"]]
    read = [step for step in steps(sql) if "Relation Name" in step]
    tables = {step["Relation Name"] for step in read}
    assert {name for name in tables if name.startswith("usage_")} == {
        "usage_family_day"
    }
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT count(*), count(DISTINCT (billing_on, rate)) FROM usage_family_day
               WHERE team_id = %s AND billing_on >= %s AND billing_on < %s""",
            [team.pk, DAYS.first, DAYS.after],
        )
        rows, prices = cursor.fetchone()
    loops = [
        step["Actual Loops"]
        for step in read
        if step["Relation Name"]
        in {"accounting_billingperiod", "accounting_periodrevision"}
    ]
    assert max(loops) <= prices < rows


def test_one_window_tells_that_a_day_has_data(story: Story) -> None:
    time = LedgerTime(DAYS.first, DAYS.after, story.until, "EUR")
    with CaptureQueriesContext(connection) as asked:
        found = complete_days(DAYS, time)
    assert len(found) > 10
    [sql] = [one["sql"] for one in asked if "accounting_ingestwindow" in one["sql"]]
    read = [one for one in steps(sql) if one.get("Relation Name") == WINDOWS]
    waiting = IngestWindow.objects.exclude(state="done").count()
    assert sum(map(rows_read, read)) <= Cluster.objects.count() * DAYS.days + waiting
