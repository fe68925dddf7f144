"""Hours of booked lines: stored once, frozen, and added to months that have none (money.md M5).

Not here: which hours a line has (`test_booked_days.py`).
"""

import threading
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from django.db import DatabaseError, connection, transaction

from accounting.metering.models.cluster import Cluster
from accounting.metering.models.pod import Workload
from accounting.months.models.charge import LineHours
from accounting.months.models.period import PeriodRevision
from accounting.months.tasks import hours
from accounting.months.tasks.close import close_period, reopen_period
from accounting.months.tasks.hours import divide_closed
from accounting.months.tasks.running import book_running
from accounting.tasks import book_periods
from accounting.usage.tasks.family_days import move_families
from tests.database_flush import without_triggers
from tests.integration.faults.test_close_killed import wait_for_waiting_session
from tests.integration.metering.support import report
from tests.integration.months.command import command
from tests.integration.months.people import person
from tests.integration.prices.books import Books
from tests.integration.usage.test_booked_days import late_fact, use
from tests.integration.usage.test_family_days import booked_violations

pytestmark = pytest.mark.django_db(transaction=True)

OCTOBER, NOVEMBER = "2026-10", "2026-11"
DAYS = {"from": "2026-10-01", "to": "2026-11-01"}
CUT = {"from": "2026-10-06T18:00:00Z", "to": "2026-10-06T23:00:00Z"}


def charges(**options: str) -> list[tuple[str, str]]:
    """By hour, of what is not 0."""
    rows = report("usage", by="hour", **options)
    return [(row["hour"], row["charge"]) for row in rows if Decimal(row["charge"])]


def as_owner(statement: str) -> None:
    """With triggers off, as an owner of the tables could."""
    with without_triggers() as cursor:
        cursor.execute(statement)


def test_every_line_of_a_day_has_its_hours(books: Books) -> None:
    use(books)
    closed = close_period(OCTOBER)
    lines = closed.lines.exclude(billing_on=None)
    assert lines.count() == closed.line_hours.count() > 10
    for line in lines:
        stored = LineHours.objects.get(revision=closed, line_id=line.line_id)
        assert stored.hours == sorted(stored.hours)
        assert sum(stored.parts) == line.charge


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE line_hours SET parts = parts",
        "DELETE FROM line_hours",
        "TRUNCATE line_hours",
    ],
)
def test_hours_of_a_closed_month_do_not_change(books: Books, statement: str) -> None:
    use(books)
    close_period(OCTOBER)
    with (
        pytest.raises(DatabaseError, match="closed periods do not change"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE line_hours SET parts[1] = parts[1] + 0.01",
        "DELETE FROM line_hours WHERE line_id = (SELECT min(line_id) FROM line_hours)",
    ],
)
def test_verify_adds_the_hours_of_each_line_up(books: Books, statement: str) -> None:
    use(books)
    close_period(OCTOBER)
    rule = "the hours of each line come to the line"
    assert f"ok   {OCTOBER}-r1: {rule}" in command("verify", "--period")[0]
    as_owner(statement)
    out, _ = command("verify", "--period", status=1)
    failed = [line for line in out.splitlines() if line.startswith("FAIL")]
    assert failed == [f"FAIL {OCTOBER}-r1: {rule}"]


def test_months_that_were_closed_before_get_their_hours(books: Books) -> None:
    """Until then their hours and parts of days are time x price; the worker adds them."""
    use(books)
    close_period(OCTOBER)
    frozen, cut = charges(**DAYS), charges(**CUT)
    as_owner("DELETE FROM line_hours")
    assert "FAIL" not in command("verify", "--period", OCTOBER)[0]
    measured = {"as": "measured"}
    late_fact(books)
    assert charges(**DAYS) == charges(**DAYS, **measured) != frozen
    assert report("usage", by="team", **CUT) == report(
        "usage", by="team", **CUT, **measured
    )
    day = {"from": "2026-10-06T00:00:00Z", "to": "2026-10-07T22:00:00Z"}
    whole = {"from": "2026-10-06T22:00:00Z", "to": "2026-10-07T22:00:00Z"}
    head = {"from": "2026-10-06T00:00:00Z", "to": "2026-10-06T22:00:00Z"}
    [both], [first], [second] = (
        report("usage", by="", **one) for one in (day, {**head, **measured}, whole)
    )
    assert Decimal(both["charge"]) == Decimal(first["charge"]) + Decimal(
        second["charge"]
    )
    assert divide_closed() == [f"{OCTOBER}-r1"]
    assert sum(Decimal(amount) for _, amount in charges(**DAYS)) == sum(
        Decimal(amount) for _, amount in frozen
    )
    assert charges(**CUT) != charges(**CUT, **measured)
    assert len(cut) == len(charges(**CUT))
    assert divide_closed() == []


def test_what_is_large_is_divided_after_its_close(
    books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(books)
    monkeypatch.setattr(hours, "AT_CLOSE", 10)
    closed = close_period(OCTOBER)
    assert not closed.line_hours.exists()
    book_periods()
    assert closed.line_hours.count() == closed.lines.exclude(billing_on=None).count()
    assert by_family() > 10
    assert booked_violations() == [0, 0]


def test_a_family_that_moves_beside_a_late_division_moves_its_hours(
    books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or the hours would be stored with the old family, and nothing would move them again."""
    use(books)
    monkeypatch.setattr(hours, "AT_CLOSE", 0)
    close_period(OCTOBER)
    Workload.objects.update(next_family="named")
    with transaction.atomic():
        move_families(Cluster.objects.get().pk)
        dividing = threading.Thread(target=_divide)
        dividing.start()
        wait_for_waiting_session()
    dividing.join()
    assert by_family() > 10
    assert by_family("named") > 0
    assert booked_violations() == [0, 0]


def _divide() -> None:
    divide_closed()
    connection.close()


def by_family(family: str = "") -> int:
    """How many sums by family there are; of one family, or of all."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM charge_family_hours WHERE %(family)s IN ('', family)",
            {"family": family},
        )
        return int(cursor.fetchone()[0])


def test_hours_of_corrections_follow_the_running_booking(books: Books) -> None:
    use(books)
    october = close_period(OCTOBER)
    late_fact(books)
    running = book_running(NOVEMBER)
    corrections = running.running_lines.exclude(corrects="")
    assert running.line_hours.count() == corrections.count() > 0
    reopen_period(
        OCTOBER, reason="x" * 10, by=person("anna"), confirmed_by=person("bert")
    )
    running.refresh_from_db()
    assert not running.line_hours.exists()
    kept = october.line_hours.count()
    again = close_period(OCTOBER, now=datetime(2026, 11, 5, tzinfo=UTC))
    assert october.line_hours.count() == kept  # the reopened close stays as it was
    assert again.line_hours.count() == again.lines.exclude(billing_on=None).count()
    assert PeriodRevision.objects.filter(period=OCTOBER).count() == 2
    assert again.lines.filter(billing_on=date(2026, 10, 7)).exists()
