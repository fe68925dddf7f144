"""Lists that the database cuts: the same rows and amounts as the whole list would give."""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounting.access.scope import EVERYTHING, Scope
from accounting.core.billing_calendar import preset_range
from accounting.core.interval import DAY_MS, Interval, to_ms
from accounting.kit.reads.selection import Selection, stored_period
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.usage import UsageWindow
from accounting.usage.reads.ranking import largest, moved_most
from accounting.usage.reads.usage import usage_rows
from tests.euros import added, number
from tests.integration.conftest import NOW, SignIn
from tests.story import ZONE, Story

WEEK = Selection(
    EVERYTHING, preset_range("last-7-days", NOW.astimezone(ZONE).date()).period(ZONE)
)
CENT = Decimal("0.01")

pytestmark = pytest.mark.usefixtures("story", "db")


@pytest.fixture(autouse=True)
def right_after_the_story() -> Iterator[None]:
    """The process clock stands still; the story's newest window has just ended."""
    with time_machine.travel(NOW, tick=False):
        yield


@pytest.mark.parametrize(
    ("order", "field"), [("charge", "charge"), ("idle", "idle_charge")]
)
def test_the_first_of_an_order_are_those_of_the_whole_list(
    order: str, field: str
) -> None:
    by = ("team", "workload")
    whole = usage_rows(WEEK, by)
    whole.sort(key=lambda row: -number(getattr(row, field)))
    found = largest(WEEK, by, order, 5, 2)
    assert found.count == len(whole)
    assert [row.key for row in found.rows] == [row.key for row in whole[:5]]
    for few, all_ in zip(found.rows, whole, strict=False):
        difference = number(getattr(few, field)) - number(getattr(all_, field))
        assert abs(difference) <= CENT
        assert replace(few, charge=None, idle_charge=None) == replace(
            all_, charge=None, idle_charge=None
        )


@pytest.mark.parametrize("by", [("team", "workload"), ("workload",)])
@pytest.mark.parametrize("order", ["charge", "idle", "unknown"])
def test_names_and_sums_are_read_of_the_first_workloads_only(
    by: tuple[str, ...], order: str
) -> None:
    """Of several clusters all names are read: two of them may have a workload of one name."""
    with CaptureQueriesContext(connection) as queries:
        found = largest(WEEK, by, order, 3, 2)
    [sql] = [q["sql"] for q in queries if "accounting_workload" in q["sql"]]
    first, after = sql.split(
        "u.workload_id = ANY(ARRAY(SELECT workload_id FROM first))"
    )
    assert "accounting_workload" not in first
    assert "accounting_workload" in after
    assert len(found.rows) == 3
    assert found.count > 3
    Cluster.objects.create(name="south")
    assert largest(WEEK, by, order, 3, 2) == found


def test_what_moved_most_is_what_the_two_lists_differ_by() -> None:
    by = ("team", "family")
    assert WEEK.period is not None
    before = Interval(
        WEEK.period.start_ms - 14 * DAY_MS, WEEK.period.start_ms - 7 * DAY_MS
    )
    amounts: dict[tuple[str, ...], Decimal] = {}
    for sign, period in ((1, WEEK.period), (-1, before)):
        for row in usage_rows(replace(WEEK, period=period), by):
            key = tuple(row.key.values())
            amounts[key] = amounts.get(key, Decimal(0)) + sign * number(row.charge)
    expected = sorted((abs(amount) for amount in amounts.values()), reverse=True)
    found = moved_most(WEEK, before, 6, 2)
    assert found
    for mover, amount in zip(found, expected, strict=False):
        assert abs(abs(mover.change.difference) - amount) <= CENT


def test_another_team_is_in_no_list(story: Story) -> None:
    scope = Scope(frozenset({story.teams["vision"].pk}))
    mine = replace(WEEK, scope=scope)
    rows = largest(mine, ("team", "workload"), "charge", 50, 2).rows
    assert {row.key["team"] for row in rows} == {"vision"}
    earlier = Interval(WEEK.period.start_ms - 7 * DAY_MS, WEEK.period.start_ms)  # type: ignore[union-attr]
    assert {mover.team for mover in moved_most(mine, earlier, 50, 2)} <= {"vision"}


def test_one_gpu_is_read_alone_and_has_the_numbers_of_the_list() -> None:
    end = to_ms(NOW) - to_ms(NOW) % 3_600_000
    period = Interval(end - 3_600_000, end)
    day = replace(WEEK, period=period)
    everything = {row.key["gpu"]: row for row in usage_rows(day, ("gpu",))}
    uuid = next(iter(everything))
    (row,) = usage_rows(replace(day, filters={"gpu": (uuid,)}), ("gpu",))
    assert (row.busy_ms, row.idle_ms) == (
        everything[uuid].busy_ms,
        everything[uuid].idle_ms,
    )
    assert usage_rows(replace(day, filters={"gpu": ("GPU-none",)}), ("gpu",)) == []


def test_what_is_stored_is_found_without_reading_it() -> None:
    starts = UsageWindow.objects.order_by("window_start").values_list(
        "window_start", flat=True
    )
    with CaptureQueriesContext(connection) as queries:
        stored = stored_period()
    assert stored is not None
    assert stored.start == starts.first()
    assert stored.end_ms == to_ms(starts.last()) + 300_000  # type: ignore[arg-type]
    assert len(queries) == 1
    assert stored_period("nowhere") is None


def test_the_rest_of_a_teams_days_is_what_the_named_workloads_leave(
    sign_in: SignIn,
) -> None:
    breakdown = (
        sign_in("ana").get("/teams/vision?range=last-7-days").context["breakdown"]
    )
    total = breakdown.summary.total
    named = added(
        row.charge for by_step in breakdown.by_step.values() for row in by_step.values()
    )
    assert named <= number(total.charge)
    assert breakdown.unnamed >= 0
    if not breakdown.unnamed:
        assert abs(named - number(total.charge)) <= CENT * len(breakdown.by_step)
