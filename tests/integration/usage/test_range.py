"""Which ranges a report takes (rules.md N30) and which are too old for its facts (N32)."""

import io
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import call_command

from accounting.metering.models.cluster import Cluster
from accounting.metering.models.ledger import DirtyHour
from accounting.metering.tasks.facts import partitions
from accounting.prices.actions.prices import set_unit_price
from tests.database_copies import connected_to
from tests.integration.conftest import WriteOnce
from tests.integration.metering.support import report
from tests.integration.prices.books import HOUR_MS, TEN, WINDOW_MS, Books

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
SET_UP = """
billing: {currency: EUR, timezone: Europe/Berlin}
teams: [{slug: vision, name: Vision}]
bindings: [{namespace: vision, team: vision}]
prices: [{model: NVIDIA-L40S, rate_per_gpu_hour: "2"}]
"""


def refusal(kind: str, **options: str) -> str:
    """What a report says that it does not give; fails when it does."""
    errors = io.StringIO()
    words = [f"--{name}={value}" for name, value in options.items()]
    with pytest.raises(SystemExit) as ended:
        call_command("report", kind, *words, stdout=io.StringIO(), stderr=errors)
    assert ended.value.code == 2
    return errors.getvalue()


@pytest.fixture
def day(books: Books) -> Books:
    """One GPU, held from 10:00 to 12:00 UTC."""
    books.configure(SET_UP)
    books.hours(books.gpu(), TEN, TEN + 2 * HOUR, books.pod())
    books.settle()
    return books


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("2026-10-06T10:01:00Z", "five-minute boundary"),
        ("2026-10-06T10:00:01Z", "five-minute boundary"),
        ("2026-10-06T10:00:00.5Z", "five-minute boundary"),
        ("2026-10-06T10:00:00", "no offset"),
        ("2026-10-06 10:00", "no offset"),
        ("06.10.2026", "ISO 8601"),
        ("2026-10-32", "ISO 8601"),
        ("now", "ISO 8601"),
        ("1790848800", "ISO 8601"),
        ("", "ISO 8601"),
    ],
)
def test_a_range_off_the_grid_is_wrong_use(db: None, text: str, words: str) -> None:
    for kind in ("usage", "ledger", "holds", "issues"):
        for side in ("from", "to"):
            assert words in refusal(kind, **{side: text}), (kind, side)


def test_an_empty_or_reversed_range_is_wrong_use(db: None) -> None:
    for end in ("2026-10-06", "2026-10-05"):
        said = refusal("usage", **{"from": "2026-10-06", "to": end})
        assert "is not later than" in said


def test_the_end_is_not_included(day: Books) -> None:
    at = [TEN + n * timedelta(minutes=5) for n in range(3)]
    [row] = report("usage", **{"from": at[1].isoformat(), "to": at[2].isoformat()})
    assert row["allocated_ms"] == WINDOW_MS
    assert report("usage", to=TEN.isoformat()) == []
    assert report("usage", **{"from": (TEN + 2 * HOUR).isoformat()}) == []


def test_an_offset_is_the_same_instant(day: Books) -> None:
    rows: list[Any] = [
        report("usage", **{"from": text})
        for text in (
            "2026-10-06T11:00:00Z",
            "2026-10-06T13:00:00+02:00",
            "2026-10-06T16:30:00+05:30",
        )
    ]
    assert rows[0] == rows[1] == rows[2]
    assert rows[0][0]["allocated_ms"] == HOUR_MS


def test_without_a_range_it_is_all_that_is_stored(day: Books) -> None:
    everything = report("usage")
    assert everything[0]["allocated_ms"] == 2 * HOUR_MS
    assert report("usage", **{"from": "1970-01-01"}) == everything
    assert report("usage", **{"from": "2000-01-01", "to": "2100-01-01"}) == everything
    assert report("usage", by="gpu")[0]["allocated_ms"] == 2 * HOUR_MS


NEWEST = TEN + 60 * DAY
DAYS = (0, 3, 9, 23, 24, 30, 60)  # on which the GPU is held for an hour


def sixty_days(books: Books) -> None:
    """The facts of the first 24 have expired, their hours have not."""
    books.configure(SET_UP)
    gpu, pod = books.gpu(), books.pod()
    for n in DAYS:
        books.hours(gpu, TEN + n * DAY, TEN + n * DAY + HOUR, pod)
    books.settle()
    partitions.drop_expired(partitions.WINDOWS, NEWEST - timedelta(days=36))


@pytest.fixture(scope="module")
def old_database(
    write_once: WriteOnce, tmp_path_factory: pytest.TempPathFactory
) -> str:
    """Sixty days."""
    books = Books(tmp_path_factory.mktemp("sixty-days"))
    return write_once("sixty_days", lambda: sixty_days(books))


@pytest.fixture
def in_old_database(old_database: str) -> Iterator[None]:
    """Before the transaction of the test begins."""
    with connected_to(old_database):
        yield


@pytest.fixture
def expired(in_old_database: None, books: Books) -> Books:
    """Sixty days, for one test."""
    del in_old_database
    return books


def total(**options: str) -> int:
    rows = report("usage", **options)
    return sum(int(row["allocated_ms"]) for row in rows) // HOUR_MS


def _day(n: int) -> str:
    return (TEN + n * DAY).date().isoformat()


