"""Methods side by side: the same totals as bookings by each method, within limits (money.md M24).

Not covered: the command (test_close_commands.py) and the page (test_method_pages.py).
"""

from datetime import date
from decimal import Decimal

import pytest

from accounting.access.models.teams import Team
from accounting.core.billing_calendar import DayRange
from accounting.metering.models.cluster import Cluster
from accounting.months.models.period import BillingPeriod
from accounting.months.models.team_quota import TeamQuota
from accounting.months.rules.methods import METHODS
from accounting.months.tasks.method_comparison import (
    ComparisonTooLarge,
    compare,
    compare_within,
)
from accounting.months.tasks.running import book_running
from tests.integration.months.days import H100, LONG_AGO, Days

OCTOBER = DayRange(date(2026, 10, 1), date(2026, 11, 1))


@pytest.fixture(autouse=True)
def october(days: Days) -> None:
    """Amounts that do not divide evenly, idle and free time, a quota, an entry, time without a
    price."""
    days.price(H100, "2.000003")
    days.price("A", "0.700001")
    for number, team in enumerate(("vision", "search", "speech"), 1):
        on = date(2026, 10, 4 + number)
        days.use(team, on, 1_234_567 * number)
        days.use(team, on, 7_654_321, state="idle", workload=f"notebook-{number}")
        days.use(team, date(2026, 10, 5), 333_333, model="A", workload="small")
        days.use("", on, 9_999_999, state="free")
    days.use("search", date(2026, 10, 6), 1_000_001, model="B", workload="other")
    days.enter("E-1", "vision", date(2026, 10, 9), "-1.50")
    TeamQuota.objects.create(
        cluster=Cluster.objects.get(),
        team=Team.objects.get(slug="search"),
        milli_gpus=3_500,
        valid_from=LONG_AGO,
    )


@pytest.mark.parametrize("method", METHODS, ids=lambda one: one.id)
def test_a_total_is_that_of_a_booking_by_the_method(method: object) -> None:
    name = method.id  # type: ignore[attr-defined]
    BillingPeriod.objects.create(name="2026-10", method=name)
    booked = book_running("2026-10")
    wanted = dict(booked.statements.values_list("team", "total6"))
    rows = compare(OCTOBER)
    assert {one.team: one.totals[name] for one in rows if one.team in wanted} == wanted
    assert all(one.in_effect == one.totals[name] for one in rows)
    assert all(one.difference(name) == 0 for one in rows)


def test_the_sum_is_the_same_by_every_method() -> None:
    rows = compare_within(OCTOBER)
    sums = {sum(one.totals[method.id] for one in rows) for method in METHODS}
    assert max(sums) - min(sums) < Decimal("0.00001")  # each statement is rounded once


def test_more_usage_than_a_page_computes_is_refused() -> None:
    with pytest.raises(ComparisonTooLarge, match="more than 3 rows of usage by day"):
        compare_within(OCTOBER, most_rows=3)


def test_a_comparison_that_takes_too_long_is_cancelled() -> None:
    with pytest.raises(ComparisonTooLarge, match="took longer than 0 seconds"):
        compare_within(OCTOBER, longest_s=0)
    assert len(compare_within(OCTOBER)) == 4  # the connection is usable
