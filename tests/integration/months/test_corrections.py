"""What changes after a close is booked in the first open month (money.md M31; X7, X8)."""

from datetime import date
from decimal import Decimal

import pytest

from accounting.months.models.period import PeriodRevision
from accounting.months.tasks.close import close_period
from accounting.months.tasks.running import book_running
from tests.integration.months.days import H100, Days

OCTOBER = date(2026, 10, 5)


@pytest.fixture(autouse=True)
def october(days: Days) -> PeriodRevision:
    """October, closed with 0.105000 for vision."""
    days.price(H100, "1")
    days.use("vision", OCTOBER, 378_000)
    return close_period("2026-10")


def corrected(booked: PeriodRevision) -> list[tuple[str, int, Decimal, str]]:
    lines = booked.lines if booked.is_closed else booked.running_lines
    found = lines.filter(corrects="2026-10-r1", raw__isnull=False).order_by(
        "team", "ms"
    )
    rows = found.values_list("team", "ms", "raw", "charge")
    return [
        (team, ms, (raw or Decimal(0)).normalize(), str(charge))
        for team, ms, raw, charge in rows
    ]


def test_without_a_change_there_is_no_correction() -> None:
    assert corrected(book_running("2026-11")) == []


def test_a_late_fact_below_a_millionth_has_raw_and_no_charge(days: Days) -> None:
    days.forget()
    days.use("vision", OCTOBER, 378_001)
    assert corrected(book_running("2026-11")) == [("vision", 1, Decimal(1), "0.000000")]


def test_a_change_undone_is_corrected_back(days: Days) -> None:
    days.forget()
    days.use("vision", OCTOBER, 378_001)
    assert corrected(close_period("2026-11"))
    days.forget()
    days.use("vision", OCTOBER, 378_000)
    back = [("vision", -1, Decimal(-1), "0.000000")]
    assert corrected(book_running("2026-12")) == back
    assert corrected(close_period("2026-12")) == back
    assert corrected(book_running("2027-01")) == []


def test_time_that_moves_to_another_team_is_taken_from_one_and_given_to_the_other(
    days: Days,
) -> None:
    days.forget()
    days.use("search", OCTOBER, 378_000)
    assert corrected(book_running("2026-11")) == [
        ("search", 378_000, Decimal(378_000).normalize(), "0.105000"),
        ("vision", -378_000, Decimal(-378_000).normalize(), "-0.105000"),
    ]


def test_corrections_stand_in_the_first_open_month_only(days: Days) -> None:
    days.forget()
    assert corrected(book_running("2026-12")) == []
    assert len(corrected(book_running("2026-11"))) == 1


def test_booked_and_corrections_are_what_it_is_now(days: Days) -> None:
    days.forget()
    days.price(H100, "1.1")
    days.use("vision", OCTOBER, 400_000)
    booked = book_running("2026-11")
    total = sum(Decimal(charge) for *_, charge in corrected(booked))
    assert Decimal("0.105000") + total == Decimal("0.122222")  # 400,000 ms at 1.10
