"""What begins at a midnight at which clocks change counts once (rules.md N31, money.md M15).

Aware datetimes of two zones are never equal where one of them is in a fold or gap (PEP 495), so
one instant in two zones is two elements of a set. Not here: days of 23 and 25 hours
(`test_days.py`).
"""

from datetime import UTC, date, datetime, timedelta

import pytest

from accounting.access.reads.billing_settings import billing_day, midnight
from accounting.access.scope import EVERYTHING
from accounting.kit.reads.selection import is_on_days, parse_selection
from accounting.metering.models.cluster import NodeFact
from accounting.months.tasks.close import close_period
from accounting.months.tasks.running import book_running
from accounting.prices.models.price import UnitPrice
from tests.integration.metering.support import report
from tests.integration.prices.books import WINDOW_MS, Books

HOUR = timedelta(hours=1)
CHANGES = {  # the day that begins in a change of the clock, and where
    "America/Havana": "2026-11-01",
    "Africa/Cairo": "2026-04-24",
    "America/Santiago": "2026-09-06",
    "Asia/Beirut": "2026-03-29",
    "Atlantic/Azores": "2026-10-25",
}
NO_CHANGE = {"Europe/Berlin": "2026-10-25", "Australia/Lord_Howe": "2026-10-04"}
ZONES = [*(CHANGES | NO_CHANGE).items()]
BEGINS = {  # what begins at that midnight
    "price": "prices:\n"
    '  - {{model: NVIDIA-L40S, rate_per_gpu_hour: "12"}}\n'
    '  - {{model: NVIDIA-L40S, rate_per_gpu_hour: "24", valid_from: {day}}}\n',
    "rule": "bindings: [{{namespace: vision, team: vision, valid_from: {day}}}]\n"
    'prices: [{{model: NVIDIA-L40S, rate_per_gpu_hour: "12"}}]\n',
    "label": 'prices: [{{model: NVIDIA-L40S, rate_per_gpu_hour: "12"}}]\n',
}
COST = {"price": 3 * 1 + 6 * 2, "rule": 9, "label": 9}  # 12 an hour is 1 a window


def set_up(zone: str, day: str, what: str) -> str:
    return (
        f"billing: {{currency: EUR, timezone: {zone}}}\n"
        "teams: [{slug: vision, name: Vision}]\n" + BEGINS[what].format(day=day)
    )


@pytest.mark.parametrize("what", BEGINS)
@pytest.mark.parametrize(("zone", "day"), ZONES)
def test_hours_on_both_sides_count_once(
    books: Books, zone: str, day: str, what: str
) -> None:
    books.configure(set_up(zone, day, what))
    at = midnight(date.fromisoformat(day))
    gpu = books.gpu()
    if what == "label":
        NodeFact.objects.create(
            node_id=NodeFact.objects.get().node_id,
            valid_from=at.astimezone(UTC),
            model=gpu.model,
            lifecycle="spot",
        )
    starts = [at.astimezone(UTC) + n * HOUR / 3 for n in range(-3, 6)]
    books.write_all(gpu, starts, books.pod(), busy=WINDOW_MS)
    books.settle()
    assert report("usage", by="day")[-1]["allocated_ms"] == 6 * WINDOW_MS
    for by in ("day", "hour", "gpu", "pod"):
        rows = report("usage", by=by)
        assert sum(row["allocated_ms"] for row in rows) == 9 * WINDOW_MS, by
        assert sum(float(row["charge"]) for row in rows) == COST[what], by


@pytest.mark.parametrize(("zone", "day"), ZONES)
def test_every_day_begins_at_one_instant(books: Books, zone: str, day: str) -> None:
    """In UTC, so that it equals the same instant from the database."""
    books.configure(f"billing: {{currency: EUR, timezone: {zone}}}")
    first = date.fromisoformat(day) - timedelta(days=2)
    days = [first + timedelta(days=n) for n in range(5)]
    begins = [midnight(one) for one in days]
    assert [at.tzinfo for at in begins] == [UTC] * 5
    assert [billing_day(at) for at in begins] == days
    before = [billing_day(at - timedelta(milliseconds=1)) for at in begins]
    assert before == [one - timedelta(days=1) for one in days]


@pytest.mark.parametrize(("zone", "day"), ZONES)
def test_a_date_is_on_a_border_of_days(books: Books, zone: str, day: str) -> None:
    books.configure(f"billing: {{currency: EUR, timezone: {zone}}}")
    after = (date.fromisoformat(day) + timedelta(days=1)).isoformat()
    selection = parse_selection(EVERYTHING, day, after, {})
    assert selection.period is not None
    assert is_on_days(selection.period)


@pytest.mark.parametrize(("zone", "day"), ZONES)
def test_the_set_up_is_the_same_again(books: Books, zone: str, day: str) -> None:
    """A start that equals the stored one is no change: nothing is written or rolled up again."""
    text = set_up(zone, day, "price")
    books.configure(text)
    before = sorted(UnitPrice.objects.values_list("pk", "valid_from"))
    assert len(before) == 2
    books.configure(text)
    assert sorted(UnitPrice.objects.values_list("pk", "valid_from")) == before


def test_a_charge_without_hours_is_in_the_first_of_two_midnights(books: Books) -> None:
    """On the Azores it is midnight at 00:00 and at 01:00 UTC; PostgreSQL takes the second."""
    text = set_up("Atlantic/Azores", "2026-10-25", "label").replace(
        "[{slug", "[{slug: other, name: Other}, {slug"
    )
    books.configure(text + "bindings: [{namespace: lab, team: vision}]\n")
    noon = datetime(2026, 10, 25, 12, tzinfo=UTC)
    books.write(books.gpu(), noon, books.pod(space="lab"), busy=WINDOW_MS)
    books.settle()
    close_period("2026-10")
    books.configure(text + "bindings: [{namespace: lab, team: other}]\n")
    books.settle()
    book_running("2026-11")
    rows = report("usage", by="hour", team="vision", **{"as": "corrected"})
    assert [(row["hour"], row["charge"]) for row in rows] == [
        (
            "2026-10-25T00:00:00Z",
            "-1.000000",
        ),  # the correction: it has no hours any more
        ("2026-10-25T12:00:00Z", "1.000000"),
    ]
