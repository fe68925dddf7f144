"""Hours are UTC, days are the billing time zone's (rules.md N31), also where clocks change."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from accounting.access.models.billing import Billing
from tests.integration.metering.support import report
from tests.integration.prices.books import WINDOW_MS, Books

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
AN_HOUR = 2 * WINDOW_MS  # here an hour is one window at each half of it, and costs 2


def set_up(zone: str) -> str:
    return f"""
billing: {{currency: EUR, timezone: {zone}}}
teams: [{{slug: vision, name: Vision}}]
bindings: [{{namespace: vision, team: vision}}]
prices: [{{model: NVIDIA-L40S, rate_per_gpu_hour: "12"}}]
"""


def held(books: Books, start: datetime, end: datetime) -> None:
    """One GPU, busy in the first window of every half hour."""
    count = -((start - end) // (HOUR / 2))  # rounded up
    starts = [start + n * HOUR / 2 for n in range(count)]
    books.write_all(books.gpu(), starts, books.pod(), busy=WINDOW_MS)
    books.settle()


def by_day(**options: str) -> dict[str, float]:
    """GPU-hours of each billing day."""
    rows = report("usage", by="day", **options)
    return {row["day"]: row["allocated_ms"] / AN_HOUR for row in rows}


def day(text: str, **options: str) -> dict[str, Any]:
    """The one row of a billing day, asked for as a range."""
    after = (datetime.fromisoformat(text) + DAY).date().isoformat()
    [row] = report("usage", **{"from": text, "to": after}, **options)
    return row


@pytest.mark.parametrize(
    ("zone", "long_day", "hours"),
    [
        ("Europe/Berlin", "2026-10-25", 25),  # clocks go back at 01:00 UTC
        ("Europe/Berlin", "2026-03-29", 23),  # and forward
        ("America/New_York", "2026-11-01", 25),
        ("America/New_York", "2026-03-08", 23),
        ("America/Santiago", "2026-09-06", 23),  # midnight itself is skipped
        ("Australia/Lord_Howe", "2026-04-05", 24.5),  # half an hour back
        ("UTC", "2026-10-25", 24),
    ],
)
def test_a_day_on_which_clocks_change_has_its_true_length(
    books: Books, zone: str, long_day: str, hours: float
) -> None:
    books.configure(set_up(zone))
    noon = datetime.fromisoformat(f"{long_day}T12:00:00+00:00")
    held(books, noon - 2 * DAY, noon + 2 * DAY)
    days = by_day()
    assert days[long_day] == hours
    before = (noon - DAY).date().isoformat()
    assert days[before] == 24
    assert sum(days.values()) == 96
    row = day(long_day)
    assert row["allocated_ms"] == hours * AN_HOUR
    assert row["charge"] == f"{2 * hours:.6f}"
    # the same answer from facts (by pod), hours and days
    for by in ("pod", "gpu", "team", "hour,team", "day"):
        after = (noon + DAY).date().isoformat()
        rows = report("usage", by=by, **{"from": long_day, "to": after})
        assert sum(r["allocated_ms"] for r in rows) == hours * AN_HOUR, by


def test_hours_stay_utc_when_clocks_change(books: Books) -> None:
    books.configure(set_up("Europe/Berlin"))
    start = datetime(2026, 10, 24, 22, tzinfo=UTC)  # midnight in Berlin
    held(books, start, start + 25 * HOUR)
    rows = report("usage", by="hour")
    assert len(rows) == 25
    assert len({row["hour"] for row in rows}) == 25
    assert {row["allocated_ms"] for row in rows} == {AN_HOUR}
    assert rows[0]["hour"] == "2026-10-24T22:00:00Z"
    assert rows[-1]["hour"] == "2026-10-25T22:00:00Z"


KOLKATA = "Asia/Kolkata"  # +05:30: its days begin at 18:30 UTC
CUT = datetime(2026, 10, 6, 18, 30, tzinfo=UTC)


def test_an_hour_that_a_billing_day_cuts_is_two_rows(books: Books) -> None:
    books.configure(set_up(KOLKATA))
    held(books, CUT - HOUR / 2, CUT + HOUR / 2)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT hour_start, billing_on::text, busy_ms FROM usage_hour ORDER BY 2"
        )
        rows = cursor.fetchall()
    hour = CUT - HOUR / 2
    assert rows == [(hour, "2026-10-06", WINDOW_MS), (hour, "2026-10-07", WINDOW_MS)]
    assert by_day() == {"2026-10-06": 0.5, "2026-10-07": 0.5}
    [row] = report("usage", by="hour")  # one hour for who asks for hours
    assert (row["hour"], row["allocated_ms"]) == ("2026-10-06T18:00:00Z", AN_HOUR)
    assert row["charge"] == "2.000000"


@pytest.mark.parametrize("by", ["team", "day", "hour", "hour,team", "pod", "gpu,hour"])
def test_a_day_of_a_half_hour_zone_is_a_day_however_it_is_asked_for(
    books: Books, by: str
) -> None:
    books.configure(set_up(KOLKATA))
    held(books, CUT - DAY - HOUR, CUT + HOUR)
    for text, hours in (("2026-10-05", 1), ("2026-10-06", 24), ("2026-10-07", 1)):
        after = (datetime.fromisoformat(text) + DAY).date().isoformat()
        rows = report("usage", by=by, **{"from": text, "to": after})
        assert sum(row["allocated_ms"] for row in rows) == hours * AN_HOUR, text


def test_hours_of_a_half_hour_zones_day_are_cut_at_its_ends(books: Books) -> None:
    books.configure(set_up(KOLKATA))
    held(books, CUT - DAY - HOUR, CUT + HOUR)
    options = {"from": "2026-10-06", "to": "2026-10-07"}
    rows = {r["hour"]: r["allocated_ms"] for r in report("usage", by="hour", **options)}
    assert len(rows) == 25
    assert rows.pop("2026-10-05T18:00:00Z") == AN_HOUR // 2
    assert rows.pop("2026-10-06T18:00:00Z") == AN_HOUR // 2
    assert set(rows.values()) == {AN_HOUR}
    ledger = report("ledger", by="hour", **options)
    assert sum(row["wall_ms"] for row in ledger) == 24 * AN_HOUR


def test_a_month_is_the_billing_time_zones(books: Books) -> None:
    books.configure(set_up("Europe/Berlin"))
    start = datetime(2026, 10, 31, 22, tzinfo=UTC)
    held(books, start, start + 2 * HOUR)  # an hour of October, an hour of November
    october = report("usage", **{"from": "2026-10-01", "to": "2026-11-01"})
    november = report("usage", **{"from": "2026-11-01", "to": "2026-12-01"})
    assert [row["allocated_ms"] for row in october] == [AN_HOUR]
    assert [row["allocated_ms"] for row in november] == [AN_HOUR]


@pytest.mark.parametrize(
    "old", ["Europe/Berlin", "America/Los_Angeles", "UTC", "Pacific/Kiritimati"]
)
@pytest.mark.parametrize(
    "new", ["Asia/Kolkata", "America/New_York", "Europe/Berlin", "UTC"]
)
def test_a_new_time_zone_counts_from_the_next_month_and_no_time_is_lost(
    books: Books, monkeypatch: pytest.MonkeyPatch, old: str, new: str
) -> None:
    """Days stay in order and whole; every range of days holds what its days hold."""
    now = datetime(2026, 10, 20, 15, tzinfo=UTC)
    monkeypatch.setattr("accounting.setup.tasks.apply.database_now", lambda: now)
    books.configure(set_up(old))
    books.configure(set_up(new))
    start = datetime(2026, 10, 30, 12, tzinfo=UTC)
    held(books, start, start + 4 * DAY)
    days = by_day()
    assert list(days) == sorted(days)
    assert sum(days.values()) == 96
    for text, hours in days.items():
        assert day(text)["allocated_ms"] == hours * AN_HOUR, text
        after = (datetime.fromisoformat(text) + DAY).date().isoformat()
        rows = report("usage", by="pod,day", **{"from": text, "to": after})
        assert {r["day"]: r["allocated_ms"] / AN_HOUR for r in rows} == {text: hours}
    from_facts = report("usage", by="pod,day")
    assert {r["day"]: r["allocated_ms"] / AN_HOUR for r in from_facts} == days
    # November is that of the new zone, but for the hours that October still had or lost
    assert days["2026-11-02"] == 24


def test_a_month_ends_as_it_began(
    books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old zone's month is whole: the change begins where both have come to the next."""
    now = datetime(2026, 12, 31, 23, 59, tzinfo=UTC)
    monkeypatch.setattr("accounting.setup.tasks.apply.database_now", lambda: now)
    for zone, start in (
        ("Asia/Kolkata", datetime(2027, 1, 1, tzinfo=UTC)),  # not at 18:30 before it
        ("America/New_York", datetime(2027, 1, 1, 5, tzinfo=UTC)),
    ):
        books.configure(set_up("UTC"))
        books.configure(set_up(zone))
        assert Billing.objects.latest("valid_from").valid_from == start
        books.configure(set_up("UTC"))  # thought better of
        assert Billing.objects.count() == 1


def test_the_last_of_several_changes_in_a_month_counts(books: Books) -> None:
    for zone in ("UTC", "Asia/Kolkata", "America/New_York", "Europe/Berlin"):
        books.configure(set_up(zone))
    assert list(Billing.objects.values_list("timezone", flat=True)) == [
        "UTC",
        "Europe/Berlin",
    ]
    assert books.configure(set_up("Europe/Berlin")) == "no changes\n"


def test_a_day_may_begin_where_the_other_time_zone_does(books: Books) -> None:
    """Whatever moment a row of the table names: days follow each other without a gap."""
    books.configure(set_up("Europe/Berlin"))
    change = datetime(2026, 10, 31, 20, tzinfo=UTC)  # 21:00 there, and 01:30 in Kolkata
    Billing.objects.create(currency="EUR", timezone=KOLKATA, valid_from=change)
    held(books, change - 25 * HOUR, change + 25 * HOUR)
    assert by_day() == {
        "2026-10-30": 4,
        "2026-10-31": 21,  # from 23:00 UTC to the change
        "2026-11-01": 22.5,  # from the change to 18:30 UTC
        "2026-11-02": 2.5,
    }
    for text, hours in by_day().items():
        assert day(text)["allocated_ms"] == hours * AN_HOUR