def test_older_hours_and_days_are_answered(expired: Books) -> None:
    assert total() == 7
    assert total(**{"from": _day(0), "to": _day(10)}) == 3
    assert total(by="hour", **{"from": _day(0), "to": _day(10)}) == 3
    start, end = TEN + 3 * DAY, TEN + 3 * DAY + HOUR
    assert total(**{"from": start.isoformat(), "to": end.isoformat()}) == 1


@pytest.mark.parametrize("by", ["pod", "team,pod", "gpu,pod", "pod,hour"])
@pytest.mark.parametrize(("start", "end"), [(0, 10), (0, 61), (23, 61), (20, 24)])
def test_older_facts_are_refused_not_given_in_part(
    expired: Books, by: str, start: int, end: int
) -> None:
    said = refusal("usage", by=by, **{"from": _day(start), "to": _day(end)})
    assert "five-minute facts are kept from 2026-10-30" in said
    assert "without pod, gpu and node" in said


def test_older_facts_are_refused_for_filters_too(expired: Books) -> None:
    said = refusal("usage", **{"from": _day(0), "to": _day(61), "pod": "train"})
    assert "five-minute facts are kept from" in said


def test_five_minute_borders_need_facts(expired: Books) -> None:
    start = (TEN + 3 * DAY + timedelta(minutes=5)).isoformat()
    said = refusal("usage", **{"from": start, "to": (TEN + 4 * DAY).isoformat()})
    assert "five-minute facts are kept from" in said
    assert "whole hours" in said


def test_facts_that_are_kept_are_answered(expired: Books) -> None:
    options = {"from": _day(24), "to": _day(61)}
    assert total(by="pod", **options) == 3
    assert total(by="pod") == 3  # all that is stored
    start: datetime = TEN + 24 * DAY
    assert total(by="pod", **{"from": start.isoformat()}) == 3
    # where nobody held anything for a while, nothing has expired
    assert total(by="pod", **{"from": (start - HOUR).isoformat()}) == 3


def test_a_range_before_all_data_is_empty_not_refused(day: Books) -> None:
    """Nothing has expired there: nothing was measured."""
    assert report("usage", by="pod", **{"from": "2020-01-01", "to": "2020-02-01"}) == []
    rows = report("usage", by="pod", **{"from": "2020-01-01"})
    assert rows[0]["allocated_ms"] == 2 * HOUR_MS


def test_clusters_expire_by_themselves(expired: Books) -> None:
    """A second cluster with old facts does not make the first one's gap look whole."""
    gpu = expired.gpu("GPU-old", cluster="south")
    expired.hours(gpu, TEN, TEN + HOUR, expired.pod("old", on="south"))
    expired.settle()
    options = {"from": _day(0), "to": _day(10), "by": "pod"}
    assert "kept from" in refusal("usage", **options)
    assert total(cluster="south", **options) == 1
    assert "kept from" in refusal("usage", cluster="north", **options)


def test_without_any_fact_left_it_is_refused_too(expired: Books) -> None:
    partitions.drop_expired(partitions.WINDOWS, NEWEST + DAY)
    assert total() == 7
    said = refusal("usage", by="pod", **{"from": _day(0)})
    assert "five-minute facts are gone" in said
    assert report("usage", by="pod") == []


def test_what_a_report_cannot_do_is_wrong_use_not_ignored(db: None) -> None:
    for kind in ("holds", "issues"):
        assert "do not support --by" in refusal(kind, by="pod")
    assert "cannot be filtered by model" in refusal("holds", model="NVIDIA-L40S")
    assert "cannot be filtered by team" in refusal("issues", team="vision")
    assert "use spot, on-demand" in refusal("usage", lifecycle="sopt")


def test_a_back_dated_price_reaches_hours_whose_facts_have_expired(
    expired: Books,
) -> None:
    """N32: their money is that of the new price; their time, teams and days stay."""
    old = {"from": _day(0), "to": _day(10)}
    before = report("usage", by="team,day", **old)
    assert [row["charge"] for row in before] == ["2.000000"] * 3
    set_unit_price(
        model="NVIDIA-L40S",
        rate_per_gpu_hour=Decimal(5),
        cost_per_gpu_hour=None,
        currency="EUR",
        valid_from=TEN + 3 * DAY,
        actor="tests",
        reason="A contract that came late.",
    )
    expired.settle()
    after = report("usage", by="team,day", **old)
    assert [row.pop("charge") for row in after] == ["2.000000", "5.000000", "5.000000"]
    for row in before:
        row.pop("charge")
    money = {name for name in before[0] if name.endswith("charge")}
    for row in (*before, *after):
        for name in money:
            row.pop(name, None)
    assert after == before
    assert total() == 7
    assert report("ledger")[0]["wall_charge"] == "32.000000"  # an hour at 2, six at 5


def test_what_else_marks_an_old_hour_leaves_it(expired: Books) -> None:
    before = report("usage", by="team,namespace,hour")
    DirtyHour.objects.create(
        cluster_id=Cluster.objects.get().pk,
        hour_start=TEN,
        marked_at=NEWEST,
        reason="binding",
    )
    expired.settle()
    assert not DirtyHour.objects.exists()
    assert report("usage", by="team,namespace,hour") == before


def test_an_old_hour_that_lost_its_facts_by_computing_is_gone(expired: Books) -> None:
    """Windows that were computed to nothing say so: nothing has expired there."""
    DirtyHour.objects.create(
        cluster_id=Cluster.objects.get().pk,
        hour_start=TEN,
        marked_at=NEWEST,
        reason="facts",
    )
    expired.settle()
    assert total() == 6
