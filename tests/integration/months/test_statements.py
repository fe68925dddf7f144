"""What each team pays: sums, payables and rounding lines (money.md M4, M25; X1)."""

from datetime import date

from accounting.months.tasks.running import book_running
from tests.integration.months.days import Days, charges, payables

DAY = date(2026, 10, 5)


def test_payables_are_rounded_to_even_and_the_platform_takes_what_remains(
    days: Days,
) -> None:
    for model, rate in (("A", "2.01"), ("B", "4.01"), ("C", "0.01")):
        days.price(model, rate)
    days.use("vision", DAY, 1_800_000, model="A")
    days.use("search", DAY, 1_800_000, model="B")
    days.use("", DAY, 1_800_000, model="C", state="free")
    booked = book_running("2026-10")
    assert payables(booked) == {"platform": "0.02", "search": "2.00", "vision": "1.00"}
    assert (str(booked.total6), f"{booked.payable:.2f}") == ("3.015000", "3.02")
    assert charges(booked, ["rounding"]) == ["0.015000", "-0.005000", "-0.005000"]


def test_charges_far_below_a_cent_come_to_the_statements_sum(days: Days) -> None:
    days.price("A", "1.44")
    for workload in ("a", "b", "c"):
        days.use("vision", DAY, 1, model="A", workload=workload)
    booked = book_running("2026-10")
    assert charges(booked) == ["0.000001", "0.000000", "0.000000"]
    assert str(booked.statements.get(team="vision").total6) == "0.000001"


def test_an_entry_has_its_opposite_on_the_platforms_statement(days: Days) -> None:
    days.price("A", "2.00")
    days.use("vision", DAY, 3_600_000, model="A")
    days.enter("E-1", "vision", DAY, "-1.50")
    days.enter("E-2", "search", DAY, "0.25")
    booked = book_running("2026-10")
    assert payables(booked) == {"platform": "1.25", "search": "0.25", "vision": "0.50"}
    assert f"{booked.payable:.2f}" == "2.00"


def test_time_without_a_price_is_in_no_sum_and_its_milliseconds_are_counted(
    days: Days,
) -> None:
    days.use("vision", DAY, 3_600_000, model="A")
    booked = book_running("2026-10")
    assert payables(booked) == {"platform": "0.00", "vision": "0.00"}
    assert booked.without_money_ms == 3_600_000
    line = booked.running_lines.get(kind="usage")
    assert (line.raw, line.charge, line.status) == (None, None, "unpriced")


def test_a_running_booking_is_replaced_as_a_whole(days: Days) -> None:
    days.price("A", "1.00")
    days.use("vision", DAY, 3_600_000, model="A")
    book_running("2026-10")
    days.forget()
    days.use("search", DAY, 7_200_000, model="A")
    booked = book_running("2026-10")
    assert payables(booked) == {"platform": "0.00", "search": "2.00"}
    assert booked.running_lines.count() == booked.line_count == 1
