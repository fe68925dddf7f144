"""The demo has a closed month with corrections, on whatever day it is started (money.md M28)."""

from datetime import UTC, date, datetime, timedelta

import pytest
from django.contrib.auth import get_user_model

from accounting.access.models.people import Membership, Person, TeamRole
from accounting.access.models.teams import Team
from accounting.access.scope import EVERYTHING
from accounting.metering.models.cluster import Cluster
from accounting.months.models.entry import Entry
from accounting.months.models.period import PeriodRevision
from accounting.months.reads.contests import contest_rows
from portal.demo.bootstrap import months
from tests.integration.months.days import Days

pytestmark = pytest.mark.django_db
HISTORY = timedelta(weeks=8)
L4 = months.LATE_MODEL
DONE = "2026-10 is closed, contested, and corrected since"


@pytest.fixture
def days(db: None) -> Days:
    """Prices, and the people of the demo."""
    del db
    found = Days()
    found.price(L4, "0.74")
    Cluster.objects.get_or_create(name="north")
    for name, role in ((months.ADMIN, "admin"), (months.FINANCE, "finance")):
        user = get_user_model().objects.create(username=name)
        Person.objects.update_or_create(user=user, defaults={"role": role})
    lead = get_user_model().objects.create(username=months.LEAD.name)
    vision = Team.objects.create(slug=months.LEAD.team, name="Vision")
    Membership.objects.create(user=lead, team=vision, role=TeamRole.LEAD)
    return found


@pytest.mark.parametrize(
    ("today", "expected"),
    [
        (date(2026, 12, 1), "2026-10"),  # November has not settled
        (date(2026, 12, 3), "2026-10"),
        (date(2026, 12, 4), "2026-11"),
        (date(2026, 11, 27), "2026-10"),
        (date(2026, 12, 31), "2026-11"),
        (date(2026, 3, 1), "2026-01"),
    ],
)
def test_a_month_has_settled_on_every_day(
    days: Days, today: date, expected: str
) -> None:
    first = today - HISTORY
    for n in range(HISTORY.days):
        days.use("vision", first + timedelta(days=n), 3_600_000, model=L4)
    now = datetime.combine(today, datetime.min.time(), UTC) + timedelta(hours=12)
    assert months.settled_month(now) == expected


def test_without_a_settled_month_nothing_is_closed(days: Days) -> None:
    now = datetime(2026, 11, 20, 12, tzinfo=UTC)
    days.use("vision", date(2026, 11, 19), 3_600_000, model=L4)
    assert months.close_settled_month(now) == ""
    assert not PeriodRevision.objects.exists()


def test_it_is_closed_by_two_people_and_only_once(days: Days) -> None:
    now = datetime(2026, 11, 27, 12, tzinfo=UTC)
    days.use("vision", date(2026, 10, 29), 3_600_000, model=L4)
    assert months.close_settled_month(now) == DONE
    closed = PeriodRevision.objects.get(period="2026-10")
    assert closed.closed_by is not None
    assert closed.closed_by.username == months.FINANCE
    overridden = [one["override"] for one in closed.checks if one["override"]]
    assert all(one["confirmed_by"] == months.ADMIN for one in overridden)
    assert Entry.objects.get().amount == months.CREDIT
    contests = contest_rows(EVERYTHING)
    assert [(one.state, one.title) for one in contests] == [
        ("open", L4),
        ("answered", "The whole statement"),
    ]
    assert contests[1].answer is not None
    assert contests[1].answer.entry is not None
    assert months.close_settled_month(now) == ""
