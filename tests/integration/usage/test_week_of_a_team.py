"""Hours of the week and data by day: what a page of a team asks of hours and windows."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounting.access.scope import EVERYTHING
from accounting.core.billing_calendar import DayRange
from accounting.core.interval import Interval
from accounting.kit.reads.selection import Selection
from accounting.usage.reads.coverage import day_coverage
from accounting.usage.reads.series import week_hours
from accounting.usage.reads.usage import usage_rows
from accounting.usage.rules.hour_of_week import fold_week
from tests.plans import steps
from tests.story import ZONE, Story

pytestmark = pytest.mark.django_db
SINCE = datetime(2026, 10, 20, tzinfo=UTC)  # summer time ends on the 25th
UNTIL = datetime(2026, 11, 20, tzinfo=UTC)
SHORT = datetime(2026, 11, 17, tzinfo=UTC)


@pytest.mark.parametrize("zone", ["Europe/Berlin", "Asia/Kolkata", "America/New_York"])
@pytest.mark.parametrize("since", [SINCE, SHORT])
def test_hours_of_the_week_are_those_of_the_report(
    story: Story, zone: str, since: datetime
) -> None:
    period = Interval.of(since, UNTIL)
    team = Selection(EVERYTHING, period, {"team": ("vision",)})
    of_report = [
        (datetime.fromisoformat(row.key["hour"]), row)
        for row in usage_rows(team, ("hour",))
    ]
    begun = [hour.start for hour in period.hours()]
    found = week_hours(team, ZoneInfo(zone), period)
    assert found == fold_week(of_report, ZoneInfo(zone), begun=begun, read=begun)
    assert len({one.times.busy_ms for one in found}) > 1


def test_windows_are_not_read_if_every_hour_was_held(story: Story) -> None:
    team = Selection(EVERYTHING, Interval.of(SINCE, UNTIL), {"team": ("vision",)})
    with CaptureQueriesContext(connection) as asked:
        found = week_hours(team, ZONE, Interval.of(SINCE, UNTIL))
    assert all(one.times.allocated_ms for one in found)
    assert len(asked) == 1


def test_where_live_data_began_is_not_looked_up_for_each_window(story: Story) -> None:
    with CaptureQueriesContext(connection) as asked:
        day_coverage(DayRange(SINCE.date(), UNTIL.date()), ZONE)
    query = asked[-1]
    jobs = [
        step
        for step in steps(query["sql"])
        if step.get("Relation Name") == "accounting_kubejob"
    ]
    assert {step["Actual Loops"] for step in jobs} == {1}
